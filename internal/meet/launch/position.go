package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/internal/clock"
)

// ErrNone: no variable says that a launcher has started this process.
var ErrNone = errors.New("no launcher's variables in the environment; set SCHEDGEN_RANK and SCHEDGEN_SIZE")

// Position is a process's rank and size among the processes that were started with it.
type Position struct {
	Rank, Size int    // 0 ≤ Rank < Size
	Local      int    // how many ranks run on this host; 0: unknown
	Source     string // the variables: "SCHEDGEN_RANK and SCHEDGEN_SIZE", "PMI_RANK and PMI_SIZE", …
	// Clock is for pauses while the ranks meet; nil means the system's.
	Clock clock.Clock
	// Log, if not nil, gets what this rank waits for while the ranks meet; see tcp.Config.
	Log *slog.Logger

	apart    bool // the launcher says that there are several hosts
	launcher *launcher
	getenv   func(string) string
}

// launcher holds the variables of a program that starts the ranks of a job.
type launcher struct {
	rank  string
	size  []string // the first that is set counts
	local string   // ranks on this host
	hosts []string // number of hosts of the job; the first that is set counts
	needs []string // ranks can meet by this launcher only if one of these is set; nil: always
	twin  string   // a variable that gives the same rank where it is set
	// claims reports whether the launcher has started this process, for launchers whose variables
	// may be set although they have not; nil: it has if rank or size is set.
	claims func(getenv func(string) string) bool
	mark   string // set whenever claims is true, even if rank and size are missing
	outer  bool   // other launchers may run below it, and then they count
	quiet  bool   // incomplete variables are an error only if no other launcher is found
	// meet agrees on a meeting point with the other ranks.
	meet func(ctx context.Context, p *Position) (MeetingPoint, error)
}

