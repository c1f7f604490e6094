package launch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/runtime/clock"
)

// ErrNone: nothing in the environment says that a launcher has started this
// process.
var ErrNone = errors.New("no launcher's variables in the environment; set SCHEDGEN_RANK and SCHEDGEN_SIZE")

// Position is a process's rank and size among the processes that were started with it.
type Position struct {
	Rank, Size int
	Local      int    // how many of them run on this host; 0: unknown
	Source     string // what said so: "SCHEDGEN_RANK and SCHEDGEN_SIZE", "PMI_RANK and PMI_SIZE", …
	// Clock is for pauses while the ranks meet; nil means the system's.
	Clock clock.Clock

	launcher *launcher
	getenv   func(string) string
}

// launcher is the variables of a program that starts the ranks of a job.
type launcher struct {
	rank, size string
	local      string // ranks on this host
	hosts      string // hosts of the job
	twin       string // says the same rank where it is set
	mute       bool   // without a size it has not started this process
	outer      bool   // others may run below it: what they say counts
	meet       meeting
}

// launchers are in the order in which they count.
var launchers = []launcher{
	{rank: "SCHEDGEN_RANK", size: "SCHEDGEN_SIZE", meet: meetUnknown},
	{rank: "OMPI_COMM_WORLD_RANK", size: "OMPI_COMM_WORLD_SIZE", local: "OMPI_COMM_WORLD_LOCAL_SIZE", twin: "PMIX_RANK", meet: meetOpenMPI},
	{rank: "PMI_RANK", size: "PMI_SIZE", local: "MPI_LOCALNRANKS", hosts: "SLURM_STEP_NUM_NODES", meet: meetPMI}, // MPICH, Intel MPI, srun --mpi=pmi2
	{rank: "RANK", size: "WORLD_SIZE", local: "LOCAL_WORLD_SIZE", meet: meetTorch},
	// The number of tasks is set only inside a step: a batch script is no rank.
	{rank: "SLURM_PROCID", size: "SLURM_STEP_NUM_TASKS", hosts: "SLURM_STEP_NUM_NODES", twin: "PMIX_RANK", mute: true, outer: true, meet: meetSlurm},
	// Kubernetes tells no size: whoever writes the job says it.
	{rank: indexOfJob, size: "SCHEDGEN_SIZE", mute: true, meet: meetKubernetes},
}

const indexOfJob = "JOB_COMPLETION_INDEX"

// halves are ranks of launchers that do not tell the size.
var halves = []string{"PMIX_RANK", indexOfJob}

// Find reads rank and size from the variables that launchers set; getenv is
// [os.Getenv]. Explicit settings, SCHEDGEN_RANK and SCHEDGEN_SIZE, win; a
// launcher that was started by srun on each host wins over it; otherwise variables
// that contradict each other are refused, with the names of both, and so is a rank
// without a size. The error wraps ErrNone if there is no launcher.
func Find(getenv func(string) string) (Position, error) {
	p, err := find(getenv)
	if err != nil {
		return Position{}, fmt.Errorf("rank and size from the environment: %w", err)
	}
	return *p, nil
}

func find(getenv func(string) string) (found *Position, err error) {
	for i := range launchers {
		if i == 0 && getenv("SCHEDGEN_RANK") == "" && getenv(indexOfJob) != "" {
			continue // the size is Kubernetes'
		}
		p, err := launchers[i].position(getenv)
		switch {
		case err != nil:
			return nil, err
		case p == nil:
		case i == 0:
			return p, nil
		case found == nil:
			found = p
		case !p.launcher.outer && (found.Rank != p.Rank || found.Size != p.Size):
			return nil, fmt.Errorf("%s say rank %d of %d, %s say rank %d of %d; set SCHEDGEN_RANK and SCHEDGEN_SIZE",
				found.Source, found.Rank, found.Size, p.Source, p.Rank, p.Size)
		}
	}
	if found == nil {
		return nil, nobody(getenv)
	}
	return found, nil
}

// nobody is the error where no launcher was found; only ErrNone means that the
// process has been started alone.
func nobody(getenv func(string) string) error {
	for _, name := range slices.Concat(halves, []string{"SCHEDGEN_COORDINATOR"}) {
		if v := getenv(name); v != "" {
			return fmt.Errorf("%s is %q, but nobody says how many ranks there are; set %s", name, v, missing(name))
		}
	}
	return ErrNone
}

// missing names what is to be set where there is only the variable name.
func missing(name string) string {
	if name == indexOfJob {
		return "SCHEDGEN_SIZE"
	}
	return "SCHEDGEN_RANK and SCHEDGEN_SIZE"
}

// position returns what l says, nil if it has not started this process.
func (l *launcher) position(getenv func(string) string) (*Position, error) {
	rank, size := getenv(l.rank), getenv(l.size)
	switch {
	case size == "" && (rank == "" || l.mute):
		return nil, nil
	case rank == "" || size == "":
		return nil, fmt.Errorf("%s is %q but %s is %q", l.rank, rank, l.size, size)
	}
	p := &Position{Source: l.rank + " and " + l.size, launcher: l, getenv: getenv}
	var err error
	if p.Rank, err = number(l.rank, rank); err != nil {
		return nil, err
	}
	if p.Size, err = number(l.size, size); err != nil {
		return nil, err
	}
	if p.Size < 1 || p.Rank < 0 || p.Rank >= p.Size {
		return nil, fmt.Errorf("%s is %d, %s is %d", l.rank, p.Rank, l.size, p.Size)
	}
	if p.Local, err = l.localOf(getenv, p.Size); err == nil {
		err = l.agree(getenv, rank)
	}
	return p, err
}

// agree compares the rank with what another variable says. What runs below the
// launcher may have set its own.
func (l *launcher) agree(getenv func(string) string, rank string) error {
	if l.twin == "" || getenv(l.twin) == "" || getenv(l.twin) == rank || l.outer && below(getenv) {
		return nil
	}
	return fmt.Errorf("%s is %q but %s is %q", l.rank, rank, l.twin, getenv(l.twin))
}

// below reports whether another launcher has started this process than the outer ones.
func below(getenv func(string) string) bool {
	return slices.ContainsFunc(launchers[1:], func(l launcher) bool { return !l.mute && getenv(l.rank) != "" })
}

// localOf returns how many of size ranks are on this host, 0 if nobody says so.
func (l *launcher) localOf(getenv func(string) string, size int) (int, error) {
	if l.local == "" || getenv(l.local) == "" {
		if l.hosts != "" && getenv(l.hosts) == "1" {
			return size, nil
		}
		return 0, nil
	}
	n, err := number(l.local, getenv(l.local))
	if err == nil && (n < 1 || n > size) {
		err = fmt.Errorf("%s is %d, %s is %d", l.local, n, l.size, size)
	}
	return n, err
}

func number(name, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

// together reports whether all ranks are on this host.
func (p *Position) together() bool { return p.Local == p.Size }

// job names the job by the values of variables.
func (p *Position) job(names ...string) string {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = name + "=" + p.getenv(name)
	}
	return strings.Join(values, " ")
}
