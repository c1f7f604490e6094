package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/command"
)

// looked is an open file whose form is known.
type looked struct {
	form *foreignForm // nil for schedgen's own forms
	in   *bufio.Reader
	file io.Closer
}

// openSniffed opens the file that the source names and finds its form.
func (a *sourceArgs) openSniffed(ctx context.Context, std command.Stdio) (looked, error) {
	return command.Await(ctx, func() (looked, error) {
		file, err := a.open(std)
		if err != nil {
			return looked{}, err
		}
		in := bufio.NewReader(file)
		form, err := sniff(a.Source, in)
		if err != nil {
			return looked{}, errors.Join(err, file.Close())
		}
		return looked{form: form, in: in, file: file}, nil
	})
}

// checkOwn returns an error for flags of ranks and parameters: a file of another program has its
// own.
func (a *sourceArgs) checkOwn(form *foreignForm) error {
	if flags := a.list(); a.Ranks != nil || len(flags) > 0 {
		return fmt.Errorf("%s is %s, which has ranks and parameters of its own", a.Source, form.name)
	}
	return nil
}
