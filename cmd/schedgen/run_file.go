package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/forms"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule"
)

// fileArg names the file of a schedule that is run in place of an algorithm.
type fileArg struct {
	File string `arg:"" optional:"" name:"file" complete:"file" help:"File with a schedule, text or json, to run in place of an algorithm (- for standard input)."`
}

// withCollective returns a command line in which run is told the collective of the schedule in a file:
// run FILE is run bcast FILE, or run barrier FILE, and so on.
func withCollective(args []string) []string {
	if len(args) < 2 || args[0] != "run" || strings.HasPrefix(args[1], "-") {
		return args
	}
	name, verb := args[1], verbOf("")
	info, err := os.Stat(name)
	isFile := err == nil && info.Mode().IsRegular()
	if !isFile && !slices.Contains([]string{".txt", ".json"}, filepath.Ext(name)) {
		return args // a collective, or nothing
	}
	if head, err := readHead(name); err == nil {
		verb = verbOf(forms.Look(head).Collective)
	}
	return slices.Concat(args[:1], []string{verb}, args[1:])
}

// readHead reads as much of a file as tells what it is.
func readHead(name string) (head []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, 4<<10))
}

// toRun is what a run does: an algorithm, or the schedule of a file.
type toRun struct {
	specs []*schedule.Spec // one, or one for each origin
	file  *ir.Schedule     // in place of specs; nil: none
}

// params are those of the algorithm; of a file what its first line says.
func (r *toRun) params() schedule.Params {
	if r.file != nil {
		chunks := r.file.Chunks
		if r.file.HasMessage() {
			chunks = r.file.BlockChunks()
		}
		return schedule.Params{Ranks: r.file.Ranks, Root: r.file.Root, Chunks: chunks}
	}
	return r.specs[0].Params()
}

// prove proves what is run.
func (r *toRun) prove(ctx context.Context) (*proof, error) {
	if r.file != nil {
		return await(ctx, func() (*proof, error) { return prove(r.file) })
	}
	return proveSpecs(ctx, r.specs)
}

// load reads the schedule, once, and returns nil if no file is named. The flags of an algorithm are
// errors beside a file, which sets them itself.
func (a *fileArg) load(ctx context.Context, std stdio, f *runFlags, collective string, flags paramFlags) (*ir.Schedule, error) {
	if a.File == "" || f.file != nil {
		return f.file, nil
	}
	given := flags.list()
	switch {
	case f.Algorithm != "":
		return nil, fmt.Errorf("--algorithm: %s is run in its place", a.File)
	case len(given) > 0:
		return nil, fmt.Errorf("--%s: %s has its own parameters", given[0].name, a.File)
	}
	if _, err := os.Stat(a.File); err != nil && a.File != "-" {
		if _, e := algorithm(a.File); e == nil {
			return nil, fmt.Errorf("%s is an algorithm: write --algorithm %s", a.File, a.File)
		}
	}
	source := sourceArgs{Source: a.File}
	in, err := await(ctx, func() (io.ReadCloser, error) { return source.open(std) })
	if err != nil {
		return nil, err
	}
	defer in.Close() // read only: nothing to lose
	s, err := source.read(ctx, in)
	if err != nil {
		return nil, err
	}
	if !serves(collective, s) {
		return nil, fmt.Errorf("%s is the schedule of %s: give it to schedgen run %s", a.File, withArticle(s.Collective), verbOf(s.Collective))
	}
	if f.Ranks != nil && (f.Ranks.lo != s.Ranks || f.Ranks.hi != s.Ranks) {
		return nil, fmt.Errorf("--ranks: %s is for %s", a.File, count(s.Ranks, "rank"))
	}
	f.Ranks = &rankRange{s.Ranks, s.Ranks}
	f.Algorithm = s.Collective + "/" + s.Algorithm
	f.file = s
	_, err = f.ranks()
	return s, err
}

// scheduleFile makes a file without a name that holds a schedule, for ranks that are processes.
func scheduleFile(s *ir.Schedule) (*os.File, error) {
	f, err := os.CreateTemp("", "schedgen-schedule-")
	if err != nil {
		return nil, fmt.Errorf("the schedule for the ranks: %w", err)
	}
	if err = errors.Join(os.Remove(f.Name()), ir.WriteText(f, s)); err != nil {
		return nil, fmt.Errorf("the schedule for the ranks: %w", errors.Join(err, f.Close()))
	}
	return f, nil
}

// readSchedule reads what scheduleFile has written. All ranks share its position, so that it
// is left alone.
func readSchedule(f *os.File) (*ir.Schedule, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return ir.ParseText(io.NewSectionReader(f, 0, info.Size()))
}

// use has a communicator run the schedule.
func use(comm *runtime.Comm, s *ir.Schedule) error {
	program, err := machine.Of(s)
	if err != nil {
		return err
	}
	return comm.Use(program)
}
