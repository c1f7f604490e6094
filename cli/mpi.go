package cli

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/mpi"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/schedule/selection"
)

// mpiCmd is the verb mpi. It starts a command, and loads the library of package mpi into the
// command's MPI programs.
type mpiCmd struct {
	Engine    string `default:"auto" enum:"auto,c,go,off" placeholder:"ENGINE" help:"Engine that runs the operations, see above: c, go, auto or off; default auto."`
	Interface string `placeholder:"NAME" complete:"interface" help:"Network interface on which engine go multicasts between hosts; default none."`
	Delay     string `expert:"" placeholder:"POLICY" complete:"delay" help:"When a root of engine go starts to multicast: none, adaptive or random-peer; default none."`
	rulesFlag
	Learn   string   `placeholder:"FILE" complete:"file" help:"Engine go chooses among its algorithms and the MPI by the times of the first calls of each length, and writes rules for --rules to FILE."`
	Report  bool     `help:"At MPI_Finalize, rank 0 prints which operations schedgen ran, and which it did not and why."`
	Tune    bool     `help:"First measure for half a minute which engine is faster than the MPI for which operations. Engine auto uses the result in later runs, too."`
	Profile bool     `help:"At MPI_Finalize, rank 0 prints how much time the ranks spent in each collective operation, by length."`
	JSON    string   `name:"profile-json" placeholder:"FILE" help:"Write the profile to FILE as JSON."`
	CC      string   `name:"cc" placeholder:"COMPILER" help:"C compiler; default cc, gcc or clang."`
	Header  string   `placeholder:"DIR" help:"Write schedgen.h and the libraries to DIR, for programs that publish, ask or add exactly. No command is run."`
	Command []string `arg:"" optional:"" help:"Command that starts the ranks, such as mpirun; it follows --."`
}

// Help is the long help text.
func (mpiCmd) Help() string {
	return `Starts unchanged MPI programs and runs their collective operations with schedgen, over the messages
of their own MPI. The MPI may be Open MPI, MPICH or another one with the standard ABI of MPI 5.
Programs in Fortran and Python work, too.

schedgen loads a library before the MPI. It compiles the library at first use with the machine's C
compiler and keeps it in the user's cache. If this is impossible, for example because there is no
compiler or the program is linked statically, a line says so, and the command runs without
schedgen.

Engines:

` + terminal.Table([][2]string{
		{"c", "schedules as tables, over messages of the MPI, for each operation that they can run"},
		{"go", "schedules over schedgen's own shared memory, TCP and multicast; engine c for operations that it cannot run"},
		{"auto", "for each operation, the engine that --tune has measured to be faster than the MPI; without such a measurement, engine c where it is never slower"},
		{"off", "the MPI runs everything"},
	}) + `
The Go toolchain builds engine go at first use, from the source that schedgen was built from.

With --rules both engines take the algorithms that a file names, which all hosts must have. Engine c
never multicasts, and a line names each rule that it leaves out because its tables would be too
long. In --report, each line of the engines names the algorithm.

With --learn engine go measures the calls of the program itself, and keeps the fastest algorithm, or
leaves to the MPI what the MPI does faster. Later runs may take the result by --rules.

With --tune the ranks measure both engines and the MPI before the first collective operation of all
ranks, and print the results. The resulting rules are kept for that MPI, that number of ranks, and
ranks on one host or on several. Measure again if the network changes.

With --header a program can also call schedgen: schedgen.h has messages and questions that no rank
needs to expect, exact sums, and a reproducible allreduce. Such a program is linked with the library,
and starts by mpirun alone.

Examples:

  schedgen mpi -- mpirun -n 8 ./program
  schedgen mpi --tune -- mpirun -n 8 ./program
  schedgen mpi --engine go --interface eth0 -- mpirun -n 8 ./program
  schedgen mpi --engine c --report -- mpirun -n 8 python3 program.py
  schedgen mpi --engine c --rules rules.json -- mpirun -n 8 ./program
  schedgen mpi --engine go --learn learned.json -- mpirun -n 8 ./program
  schedgen mpi --engine off --profile -- mpirun -n 8 ./program
  schedgen mpi --header include`
}

