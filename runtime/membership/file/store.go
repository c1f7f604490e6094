package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/runtime/membership"
)

const (
	// keep is how many views remain besides the newest one, for members that are reading them.
	keep = 16
	// maxLooks is how often a missing newest view is looked for.
	maxLooks = 8
	// maxFile is the greatest size of a view's file in bytes: MaxMembers fit.
	maxFile = 8 << 20
)

func (m *Manager) viewFile(epoch uint32) string {
	return filepath.Join(m.cfg.Dir, fmt.Sprintf("view.%010d", epoch))
}

// newest returns the newest view, or a view of epoch 0 if there is none. While newest looks, so
// many views may come that the view it has found is removed.
func (m *Manager) newest() (v membership.View, err error) {
	for range maxLooks {
		var epochs []uint32
		if epochs, err = m.epochs(); err != nil || len(epochs) == 0 {
			return v, err
		}
		if v, err = m.read(epochs[len(epochs)-1]); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return v, err
}

// epochs returns the epochs of the existing views, ascending.
func (m *Manager) epochs() (epochs []uint32, err error) {
	entries, err := os.ReadDir(m.cfg.Dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		digits, is := strings.CutPrefix(e.Name(), "view.")
		if n, err := strconv.ParseUint(digits, 10, 32); is && err == nil {
			epochs = append(epochs, uint32(n))
		}
	}
	slices.Sort(epochs)
	return epochs, nil
}

// read returns the view of epoch.
func (m *Manager) read(epoch uint32) (membership.View, error) {
	f, err := os.Open(m.viewFile(epoch))
	if err != nil {
		return membership.View{}, err
	}
	defer f.Close()
	v, err := decode(io.LimitReader(f, maxFile))
	if err == nil && v.Epoch != epoch {
		err = fmt.Errorf("it has view %d", v.Epoch)
	}
	if err != nil {
		return membership.View{}, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return v, nil
}

func decode(r io.Reader) (v membership.View, err error) {
	if err := json.NewDecoder(r).Decode(&v); err != nil {
		return v, err
	}
	return v, v.Check()
}

// link makes v the view of its epoch. The error is os.ErrExist if the epoch has a view.
func (m *Manager) link(v membership.View) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	tmp, err := m.write(append(text, '\n'), (*os.File).Sync)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	return os.Link(tmp, m.viewFile(v.Epoch))
}

// replace replaces the content of the file at path by text, atomically.
func (m *Manager) replace(path string, text []byte) error {
	tmp, err := m.write(text, func(*os.File) error { return nil })
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return err
	}
	return nil
}

// write writes a new file, calls settle on it, and returns its name. A crash leaves a few bytes at
// most.
func (m *Manager) write(text []byte, settle func(*os.File) error) (name string, err error) {
	f, err := os.CreateTemp(m.cfg.Dir, "new.*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err == nil {
		err = settle(f) // before a name makes it visible
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
