//go:build linux

package guests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// results keeps the files that commands leave, below one directory. Without a directory it keeps
// none.
type results struct {
	root *os.Root
}

// openResults opens dir, and removes files of guests of earlier runs.
func openResults(dir string, guests int) (*results, error) {
	if dir == "" {
		return &results{}, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	for g := range guests {
		if err := root.RemoveAll(guestName(g)); err != nil {
			return nil, errors.Join(fmt.Errorf("--out: %w", err), root.Close())
		}
	}
	return &results{root}, nil
}

// appendTo appends a piece to a guest's file. It refuses a name that leads out of the directory.
func (r *results) appendTo(guest int, name string, data []byte) (err error) {
	if r.root == nil {
		return nil
	}
	if !filepath.IsLocal(name) {
		return fmt.Errorf("guest%d: file %q: its name leads elsewhere", guest, name)
	}
	name = filepath.Join(guestName(guest), name)
	if err := r.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := r.root.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func (r *results) close() error {
	if r.root == nil {
		return nil
	}
	return r.root.Close()
}
