package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/terminal"
)

// Looked is an open file whose form is known.
type Looked struct {
	Form *Foreign // nil for schedgen's own forms
	In   *bufio.Reader
	File io.Closer
}

// OpenSniffed opens the file that the source names and finds its form.
func (a *Args) OpenSniffed(ctx context.Context, std terminal.Stdio) (Looked, error) {
	return terminal.Await(ctx, func() (Looked, error) {
		file, err := a.Open(std)
		if err != nil {
			return Looked{}, err
		}
		in := bufio.NewReader(file)
		form, err := sniff(a.Source, in)
		if err != nil {
			return Looked{}, errors.Join(err, file.Close())
		}
		return Looked{Form: form, In: in, File: file}, nil
	})
}

// CheckOwn returns an error for flags of ranks and parameters: a file of another program has its
// own.
func (a *Args) CheckOwn(form *Foreign) error {
	if flags := a.List(); a.Ranks != nil || len(flags) > 0 {
		return fmt.Errorf("%s is %s, which has ranks and parameters of its own", a.Source, form.Name)
	}
	return nil
}