// Run replaces this process by the command, or writes the header.
func (c *mpiCmd) Run(ctx context.Context, std terminal.Stdio) error {
	switch {
	case c.Header != "" && len(c.Command) > 0:
		return errors.New("--header runs no command")
	case c.Header != "":
		return c.writeHeader(ctx, std)
	case len(c.Command) == 0:
		return errors.New("there is no command to run, such as mpirun -n 8 ./program")
	}
	path, err := exec.LookPath(c.Command[0])
	if err != nil {
		return fmt.Errorf("%s: %w", c.Command[0], errors.Unwrap(err))
	}
	args, env := c.Command, replaced(os.Environ(), "SCHEDGEN_MPI=off")
	if c.Interface != "" && c.Engine != "go" && c.Engine != "auto" {
		return fmt.Errorf("--interface: engine %s does not multicast", c.Engine)
	}
	if c.Learn != "" && c.Engine != "go" && c.Engine != "auto" {
		return fmt.Errorf("--learn is for engine go, not for engine %s", c.Engine)
	}
	if c.Tune && c.Engine != "auto" {
		return fmt.Errorf("--tune is for engine auto, not for engine %s", c.Engine)
	}
	if c.Delay != "" && (c.Interface == "" || !slices.Contains([]string{"none", "adaptive", "random-peer"}, c.Delay)) {
		return fmt.Errorf("--delay=%s: must be none, adaptive or random-peer, and needs --interface", c.Delay)
	}
	rules, err := c.rules(std.Getenv)
	if err != nil {
		return err
	}
	if c.Profile && c.JSON != "" {
		return errors.New("--profile and --profile-json: give only one of them")
	}
	if c.Engine != "off" || c.Profile || c.JSON != "" {
		library, err := c.library(ctx, std, rules)
		if err != nil {
			fmt.Fprintf(std.Err, "schedgen: mpi: %v; the command runs without schedgen\n", err)
		} else {
			warned := warnings(c.Command[1:])
			for _, warning := range warned {
				fmt.Fprintf(std.Err, "schedgen: mpi: %s\n", warning)
			}
			preload, others := stacked(library.Path, os.Getenv("LD_PRELOAD"))
			if len(others) > 0 {
				fmt.Fprintf(std.Err, "schedgen: mpi: LD_PRELOAD has schedgen's library, and then %s\n", strings.Join(others, ", "))
			}
			added, err := c.environment(preload, c.goLibrary(ctx, std), library, rules)
			if err != nil {
				return err
			}
			if isLauncher(c.Command[0]) && len(warned) == 0 {
				counted, local := counting(c.Command)
				added = append(added, counted...)
				env = replaced(env, local...)
			}
			env = replaced(env, added...)
			args = exported(ctx, c.Command, added)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, args, env))
}

// writeHeader writes schedgen.h and the libraries, and prints the names of the files.
func (c *mpiCmd) writeHeader(ctx context.Context, std terminal.Stdio) error {
	cache, self, err := mpiPlaces()
	if err != nil {
		return err
	}
	library, err := mpi.Build(ctx, cache, cmp.Or(c.CC, std.Getenv("CC")), self)
	if err != nil {
		return err
	}
	goLibrary, err := builtGo(ctx, std, cache, self, usesVerbs(std.Getenv))
	if err != nil {
		return fmt.Errorf("engine go: %w", err)
	}
	names, err := mpi.WriteHeader(c.Header, library, goLibrary)
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintln(std.Out, filepath.Join(c.Header, name))
	}
	return nil
}

// mpiPlaces returns the directory of the user's cache for the libraries of the verb mpi, and the
// path of this program.
func mpiPlaces() (cache, self string, err error) {
	if cache, err = os.UserCacheDir(); err == nil {
		self, err = os.Executable()
	}
	return filepath.Join(cache, "schedgen", "mpi"), self, err
}

// library builds the library. It also writes the tables for the number of ranks that the command
// seems to start, and says which rules they leave out.
func (c *mpiCmd) library(ctx context.Context, std terminal.Stdio, rules *selection.Rules) (*mpi.Library, error) {
	cache, self, err := mpiPlaces()
	if err != nil {
		return nil, err
	}
	library, err := mpi.Build(ctx, cache, cmp.Or(c.CC, std.Getenv("CC")), self)
	if err != nil {
		return nil, err
	}
	if library, err = library.By(rules); err != nil {
		return nil, err
	}
	ranks := ranksIn(c.Command)
	if ranks < 2 || ranks > mpi.MaxRanks {
		return library, nil
	}
	if _, err := os.Stat(library.TablesOf(ranks)); err == nil && rules.Digest() == 0 {
		return library, nil
	}
	return library, writeTables(library.TablesOf(ranks), ranks, rules, std)
}

// writeTables writes tables, and says which rules they leave out.
func writeTables(path string, ranks int, rules *selection.Rules, std terminal.Stdio) error {
	notes, err := mpi.WriteTables(path, ranks, rules)
	for _, n := range notes {
		fmt.Fprintf(std.Err, "schedgen: mpi: %v\n", n)
	}
	return err
}

