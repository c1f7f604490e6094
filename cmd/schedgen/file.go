package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// writeTo calls fill with the file called name, or with out, the standard output, if name is -.
// Errors of the file begin with the flag that gave the name.
func writeTo(flag, name string, out io.Writer, fill func(io.Writer) error) error {
	if name == "-" {
		return fill(out)
	}
	return writeFile(flag, name, fill)
}

// writeFile makes the file called name hold the output of fill. It replaces a regular file in one
// step when all is written, and leaves it as it was on an error. It writes to a device or pipe
// directly. All errors begin with the flag that gave the name; the argument flag has no hyphens.
func writeFile(flag, name string, fill func(io.Writer) error) error {
	write := replaceFile
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		write = writeInPlace
	}
	if err := write(name, fill); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

func replaceFile(name string, fill func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // replace the target of a link, not the link
	}
	temp, err := createBeside(name)
	if err != nil {
		return err
	}
	err = fillAndClose(temp, fill)
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

func writeInPlace(name string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return fillAndClose(f, fill)
}

// createBeside creates a new file in the directory of name, with the mode of name if that exists.
// os.CreateTemp would always make it private.
func createBeside(name string) (*os.File, error) {
	mode := os.FileMode(0o666)
	old, statErr := os.Stat(name)
	f, err := os.OpenFile(fmt.Sprintf("%s.%016x.tmp", name, rand.Uint64()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	var cause *os.PathError
	switch {
	case errors.As(err, &cause):
		return nil, fmt.Errorf("%s: %w", name, cause.Err) // not the name of the new file
	case err != nil || statErr != nil:
		return f, err
	}
	if err := f.Chmod(old.Mode().Perm()); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

func fillAndClose(f *os.File, fill func(io.Writer) error) error {
	buf := bufio.NewWriter(f)
	err := fill(buf)
	if err == nil {
		err = buf.Flush()
	}
	return errors.Join(err, f.Close())
}