// launchers returns all launchers by precedence. Those below which others may run come last. It is a
// function, so that a program that does not ask for its launcher does not carry them.
func launchers() []launcher {
	return []launcher{
		{rank: "SCHEDGEN_RANK", size: []string{"SCHEDGEN_SIZE"}, meet: meetUnknown},
		{rank: "OMPI_COMM_WORLD_RANK", size: []string{"OMPI_COMM_WORLD_SIZE"}, local: "OMPI_COMM_WORLD_LOCAL_SIZE", twin: "PMIX_RANK", meet: meetOpenMPI},
		// mpirun_rsh of MVAPICH, which speaks PMI-1 at a port.
		{rank: "MV2_COMM_WORLD_RANK", size: []string{"MV2_COMM_WORLD_SIZE"}, local: "MV2_COMM_WORLD_LOCAL_SIZE", needs: []string{"PMI_FD", "PMI_PORT"}, twin: "PMI_ID", meet: meetPMI},
		// mpirun of MPICH and of Intel MPI, srun --mpi=pmi2, flux run
		{rank: "PMI_RANK", size: []string{"PMI_SIZE"}, local: "MPI_LOCALNRANKS", hosts: []string{"SLURM_STEP_NUM_NODES", "FLUX_JOB_NNODES"}, needs: []string{"PMI_FD"}, meet: meetPMI},
		{rank: "RANK", size: []string{"WORLD_SIZE"}, local: "LOCAL_WORLD_SIZE", meet: meetTorch},
		// A batch script also has a rank and a number of tasks, but is no task.
		{rank: "SLURM_PROCID", size: []string{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, hosts: []string{"SLURM_STEP_NUM_NODES"}, twin: "PMIX_RANK", claims: taskOfSlurm, mark: "SLURM_STEP_ID", outer: true, quiet: true, meet: meetSlurm},
		// flux run without PMI (-o pmi=off).
		{rank: "FLUX_TASK_RANK", size: []string{"FLUX_JOB_SIZE"}, hosts: []string{"FLUX_JOB_NNODES"}, outer: true, quiet: true, meet: meetByJob("FLUX_JOB_ID")},
		// PALS itself does not always set the size; Cray's PMI does.
		{rank: "PALS_RANKID", size: []string{"PALS_SIZE", "PMI_SIZE"}, local: "PALS_LOCAL_SIZE", claims: taskOfPALS, outer: true, quiet: true, meet: meetByJob("PALS_APID")},
		// jsrun of LSF, which also sets the variables of Open MPI for programs of Spectrum MPI.
		{rank: "JSM_NAMESPACE_RANK", size: []string{"JSM_NAMESPACE_SIZE"}, local: "JSM_NAMESPACE_LOCAL_SIZE", outer: true, quiet: true, meet: meetUnknown},
		// Kubernetes does not set the size: the author of the job does.
		{rank: indexOfJob, size: []string{"SCHEDGEN_SIZE"}, claims: podOfJob, quiet: true, meet: meetKubernetes},
		// PMIx, PMI-1 at a port (mpirun -pmi-port of MPICH) and ALPS (aprun) set no variable with the
		// size.
		{rank: "PMIX_RANK", quiet: true},
		{rank: "PMI_ID", quiet: true},
		{rank: "ALPS_APP_PE", quiet: true},
	}
}

const indexOfJob = "JOB_COMPLETION_INDEX"

// taskOfSlurm reports whether this process is a task of a step. Ranks above 0 always are.
func taskOfSlurm(getenv func(string) string) bool {
	rank := getenv("SLURM_PROCID")
	return getenv("SLURM_STEP_NUM_TASKS") != "" || rank != "" && rank != "0" || numberedStep(getenv("SLURM_STEP_ID"))
}

// numberedStep reports whether id is the number of a step that srun has made. Slurm numbers the
// steps of batch scripts and interactive shells from the upper end of 32 bits.
func numberedStep(id string) bool {
	const highest = 1<<32 - 256
	n, err := strconv.ParseUint(id, 10, 32)
	return err == nil && n < highest
}

func taskOfPALS(getenv func(string) string) bool {
	return getenv("PALS_RANKID") != "" || getenv("PALS_SIZE") != "" || getenv("PALS_LOCAL_SIZE") != ""
}

func podOfJob(getenv func(string) string) bool { return getenv(indexOfJob) != "" }

// Find reads rank and size from the variables that launchers set; getenv is [os.Getenv].
//
// SCHEDGEN_RANK and SCHEDGEN_SIZE win. The launcher nearest to the process comes next: if srun
// starts mpirun on each host, mpirun wins over srun. Other contradicting variables are an error
// that names both. An incomplete set of variables is an error that names the missing ones. The
// error wraps ErrNone if no launcher has started the process.
func Find(getenv func(string) string) (Position, error) {
	p, err := find(getenv)
	if err != nil {
		return Position{}, err
	}
	return *p, nil
}

func find(getenv func(string) string) (found *Position, err error) {
	var half, less *halfError
	all := launchers()
	for i := range all {
		if i == 0 && getenv("SCHEDGEN_RANK") == "" && getenv(indexOfJob) != "" {
			continue // the size belongs to Kubernetes
		}
		l := &all[i]
		p, err := l.position(getenv)
		switch {
		case errors.As(err, &less) && (l.quiet || less.faint):
			half = cmp.Or(half, less)
		case err != nil:
			return nil, err
		case p == nil:
		case i == 0:
			return p, nil
		case found == nil:
			found = p
		case found.Rank == p.Rank && found.Size == p.Size:
			if !found.launcher.canMeet(getenv) && l.canMeet(getenv) {
				found = p
			}
		case !l.outer:
			return nil, fmt.Errorf("%s say rank %d of %d, %s say rank %d of %d; set SCHEDGEN_RANK and SCHEDGEN_SIZE",
				found.Source, found.Rank, found.Size, p.Source, p.Rank, p.Size)
		}
	}
	switch {
	case found != nil:
		return found, nil
	case half != nil:
		return nil, half
	case getenv("SCHEDGEN_COORDINATOR") != "":
		return nil, &halfError{set: "SCHEDGEN_COORDINATOR", value: getenv("SCHEDGEN_COORDINATOR"), missing: "SCHEDGEN_RANK and SCHEDGEN_SIZE"}
	}
	return nil, ErrNone
}

// halfError is the error of a set variable whose counterpart is missing.
type halfError struct {
	set, value string
	missing    string
	faint      bool // neither rank nor size is set
}

func (e *halfError) Error() string {
	text := fmt.Sprintf("%s is %q, but %s is not set", e.set, e.value, e.missing)
	if strings.Contains(e.missing, " and ") {
		text = fmt.Sprintf("%s is %q, but %s are not set", e.set, e.value, e.missing)
	}
	if !strings.Contains(e.missing, "SCHEDGEN_") {
		text += "; set SCHEDGEN_RANK and SCHEDGEN_SIZE if the launcher does not set it"
	}
	return text
}

// firstSet returns the name and the value of the first variable that is set.
func firstSet(getenv func(string) string, names ...string) (name, value string) {
	for _, name := range names {
		if v := getenv(name); v != "" {
			return name, v
		}
	}
	return "", ""
}

// canMeet reports whether ranks can meet by l.
func (l *launcher) canMeet(getenv func(string) string) bool {
	_, set := firstSet(getenv, l.needs...)
	return l.needs == nil || set != ""
}

// position returns the position that l gives, or nil if l has not started this process.
func (l *launcher) position(getenv func(string) string) (*Position, error) {
	if l.claims != nil && !l.claims(getenv) {
		return nil, nil
	}
	rank := getenv(l.rank)
	sizeName, size := firstSet(getenv, l.size...)
	if rank == "" || size == "" {
		set, value := firstSet(getenv, l.rank, sizeName, l.local, l.mark)
		if set == "" {
			return nil, nil
		}
		return nil, &halfError{set, value, l.missing(rank, size), rank == "" && size == ""}
	}
	p := &Position{Source: l.rank + " and " + sizeName, launcher: l, getenv: getenv}
	var err error
	if p.Rank, err = number(l.rank, rank); err != nil {
		return nil, err
	}
	if p.Size, err = number(sizeName, size); err != nil {
		return nil, err
	}
	if p.Size < 1 || p.Rank < 0 || p.Rank >= p.Size {
		return nil, fmt.Errorf("%s is %d, %s is %d: ranks count from 0 up to one less than the size", l.rank, p.Rank, sizeName, p.Size)
	}
	if err = p.countLocal(l); err == nil {
		err = l.checkTwin(getenv, rank)
	}
	return p, err
}

// missing names the variables of rank and size that are not set.
func (l *launcher) missing(rank, size string) string {
	var names []string
	if rank == "" {
		names = append(names, l.rank)
	}
	if size == "" && l.size != nil {
		names = append(names, l.size[0])
	}
	if names == nil {
		return "SCHEDGEN_RANK and SCHEDGEN_SIZE"
	}
	return strings.Join(names, " and ")
}

// checkTwin compares the rank with l.twin. Another launcher below an outer one may have set its
// own.
func (l *launcher) checkTwin(getenv func(string) string, rank string) error {
	if l.twin == "" || getenv(l.twin) == "" || getenv(l.twin) == rank || l.outer && innerLauncher(getenv) {
		return nil
	}
	return fmt.Errorf("%s is %q but %s is %q", l.rank, rank, l.twin, getenv(l.twin))
}

// innerLauncher reports whether a launcher other than the outer ones has started this process.
func innerLauncher(getenv func(string) string) bool {
	return slices.ContainsFunc(launchers()[1:], func(l launcher) bool { return !l.quiet && getenv(l.rank) != "" })
}

// countLocal sets how many ranks are on this host, and whether there are several hosts, as far as l
// knows.
func (p *Position) countLocal(l *launcher) (err error) {
	if _, hosts := firstSet(p.getenv, l.hosts...); hosts == "1" {
		p.Local = p.Size
	} else if hosts != "" {
		p.apart = true
	}
	if l.local == "" || p.getenv(l.local) == "" {
		return nil
	}
	if p.Local, err = number(l.local, p.getenv(l.local)); err == nil && (p.Local < 1 || p.Local > p.Size) {
		err = fmt.Errorf("%s is %d, but there are %d ranks", l.local, p.Local, p.Size)
	}
	p.apart = p.Local < p.Size
	return err
}

func number(name, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0, fmt.Errorf("%s is %q, want a number", name, value)
	}
	return n, nil
}

// together reports whether all ranks are on this host.
func (p *Position) together() bool { return p.Local == p.Size }

// job returns a name of the job, made of the values of variables.
func (p *Position) job(names ...string) string {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = name + "=" + p.getenv(name)
	}
	return strings.Join(values, " ")
}
