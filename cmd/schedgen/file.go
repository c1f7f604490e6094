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

// writeFile makes the file called name, which --output gives, hold what fill writes.
func writeFile(name string, fill func(io.Writer) error) error {
	return writeFlagFile("output", name, fill)
}

// writeFlagFile makes the file called name, which a flag gives, hold what fill writes. A regular file
// is replaced in one step when all is written, and left as it was on an error;
// a device or pipe is written to directly.
func writeFlagFile(flag, name string, fill func(io.Writer) error) error {
	if err := replaceFile(name, fill); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

func replaceFile(name string, fill func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeInPlace(name, fill)
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // replace what a link points to, not the link
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

// createBeside creates a new file in the directory of name, with the mode of
// name if it exists. os.CreateTemp would always make it private.
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
