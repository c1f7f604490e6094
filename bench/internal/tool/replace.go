package tool

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Replace writes a file, of which there is the old or the new one at any time.
func Replace(name string, write func(io.Writer) error) error {
	part := name + ".part"
	f, err := os.Create(part)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", part, err)
	}
	return os.Rename(part, name)
}
