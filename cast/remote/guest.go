package remote

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// greeting is the first line of the program that was started.
const greeting = "schedgen-remote runs"

// Greet is for the program on the host to call first: with its standard output, and its last argument. It removes the copy that
// the program is, whose process goes on without a name, and says that the program runs.
func Greet(out io.Writer, dir string) error {
	if dir != "" {
		if err := leave(dir); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(out, greeting)
	return err
}

// leave removes the program's own file and the directory that was made for it. The shell that waits for the program
// removes what is left, such as a file that NFS keeps for as long as it is run.
func leave(dir string) error {
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the copy: %w", err)
	}
	same, err := sameFile(filepath.Dir(own), dir)
	if err != nil {
		return fmt.Errorf("find the copy: %w", err)
	}
	if !same {
		return fmt.Errorf("the copy is %s and not in %s", own, dir)
	}
	_ = os.Remove(own)
	_ = os.Remove(dir)
	return nil
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
