package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/forms"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// fileArg is the argument that names a file with a schedule, which runs in place of an algorithm.
type fileArg struct {
	File string `arg:"" optional:"" name:"file" complete:"file" help:"File that holds a schedule, as text or json, to run in place of an algorithm (- for standard input)."`
}

// withCollective inserts the collective of a schedule's file into a command line: it turns "run
// FILE" into "run bcast FILE", "run barrier FILE" and so on.
func withCollective(args []string) []string {
	if len(args) < 2 || args[0] != "run" || strings.HasPrefix(args[1], "-") {
		return args
	}
	name, verb := args[1], verbOf("")
	info, err := os.Stat(name)
	isFile := err == nil && info.Mode().IsRegular()
	if !isFile && !slices.Contains([]string{".txt", ".json"}, filepath.Ext(name)) {
		return args // not a file
	}
	if head, err := readHead(name); err == nil {
		verb = verbOf(forms.Look(head).Collective)
	}
	return slices.Concat(args[:1], []string{verb}, args[1:])
}

// readHead reads the beginning of a file, which tells its form and collective.
func readHead(name string) (head []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, 4<<10))
}

// toRun holds the schedules of a run: of an algorithm, or of a file.
type toRun struct {
	specs []*schedule.Spec // one, or one for each origin; nil if file is set
	file  *ir.Schedule     // nil for an algorithm
}

// params returns the parameters of the algorithm, or the parameters in the file's header.
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

// prove proves the schedules.
func (r *toRun) prove(ctx context.Context) (*proof, error) {
	if r.file != nil {
		return terminal.Await(ctx, func() (*proof, error) { return prove(r.file) })
	}
	return proveSpecs(ctx, r.specs)
}

// load reads the schedule, if it has not done so before, and returns nil if the arguments name no
// file. A file sets the algorithm and its parameters, so flags for them are errors.
func (a *fileArg) load(ctx context.Context, std terminal.Stdio, f *runFlags, collective string, flags source.Flags) (*ir.Schedule, error) {
	if a.File == "" || f.file != nil {
		return f.file, nil
	}
	given := flags.List()
	switch {
	case f.Algorithm != "":
		return nil, fmt.Errorf("--algorithm: %s runs in place of an algorithm", a.File)
	case len(given) > 0:
		return nil, fmt.Errorf("--%s: %s has its own parameters", given[0].Name, a.File)
	}
	if _, err := os.Stat(a.File); err != nil && a.File != "-" {
		if _, e := source.Named(a.File); e == nil {
			return nil, fmt.Errorf("%s is an algorithm: write --algorithm %s", a.File, a.File)
		}
	}
	at := source.Args{Source: a.File}
	in, err := terminal.Await(ctx, func() (io.ReadCloser, error) { return at.Open(std) })
	if err != nil {
		return nil, err
	}
	defer in.Close() // read only: nothing to lose
	s, err := at.Read(ctx, in)
	if err != nil {
		return nil, err
	}
	if !serves(collective, s) {
		return nil, fmt.Errorf("%s is the schedule of %s: give it to schedgen run %s", a.File, words.WithArticle(s.Collective), verbOf(s.Collective))
	}
	if f.Ranks != nil && (f.Ranks.Lo != s.Ranks || f.Ranks.Hi != s.Ranks) {
		return nil, fmt.Errorf("--ranks: %s is for %s", a.File, command.Count(s.Ranks, "rank"))
	}
	f.Ranks = &source.Ranks{Lo: s.Ranks, Hi: s.Ranks}
	f.Algorithm = s.Collective + "/" + s.Algorithm
	f.file = s
	_, err = f.ranks()
	return s, err
}
