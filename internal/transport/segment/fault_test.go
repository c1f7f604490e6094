//go:build linux

package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

// joinAll joins ranks at the same time and returns their errors. It closes the transports.
func joinAll(t *testing.T, configs ...Config) []error {
	errs := make([]error, len(configs))
	var wg sync.WaitGroup
	for i, cfg := range configs {
		wg.Go(func() {
			tr, err := Join(t.Context(), cfg)
			if errs[i] = err; err == nil {
				errs[i] = tr.Close(false, 0)
			}
		})
	}
	wg.Wait()
	return errs
}

// A rank that cannot map the segment that all have inherited says so to the others.
func TestFaultInTheSegment(t *testing.T) {
	f, err := Create(3)
	require.NoError(t, err)
	defer f.Close()
	errs := joinAll(t,
		Config{Options: Options{Rank: 0, Size: 3, File: f}}, Config{Options: Options{Rank: 1, Size: 3, File: f}},
		Config{Options: Options{Rank: 2, Size: 4, File: f}})
	require.ErrorContains(t, errs[2], "a segment for 3 ranks, want 4")
	for _, err := range errs[:2] {
		require.ErrorContains(t, err, "rank 2 has given up: ")
		require.ErrorContains(t, err, "a segment for 3 ranks, want 4")
	}
}

// A rank that has no segment to write into makes a link, which a rank finds while it looks for the
// segment. It stays for a while, and nothing is left of it.
func TestFaultByLink(t *testing.T) {
	c := new(clock.Manual)
	guilty := Config{Options: Options{Rank: 0, Size: 3, Name: "fault", Dir: t.TempDir(), Clock: c}}
	var wg sync.WaitGroup
	wg.Go(func() { tellByLink(&guilty, errors.New("no room")) })
	errs := joinAll(t,
		Config{Options: Options{Rank: 1, Size: 3, Name: "fault", Dir: guilty.Dir}}, Config{Options: Options{Rank: 2, Size: 3, Name: "fault", Dir: guilty.Dir}})
	for _, err := range errs {
		require.ErrorContains(t, err, "rank 0 has given up: no room")
	}
	c.Advance(linkTime)
	wg.Wait()
	left, err := os.ReadDir(guilty.Dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// The link of a process that has died says nothing, and is removed.
func TestStaleLink(t *testing.T) {
	cfg := Config{Options: Options{Size: 1, Name: "fault", Dir: t.TempDir()}}
	require.NoError(t, os.Symlink(fmt.Sprintf("%d 1 0 no room", os.Getpid()), filepath.Join(cfg.Dir, "schedgen-fault.fault")))
	require.NoError(t, errors.Join(joinAll(t, cfg)...))
	left, err := os.ReadDir(cfg.Dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// If the file system is full, all ranks hear that.
func TestFullFileSystem(t *testing.T) {
	heavy.Needs(t, heavy.Namespaces)
	if os.Getuid() != 0 {
		t.Skip("only root mounts a file system")
	}
	dir := t.TempDir()
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"))
	defer func() { require.NoError(t, unix.Unmount(dir, 0)) }()
	var all []Config
	for rank := range 4 {
		all = append(all, Config{Options: Options{Rank: rank, Size: 4, Name: "fault", Dir: dir}})
	}
	errs := joinAll(t, all...)
	require.ErrorIs(t, errs[0], unix.ENOSPC)
	for _, err := range errs[1:] {
		require.ErrorContains(t, err, "rank 0 has given up: ")
		require.ErrorContains(t, err, "no space left on device")
	}
}
