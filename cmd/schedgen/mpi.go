package main

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

	"github.com/schedgen/schedgen/runtime/mpi"
)

// mpiCmd is the verb mpi: it starts a command in whose MPI programs the library of package mpi runs.
type mpiCmd struct {
	Engine    string   `default:"auto" enum:"auto,c,go,off" placeholder:"ENGINE" help:"What takes operations over: c, go, auto or off; default auto."`
	Interface string   `placeholder:"NAME" complete:"interface" help:"Network interface on which engine go multicasts between hosts; default none."`
	Report    bool     `help:"At MPI_Finalize rank 0 says what was taken over, and what not and why."`
	Tune      bool     `help:"First measure, for half a minute, which engine is faster than the MPI at what; engine auto keeps to it from then on."`
	Profile   bool     `help:"At MPI_Finalize rank 0 says how long the ranks were in which collective operations, by length."`
	JSON      string   `name:"profile-json" placeholder:"FILE" help:"The same into a file, as JSON."`
	CC        string   `name:"cc" placeholder:"COMPILER" help:"The C compiler; default cc, gcc or clang."`
	Command   []string `arg:"" help:"The command that starts the ranks, such as mpirun, behind --."`
}

// Help is the long help text.
func (mpiCmd) Help() string {
	return `Starts MPI programs, unchanged, so that schedgen runs their collective operations: over the messages of
their own MPI, which may be Open MPI, MPICH or another one with the standard ABI of MPI 5. Programs in
Fortran and Python count.

The library that does it is loaded before MPI. It is compiled at first use, by the machine's C compiler,
and kept in the user's cache. Where something is in the way, such as no compiler or a program that is
linked statically, a line says so and the command runs as if schedgen were not there.

Engines:

` + table([][2]string{
		{"c", "schedules as tables, over messages of the MPI, for all operations that they serve"},
		{"go", "schedules over shared memory, TCP and multicast of schedgen's own; engine c where it does not serve"},
		{"auto", "what --tune has measured to be faster than the MPI; without that, engine c where it is never slower"},
		{"off", "the MPI serves everything"},
	}) + `
Engine go is built at first use, by the Go toolchain, from the source that schedgen was built from.

With --tune the ranks measure both engines and the MPI before the first collective operation among all of
them, and print what they find. Rules are kept for that MPI, that number of ranks, and ranks on one host or
on several; measure again if the network changes.

Examples:

  schedgen mpi -- mpirun -n 8 ./program
  schedgen mpi --tune -- mpirun -n 8 ./program
  schedgen mpi --engine go --interface eth0 -- mpirun -n 8 ./program
  schedgen mpi --engine c --report -- mpirun -n 8 python3 program.py
  schedgen mpi --engine off --profile -- mpirun -n 8 ./program`
}

// Run becomes the command.
func (c *mpiCmd) Run(ctx context.Context, std stdio) error {
	path, err := exec.LookPath(c.Command[0])
	if err != nil {
		return fmt.Errorf("%s: %w", c.Command[0], errors.Unwrap(err))
	}
	args, env := c.Command, os.Environ()
	if c.Interface != "" && c.Engine != "go" && c.Engine != "auto" {
		return fmt.Errorf("--interface: engine %s does not multicast", c.Engine)
	}
	if c.Tune && c.Engine != "auto" {
		return fmt.Errorf("--tune is for engine auto, not for engine %s", c.Engine)
	}
	if c.Profile && c.JSON != "" {
		return errors.New("--profile and --profile-json: give one of them")
	}
	if c.Engine != "off" || c.Profile || c.JSON != "" {
		library, err := c.library(ctx, std)
		if err != nil {
			fmt.Fprintf(std.Err, "schedgen: mpi: %v; the command runs without schedgen\n", err)
		} else {
			if program := staticProgram(c.Command[1:]); program != "" {
				fmt.Fprintf(std.Err, "schedgen: mpi: %s is linked statically; it runs without schedgen\n", program)
			}
			added, err := c.environment(library, c.goLibrary(ctx, std))
			if err != nil {
				return err
			}
			env = append(env, added...)
			args = exported(ctx, c.Command, added)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, args, env))
}

// mpiPlaces returns where the user's cache has what is built for verb mpi, and where this program is.
func mpiPlaces() (cache, self string, err error) {
	if cache, err = os.UserCacheDir(); err == nil {
		self, err = os.Executable()
	}
	return filepath.Join(cache, "schedgen", "mpi"), self, err
}

// library builds the library, and the tables for the ranks that the command seems to start.
func (c *mpiCmd) library(ctx context.Context, std stdio) (*mpi.Library, error) {
	cache, self, err := mpiPlaces()
	if err != nil {
		return nil, err
	}
	library, err := mpi.Build(ctx, cache, cmp.Or(c.CC, std.Getenv("CC")), self)
	if err != nil {
		return nil, err
	}
	if ranks := ranksIn(c.Command); ranks >= 2 && ranks <= mpi.MaxRanks {
		if _, err := os.Stat(library.TablesOf(ranks)); err != nil {
			if err := mpi.WriteTables(library.TablesOf(ranks), ranks); err != nil {
				return nil, err
			}
		}
	}
	return library, nil
}

