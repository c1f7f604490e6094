package cli

import (
	"fmt"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/command"
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
	if given {
		return wholeElements(j, "--size", j.Size)
	}
	if rest := j.Size % int64(k.Element); rest != 0 {
		j.Size += int64(k.Element) - rest
	}
	return nil
}

// wholeElements returns an error if the job folds and n bytes, the value of a flag, are not whole
// elements.
func wholeElements(j *crew.Job, flag string, n int64) error {
	if j.Row().Inputs == nil {
		return nil
	}
	k, err := j.Fold.Fold()
	if err == nil && n%int64(k.Element) != 0 {
		err = fmt.Errorf("%s=%v: elements of type %s have %s", flag, byteSize(n), j.Fold.Type, command.Count(k.Element, "byte"))
	}
	return err
}
