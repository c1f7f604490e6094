package remote

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// greeting is the first line of the program that was started.
const greeting = "schedgen-remote runs"

// packedName is the file in a copy's directory from which the copy was unpacked.
const packedName = "packed"

// Greet is the first call of the program on the host. out is its standard output, and dir its last
// argument. Greet removes the program's copy from the disk, while the process still runs, and
// prints that the program runs. packed is the file from which the copy was unpacked, for
// ServeCopies, or nil if there is none. The caller closes it.
func Greet(out io.Writer, dir string) (packed *os.File, err error) {
	if dir != "" {
		if packed, err = leave(dir); err != nil {
			return nil, err
		}
	}
	if _, err = fmt.Fprintln(out, greeting); err != nil && packed != nil {
		return nil, errors.Join(err, packed.Close())
	}
	return packed, err
}

// leave removes the program's files and their directory. The shell that waits for the program
// removes the rest, such as a file that NFS keeps while it runs.
func leave(dir string) (packed *os.File, err error) {
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the copy: %w", err)
	}
	same, err := sameFile(filepath.Dir(own), dir)
	if err != nil {
		return nil, fmt.Errorf("find the copy: %w", err)
	}
	if !same {
		return nil, fmt.Errorf("the copy is %s and not in %s", own, dir)
	}
	packed, err = os.Open(filepath.Join(dir, packedName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the packed copy: %w", err)
	}
	_ = os.Remove(filepath.Join(dir, packedName))
	_ = os.Remove(own)
	_ = os.Remove(dir)
	if err != nil {
		return nil, nil // the host cannot unpack, so it got the unpacked program
	}
	return packed, nil
}

// sameFile reports whether two paths lead to the same file.
func sameFile(a, b string) (bool, error) {
	one, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other), err
}
