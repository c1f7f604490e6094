package main

import (
	"fmt"

	"github.com/schedgen/schedgen/cmd/schedgen/internal/crew"
)

// foldFlags are the flags for the operation and the type of folds.
type foldFlags struct {
	Op   string `placeholder:"OP" default:"sum" enum:"${foldops}" help:"Operation that folds contributions, one of ${foldops}; default sum."`
	Type string `placeholder:"TYPE" default:"float64" enum:"${foldtypes}" help:"Type of the elements of contributions, one of ${foldtypes}; default float64."`
}

// set sets the folding of a job whose collective folds. The job's size must be a multiple of the
// element's size: set rounds a default size up. given tells that the flag --size is given.
func (f *foldFlags) set(j *crew.Job, given bool) error {
	if j.Row().Inputs == nil {
		return nil
	}
	j.Fold = crew.Folding{Op: f.Op, Type: f.Type}
	k, err := j.Fold.Fold()
	if err != nil {
		return fmt.Errorf("--op and --type: %w", err)
	}
	if rest := j.Size % int64(k.Element); rest != 0 {
		if given {
			return fmt.Errorf("--size=%v: elements of type %s have %s", byteSize(j.Size), f.Type, count(k.Element, "byte"))
		}
		j.Size += int64(k.Element) - rest
	}
	return nil
}
