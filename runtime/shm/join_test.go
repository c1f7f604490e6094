//go:build linux

package shm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/shm"
)

// named returns a name that no other test uses.
func named(t testing.TB) string {
	return fmt.Sprintf("test-%d-%s", os.Getpid(), filepath.Base(t.Name()))
}

// empty requires that no file of name is left in dir.
func empty(t testing.TB, dir, name string) {
	left, err := filepath.Glob(filepath.Join(dir, "*"+name+"*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func closeAll(t testing.TB, trs []*shm.Transport) {
	for _, tr := range trs {
		if tr != nil {
			require.NoError(t, tr.Close(true, time.Second))
		}
	}
}

// Successive communicators may have the same name, and each leaves no file.
func TestName(t *testing.T) {
	name := named(t)
	for range 20 {
		trs, errs := tryJoin(t, 4, func(_ int, c *shm.Config) { c.Name = name })
		for _, err := range errs {
			require.NoError(t, err)
		}
		empty(t, "/dev/shm", name)
		require.Equal(t, trs[0].ID(), trs[3].ID())
		closeAll(t, trs)
	}
}

func TestDir(t *testing.T) {
	dir, name := "/dev/shm/"+named(t), named(t)
	require.NoError(t, os.Mkdir(dir, 0o700))
	defer os.Remove(dir)
	trs, errs := tryJoin(t, 2, func(_ int, c *shm.Config) { c.Name, c.Dir = name, dir })
	require.NoError(t, errors.Join(errs...))
	empty(t, dir, name)
	closeAll(t, trs)
}

// A file of a process that died while it joined is replaced.
func TestStale(t *testing.T) {
	name := named(t)
	path := "/dev/shm/schedgen-" + name
	defer os.Remove(path)
	for what, text := range map[string]string{"no segment": "rubbish", "nothing": ""} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600), what)
		trs, errs := tryJoin(t, 3, func(_ int, c *shm.Config) { c.Name = name })
		require.NoError(t, errors.Join(errs...), what)
		closeAll(t, trs)
	}
	p := start(t, "absent", 0, func(c *child) { c.name = name })
	p.line("made")
	p.kill()
	require.FileExists(t, path)
	trs, errs := tryJoin(t, 3, func(_ int, c *shm.Config) { c.Name = name })
	require.NoError(t, errors.Join(errs...))
	empty(t, "/dev/shm", name)
	closeAll(t, trs)
}

// A file that others could write to is not trusted.
func TestForeignFile(t *testing.T) {
	name := named(t)
	path := "/dev/shm/schedgen-" + name
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o666))
	defer os.Remove(path)
	_, err := shm.Join(t.Context(), shm.Config{Rank: 1, Size: 2, Name: name})
	require.ErrorContains(t, err, "must be a regular file that only this user can access")
	_, err = shm.Join(t.Context(), shm.Config{Rank: 0, Size: 2, Name: name})
	require.ErrorContains(t, err, "must be a regular file that only this user can access")
}

// If the context of a Join ends, the error names the missing ranks, and no file is left.
func TestMissing(t *testing.T) {
	name := named(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := shm.Join(ctx, shm.Config{Rank: 0, Size: 2, Name: name})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "rank 1 has not come")
	_, err = shm.Join(ctx, shm.Config{Rank: 1, Size: 2, Name: name})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "rank 0 has not made /dev/shm/schedgen-"+name)
	empty(t, "/dev/shm", name)
}

// A rank that gives up ends the others' Join.
func TestGivenUp(t *testing.T) {
	f, err := shm.Create(3)
	require.NoError(t, err)
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = shm.Join(ctx, shm.Config{Rank: 2, Size: 3, File: f})
	require.ErrorIs(t, err, context.Canceled)
	_, err = shm.Join(t.Context(), shm.Config{Rank: 2, Size: 3, File: f})
	require.ErrorContains(t, err, "another process has joined as this rank")
	_, errs := tryJoin(t, 2, func(_ int, c *shm.Config) { c.Size, c.File = 3, f })
	for _, err := range errs {
		require.ErrorContains(t, err, " has given up")
	}
}

func TestBadConfig(t *testing.T) {
	f, err := shm.Create(2)
	require.NoError(t, err)
	defer f.Close()
	other, err := os.Open(os.Args[0])
	require.NoError(t, err)
	defer other.Close()
	for want, cfg := range map[string]shm.Config{
		"size 0 is not in":               {Name: "a"},
		"size 257 is not in":             {Size: 257, Name: "a"},
		"rank 2 is not in 0 … 1":         {Rank: 2, Size: 2, Name: "a"},
		"rank -1 is not in":              {Rank: -1, Size: 2, Name: "a"},
		"neither a file nor a name":      {Size: 2},
		"only one is allowed":            {Size: 2, File: f, Name: "a"},
		"at most 200 bytes and no slash": {Size: 2, Name: "a/b"},
		"a segment for 2 ranks, want 3":  {Size: 3, File: f},
		"not a segment of this version":  {Size: 2, File: other},
		"make a file in /nowhere: no su": {Size: 2, Name: "a", Dir: "/nowhere"},
	} {
		_, err := shm.Join(t.Context(), cfg)
		require.ErrorContains(t, err, want)
	}
	_, err = shm.Create(0)
	require.ErrorContains(t, err, "size 0 is not in 1 … 256")
}

// A file system that is too small gives an error, not a signal later.
func TestTooSmall(t *testing.T) {
	p, said := apart(t, "small")
	require.Contains(t, said, "no space left on device")
	p.end()
}