// goLibrary returns where the engine go is, "" if it is not needed. It is built for --engine go and for --tune;
// engine auto takes one that is there. Without it engine go becomes engine c, and engine auto has one engine less.
func (c *mpiCmd) goLibrary(ctx context.Context, std stdio) string {
	if c.Engine == "c" || c.Engine == "off" {
		return ""
	}
	cache, self, err := mpiPlaces()
	path := ""
	if err == nil {
		if path, err = mpi.FindGo(cache, self); err != nil && (c.Engine == "go" || c.Tune) {
			fmt.Fprintln(std.Err, "schedgen: mpi: building engine go, which takes a minute at most")
			path, err = mpi.BuildGo(ctx, cache, self)
		}
	}
	switch {
	case err == nil:
	case c.Engine == "go":
		fmt.Fprintf(std.Err, "schedgen: mpi: engine go: %v; engine c takes its place\n", err)
		c.Engine = "c"
	case c.Tune:
		fmt.Fprintf(std.Err, "schedgen: mpi: engine go: %v; engine c alone is measured\n", err)
	}
	return path
}

// environment returns what the ranks need in their environment. goLibrary is the engine go, if there is one.
func (c *mpiCmd) environment(library *mpi.Library, goLibrary string) ([]string, error) {
	preload := library.Path
	if old := os.Getenv("LD_PRELOAD"); old != "" {
		preload += ":" + old
	}
	env := []string{"LD_PRELOAD=" + preload, "SCHEDGEN_MPI=" + c.Engine}
	if c.Report {
		env = append(env, "SCHEDGEN_MPI_REPORT=1")
	}
	if c.Tune {
		env = append(env, "SCHEDGEN_MPI_TUNE=30")
	}
	if goLibrary != "" {
		env = append(env, "SCHEDGEN_MPI_GO="+goLibrary)
		if c.Interface != "" {
			env = append(env, "SCHEDGEN_MPI_INTERFACE="+c.Interface)
		}
		for _, name := range []string{"SCHEDGEN_TRANSPORT", "SCHEDGEN_KEY_FILE", "SCHEDGEN_ENCRYPT", "SCHEDGEN_MPI_JOIN"} {
			if value, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+value)
			}
		}
	}
	if c.Profile {
		env = append(env, "SCHEDGEN_MPI_PROFILE=table")
	}
	if c.JSON != "" {
		file, err := filepath.Abs(c.JSON) // the path of a file has a slash, and ranks may start elsewhere
		if err != nil {
			return nil, fmt.Errorf("--profile-json=%s: %w", c.JSON, err)
		}
		env = append(env, "SCHEDGEN_MPI_PROFILE="+file)
	}
	return env, nil
}

// exported returns the command with flags that have mpirun hand the variables to ranks on other hosts.
// Those of MPICH do so by themselves, and so does srun.
func exported(ctx context.Context, command, variables []string) []string {
	name := filepath.Base(command[0])
	launcher := slices.ContainsFunc([]string{"mpirun", "mpiexec", "orterun", "prterun"}, func(known string) bool { return strings.HasPrefix(name, known) })
	if !launcher {
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

// ranksIn returns how many ranks a command starts, if it says so by a flag that launchers have; else 0.
// Tables for them are then there before they are asked for.
func ranksIn(command []string) int {
	for i, word := range command[:len(command)-1] {
		if slices.Contains([]string{"-n", "-np", "--np", "-c", "--n"}, word) {
			if n, err := strconv.Atoi(command[i+1]); err == nil {
				return n
			}
		}
	}
	return 0
}

// staticProgram returns the first program among words before which nothing can be loaded, "" if there is none.
func staticProgram(words []string) string {
	for _, word := range words {
		path, err := exec.LookPath(word)
		if err != nil {
			continue
		}
		f, err := elf.Open(path)
		if err != nil {
			continue
		}
		static := !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
		_ = f.Close() // read only: nothing to lose
		if static {
			return word
		}
	}
	return ""
}

// mpiTablesCmd is the hidden verb mpi-tables, by which the library asks for tables.
type mpiTablesCmd struct {
	Ranks  int    `required:"" help:"Ranks that the tables are for."`
	Output string `required:"" help:"The file."`
}

// Help is the long help text.
func (mpiTablesCmd) Help() string {
	return `Writes the schedules of all operations that schedgen mpi takes over, for the library that it loads.

Example:

  schedgen mpi-tables --ranks 8 --output 8.tables`
}

// Run writes the file.
func (c *mpiTablesCmd) Run() error { return mpi.WriteTables(c.Output, c.Ranks) }
