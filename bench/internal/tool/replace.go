package tool

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Replace writes a file in one step: at any time the name has either the old or the new file.
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
