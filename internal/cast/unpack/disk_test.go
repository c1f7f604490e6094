package unpack_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast/pack"
	"github.com/schedgen/schedgen/internal/cast/unpack"
)

// gathering is a disk that completes syncs once there are want of them.
type gathering struct {
	unpack.Dir
	g *gathered
}

type gathered struct {
	mu    sync.Mutex
	files int           // syncs begun
	want  int           // syncs to wait for
	there chan struct{} // closed when files reaches want
}

func (d gathering) Enter(name string) (unpack.Dir, error) {
	in, err := d.Dir.Enter(name)
	return gathering{in, d.g}, err
}

func (d gathering) Create(name string) (unpack.File, error) {
	f, err := d.Dir.Create(name)
	return gatheringFile{f, d.g}, err
}

type gatheringFile struct {
	unpack.File
	g *gathered
}

var errAlone = errors.New("no other file has come")

func (f gatheringFile) Sync() error {
	f.g.mu.Lock()
	if f.g.files++; f.g.files == f.g.want {
		close(f.g.there)
	}
	f.g.mu.Unlock()
	select {
	case <-f.g.there:
		return f.File.Sync()
	case <-time.After(time.Minute):
		return errAlone
	}
}

// Files of several directories are synced side by side. Each directory gets its time after its
// files.
func TestSideBySide(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	const files = 70
	old := time.Unix(1_000_000_000, 0)
	for i := range files {
		dir := filepath.Join(from, fmt.Sprint("d", i/2))
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte{byte(i)}, 0o644))
		require.NoError(t, os.Chtimes(dir, old, old))
	}
	var b bytes.Buffer
	require.NoError(t, pack.At(from+"/").Tree(t.Context(), &b, nil))
	d, err := unpack.OpenDir(to)
	require.NoError(t, err)
	defer d.Close()
	_, err = unpack.Unpack(t.Context(), &b, unpack.Target{Dir: gathering{d, &gathered{want: 10, there: make(chan struct{})}}})
	require.NoError(t, err)
	require.Equal(t, look(t, from), look(t, to))
}
