package unpack_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast/pack"
	"github.com/schedgen/schedgen/internal/cast/unpack"
)

// faulty is a directory in which one call fails, counted over the directory and everything below
// it.
type faulty struct {
	unpack.Dir
	left *atomic.Int64
}

var errFault = errors.New("no space left on device")

func (f faulty) fault() error {
	if f.left.Add(-1) == 0 {
		return errFault
	}
	return nil
}

func (f faulty) Mkdir(name string, perm fs.FileMode) error {
	if err := f.fault(); err != nil {
		return err
	}
	return f.Dir.Mkdir(name, perm)
}

func (f faulty) Enter(name string) (unpack.Dir, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	d, err := f.Dir.Enter(name)
	return faulty{d, f.left}, err
}

func (f faulty) Create(name string) (unpack.File, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	file, err := f.Dir.Create(name)
	return faultyFile{file, f}, err
}

func (f faulty) Symlink(target, name string) error {
	if err := f.fault(); err != nil {
		return err
	}
	return f.Dir.Symlink(target, name)
}

func (f faulty) Rename(from, to string) error {
	if err := f.fault(); err != nil {
		return err
	}
	return f.Dir.Rename(from, to)
}

func (f faulty) Chtimes(name string, when time.Time) error {
	if err := f.fault(); err != nil {
		return err
	}
	return f.Dir.Chtimes(name, when)
}

func (f faulty) Sync() error {
	if err := f.fault(); err != nil {
		return err
	}
	return f.Dir.Sync()
}

type faultyFile struct {
	unpack.File
	dir faulty
}

func (f faultyFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.dir.fault(); err != nil {
		n, _ := f.File.WriteAt(b[:len(b)/2], at)
		return n, err
	}
	return f.File.WriteAt(b, at)
}

func (f faultyFile) Truncate(size int64) error {
	if err := f.dir.fault(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f faultyFile) Reserve(size int64) error {
	if err := f.dir.fault(); err != nil {
		return err
	}
	return f.File.Reserve(size)
}

func (f faultyFile) Sync() error {
	if err := f.dir.fault(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f faultyFile) Close() error {
	err := f.File.Close()
	if fault := f.dir.fault(); fault != nil {
		return fault
	}
	return err
}

// If any call of the system fails, Unpack returns its error, and leaves only complete files.
func TestFaults(t *testing.T) {
	from := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(from, "d"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "d", "large"), bytes.Repeat([]byte("0123456"), 300_000), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(from, "empty"), nil, 0o644))
	require.NoError(t, os.Truncate(filepath.Join(from, "empty"), 0))
	require.NoError(t, os.WriteFile(filepath.Join(from, "sparse"), []byte("x"), 0o644))
	require.NoError(t, os.Truncate(filepath.Join(from, "sparse"), 1<<20))
	require.NoError(t, os.Symlink("empty", filepath.Join(from, "link")))
	var b bytes.Buffer
	require.NoError(t, pack.At(from+"/").Tree(t.Context(), &b, nil))
	want := look(t, from)
	for fault := 1; ; fault++ {
		to := t.TempDir()
		d, err := unpack.OpenDir(to)
		require.NoError(t, err)
		var left atomic.Int64
		left.Store(int64(fault))
		_, err = unpack.Unpack(t.Context(), bytes.NewReader(b.Bytes()), unpack.Target{Dir: faulty{d, &left}})
		require.NoError(t, d.Close())
		for path, s := range look(t, to) {
			require.Contains(t, want, path, "fault %d", fault)
			require.Equal(t, want[path].text, s.text, "fault %d: %s", fault, path)
		}
		if left.Load() > 0 {
			require.NoError(t, err)
			require.Greater(t, fault, 20, "faults were tried")
			return
		}
		require.ErrorIs(t, err, errFault, "fault %d", fault)
	}
}
