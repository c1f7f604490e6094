package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// looked is a file whose first bytes have been looked at.
type looked struct {
	form *foreignForm // nil: one of ours
	in   *bufio.Reader
	file io.Closer
}

// look opens the file that the source names and finds its form.
func (a *sourceArgs) look(ctx context.Context, std stdio) (looked, error) {
	return await(ctx, func() (looked, error) {
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

// checkOwn refuses flags that say what a file of another program says itself.
func (a *sourceArgs) checkOwn(form *foreignForm) error {
	if flags := a.list(); a.Ranks != nil || len(flags) > 0 {
		return fmt.Errorf("%s is %s, which has ranks and parameters of its own", a.Source, form.name)
	}
	return nil
}
