// Package outfile writes the files that a command is told to write.
package outfile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Write makes the file called name hold the output of fill. It replaces a regular file in one step
// when all is written, and leaves it as it was on an error. It writes to a device or pipe directly.
func Write(name string, fill func(io.Writer) error) error {
	if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() {
		if err == nil {
			return replace(name, info.Mode().Perm(), fill)
		}
		return replace(name, 0, fill)
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return fillAndClose(f, fill)
}

// WritePrivate makes the regular file called name hold the output of fill, as Write does. Only this
// user can read or write it.
func WritePrivate(name string, fill func(io.Writer) error) error { return replace(name, 0o600, fill) }

// replace replaces the file called name, or the target of the link of that name. The new one has a
// mode; 0 stands for that of a new file.
func replace(name string, mode os.FileMode, fill func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // replace the target of a link, not the link
	}
	temp, err := createBeside(name, mode)
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

// createBeside creates a new file in the directory of name, with a mode; 0 stands for that of a new
// file. os.CreateTemp would always make it private.
func createBeside(name string, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(fmt.Sprintf("%s.%016x.tmp", name, rand.Uint64()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, cmp.Or(mode&0o600, 0o666))
	var cause *os.PathError
	switch {
	case errors.As(err, &cause):
		return nil, fmt.Errorf("%s: %w", name, cause.Err) // not the name of the new file
	case err != nil || mode == 0:
		return f, err
	}
	if err := f.Chmod(mode); err != nil {
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