// goLibrary returns the path of engine go, or "" if there is none or it is not needed. It builds
// the engine for --engine go and for --tune; engine auto uses only one that exists already. If
// building fails, engine c takes the place of engine go.
func (c *mpiCmd) goLibrary(ctx context.Context, std terminal.Stdio) string {
	if c.Engine == "c" || c.Engine == "off" {
		return ""
	}
	cache, self, err := mpiPlaces()
	path := ""
	if err == nil {
		find := mpi.FindGo
		if c.Engine == "go" || c.Tune {
			find = func(cache, self string, verbs bool) (string, error) { return builtGo(ctx, std, cache, self, verbs) }
		}
		path, err = find(cache, self, usesVerbs(std.Getenv))
	}
	switch {
	case err == nil:
	case c.Engine == "go":
		fmt.Fprintf(std.Err, "schedgen: mpi: engine go: %v; engine c takes its place\n", err)
		c.Engine = "c"
	case c.Tune:
		fmt.Fprintf(std.Err, "schedgen: mpi: engine go: %v; only engine c is measured\n", err)
	}
	return path
}

// builtGo returns the path of engine go, which it builds if it is missing.
func builtGo(ctx context.Context, std terminal.Stdio, cache, self string, verbs bool) (string, error) {
	if path, err := mpi.FindGo(cache, self, verbs); err == nil {
		return path, nil
	}
	fmt.Fprintln(std.Err, "schedgen: mpi: building engine go, which takes up to a minute")
	return mpi.BuildGo(ctx, cache, self, verbs)
}

// usesVerbs reports whether variables ask for the transport verbs, with which engine go has to be
// built.
func usesVerbs(getenv func(string) string) bool { return getenv("SCHEDGEN_TRANSPORT") == "verbs" }

// replaced returns env with variables added at its end, in place of others with their names. A
// program would use the first of two variables with one name.
func replaced(env []string, added ...string) []string {
	names := make(map[string]bool)
	for _, variable := range added {
		name, _, _ := strings.Cut(variable, "=")
		names[name] = true
	}
	env = slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return names[name]
	})
	return append(env, added...)
}

// stacked returns the value of LD_PRELOAD with which the library stands before those that old
// names, so that it sees all calls of the program. It also returns those libraries. A library of
// another schedgen is left out.
func stacked(library, old string) (preload string, others []string) {
	others = strings.FieldsFunc(old, func(r rune) bool { return r == ':' || r == ' ' })
	others = slices.DeleteFunc(others, func(path string) bool { return filepath.Base(path) == filepath.Base(library) })
	return strings.Join(append([]string{library}, others...), ":"), others
}

// counting returns variables for the ranks, and others for this process alone, by which the library
// reports ranks on this host that have not loaded it. Without a folder for that it reports nothing.
func counting(command []string) (ranks, here []string) {
	host, err := os.Hostname()
	if err != nil {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "schedgen-mpi") // the library removes it
	if err != nil {
		return nil, nil
	}
	here = []string{fmt.Sprintf("SCHEDGEN_MPI_COUNTS=%d %s", os.Getpid(), host)}
	if namesHosts(command) {
		here = append(here, "SCHEDGEN_MPI_ELSEWHERE=1")
	}
	return []string{"SCHEDGEN_MPI_RANKS=" + dir}, here
}

// batchVariables are variables of batch systems, which place ranks.
var batchVariables = []string{"SLURM_JOB_ID", "PBS_NODEFILE", "LSB_JOBID", "PE_HOSTFILE", "FLUX_URI"}

// namesHosts reports whether a flag or a batch system may place all ranks on other hosts.
func namesHosts(command []string) bool {
	for _, variable := range batchVariables {
		if os.Getenv(variable) != "" {
			return true
		}
	}
	flags := []string{"-host", "--host", "-hosts", "--hosts", "-H", "-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f", "--default-hostfile"}
	return slices.ContainsFunc(command, func(word string) bool { return slices.Contains(flags, word) })
}

// environment returns the variables that the ranks need. goLibrary is the path of engine go, or "".
func (c *mpiCmd) environment(preload, goLibrary string, library *mpi.Library, rules *selection.Rules) ([]string, error) {
	env := []string{"LD_PRELOAD=" + preload, "SCHEDGEN_MPI=" + c.Engine}
	if rules.Digest() != 0 {
		name, from := c.rulesFile(os.Getenv)
		file, err := filepath.Abs(name) // ranks may run in another directory
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		env = append(env, "SCHEDGEN_RULES="+file, "SCHEDGEN_MPI_TABLES="+library.Tables)
	}
	if c.Learn != "" {
		file, err := filepath.Abs(c.Learn) // ranks may run in another directory
		if err != nil {
			return nil, fmt.Errorf("--learn=%s: %w", c.Learn, err)
		}
		env = append(env, "SCHEDGEN_LEARN="+file)
	}
	if c.Delay != "" {
		env = append(env, "SCHEDGEN_MPI_DELAY="+c.Delay)
	}
	if c.Report {
		env = append(env, "SCHEDGEN_MPI_REPORT=1")
	}
	if c.Tune {
		env = append(env, "SCHEDGEN_MPI_TUNE=30")
	}
	if after, ok := os.LookupEnv("SCHEDGEN_MPI_JOIN"); ok {
		env = append(env, "SCHEDGEN_MPI_JOIN="+after)
	}
	if goLibrary != "" {
		env = append(env, "SCHEDGEN_MPI_GO="+goLibrary)
		if c.Interface != "" {
			env = append(env, "SCHEDGEN_MPI_INTERFACE="+c.Interface)
		}
		for _, name := range []string{"SCHEDGEN_TRANSPORT", "SCHEDGEN_DEVICE", "SCHEDGEN_KEY_FILE", "SCHEDGEN_ENCRYPT"} {
			if value, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+value)
			}
		}
	}
	if c.Profile {
		env = append(env, "SCHEDGEN_MPI_PROFILE=table")
	}
	if c.JSON != "" {
		file, err := filepath.Abs(c.JSON) // the slash tells it from "table", and ranks may run in another directory
		if err != nil {
			return nil, fmt.Errorf("--profile-json=%s: %w", c.JSON, err)
		}
		env = append(env, "SCHEDGEN_MPI_PROFILE="+file)
	}
	return env, nil
}

// exported returns the command with flags that make Open MPI's mpirun pass the variables to ranks
// on other hosts. MPICH's mpirun and srun pass all variables by themselves.
func exported(ctx context.Context, command, variables []string) []string {
	if !isLauncher(command[0]) {
		return command
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	about, _ := exec.CommandContext(ctx, command[0], "--version").Output()
	if !bytes.Contains(about, []byte("Open MPI")) && !bytes.Contains(about, []byte("OpenRTE")) && !bytes.Contains(about, []byte("PRRTE")) {
		return command
	}
	args := command[:1:1]
	for _, v := range variables {
		variable, _, _ := strings.Cut(v, "=")
		args = append(args, "-x", variable)
	}
	return append(args, command[1:]...)
}

// isLauncher reports whether a command is a launcher of an MPI.
func isLauncher(command string) bool {
	name := filepath.Base(command)
	return slices.ContainsFunc([]string{"mpirun", "mpiexec", "orterun", "prterun"}, func(known string) bool { return strings.HasPrefix(name, known) })
}

// ranksIn returns the number of ranks that a command starts, if it has a usual flag of launchers
// for it, and 0 otherwise. The tables for so many ranks can then be written before the ranks ask
// for them.
func ranksIn(command []string) int {
	for i, word := range command[:len(command)-1] {
		if slices.Contains([]string{"-n", "-np", "--np", "--n"}, word) {
			if n, err := strconv.Atoi(command[i+1]); err == nil {
				return n
			}
		}
	}
	return 0
}

// warnings returns what is wrong with programs among words: no library can be loaded into a program
// that is linked statically, and AddressSanitizer refuses to be loaded after another library.
func warnings(words []string) []string {
	var all []string
	for _, word := range words {
		path, err := exec.LookPath(word)
		if err != nil {
			continue
		}
		f, err := elf.Open(path)
		if err != nil {
			continue
		}
		if !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
			all = append(all, word+" is linked statically; it runs without schedgen")
		}
		needed, _ := f.ImportedLibraries() // none if the file is damaged
		_ = f.Close()                      // read only: nothing to lose
		const option = "verify_asan_link_order=0"
		asan := func(name string) bool {
			return strings.HasPrefix(name, "libasan.so") || strings.HasPrefix(name, "libclang_rt.asan")
		}
		if slices.ContainsFunc(needed, asan) && !strings.Contains(os.Getenv("ASAN_OPTIONS"), option) {
			all = append(all, word+" has AddressSanitizer, which stops it after other libraries: set ASAN_OPTIONS="+option)
		}
	}
	return all
}

// mpiTablesCmd is the hidden verb mpi-tables, which the library calls to get tables.
type mpiTablesCmd struct {
	Ranks  int    `required:"" help:"Number of ranks."`
	Output string `required:"" help:"File to write."`
	rulesFlag
}

// Help is the long help text.
func (mpiTablesCmd) Help() string {
	return `Writes the schedules of all operations that schedgen mpi can run, for the library that it loads.

Example:

  schedgen mpi-tables --ranks 8 --output 8.tables`
}

// Run writes the file.
func (c *mpiTablesCmd) Run(std terminal.Stdio) error {
	rules, err := c.rules(std.Getenv)
	if err != nil {
		return err
	}
	return writeTables(c.Output, c.Ranks, rules, std)
}
