//go:build linux

package shm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/shm"
)

// apart starts a child with mounts of its own, and returns its first line. It skips the test if the
// system does not allow that.
func apart(t *testing.T, role string) (c *child, said string) {
	probe := exec.Command("true")
	probe.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if err := probe.Run(); err != nil {
		t.Skipf("no mounts of its own: %v", err)
	}
	c = start(t, role, 0, func(*child) {})
	if said = c.line(""); strings.HasPrefix(said, cannotMount) {
		t.Skip(said)
	}
	return c, said
}

// If /dev/shm is full, a Dup fails at all ranks with the same rank and reason, however many of them
// had room. An operation of a communicator that needs more room fails at all ranks, and blames a rank
// that had none.
func TestFull(t *testing.T) {
	p, said := apart(t, "full")
	require.Equal(t, "done\n", said)
	p.end()
}

const fullSize = 3

// beFull is a job of three ranks that run out of room.
func beFull(ctx context.Context) error {
	if err := mountShm("64m"); err != nil {
		fmt.Println(cannotMount, err)
		return nil
	}
	var comms [fullSize]*runtime.Comm
	err := atAll(func(rank int) error {
		tr, err := shm.Join(ctx, shm.Config{Rank: rank, Size: fullSize, Name: "full"})
		if err == nil {
			comms[rank], err = runtime.Join(ctx, runtime.Config{Transport: tr})
		}
		return err
	})
	if err != nil {
		return err
	}
	fill, err := os.Create("/dev/shm/fill")
	if err != nil {
		return err
	}
	window := int64(0)           // bytes
	for made := range fullSize { // ranks keep the memory of windows that they have made
		if err := leaveRoom(fill, int64(min(made, 1))*window); err != nil {
			return err
		}
		var said [fullSize]string
		err := atAll(func(rank int) error {
			_, err := comms[rank].Dup(ctx)
			var of *runtime.RankError
			if !errors.As(err, &of) || !errors.Is(err, runtime.ErrRefused) {
				return fmt.Errorf("with %d windows: %w", made, err)
			}
			said[rank] = fmt.Sprint(of.Rank, " ", of)
			return comms[rank].Barrier(ctx)
		})
		if err != nil {
			return err
		}
		if said[0] != said[1] || said[0] != said[2] || !strings.HasSuffix(said[0], unix.ENOSPC.Error()) {
			return fmt.Errorf("with %d windows: %q", made, said)
		}
		if _, err := fmt.Sscanf(said[0], "0 rank 0: "+runtime.ErrRefused.Error()+": shm: %d KiB", &window); made == 0 && err != nil {
			return fmt.Errorf("%q: %w", said[0], err)
		} else if made == 0 {
			window <<= 10
		}
	}
	if err := fill.Truncate(0); err != nil {
		return err
	}
	var twins [fullSize]*runtime.Comm
	err = atAll(func(rank int) (err error) {
		twins[rank], err = comms[rank].Dup(ctx)
		return err
	})
	if err == nil {
		err = leaveRoom(fill, 0)
	}
	if err != nil {
		return err
	}
	err = atAll(func(rank int) error {
		_, err := twins[rank].Dup(ctx)
		var of *runtime.RankError
		if !errors.As(err, &of) || !strings.Contains(err.Error(), unix.ENOSPC.Error()) || errors.Is(err, runtime.ErrPeerLost) {
			return fmt.Errorf("without room for lanes: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Println("done")
	return atAll(func(rank int) error { return errors.Join(twins[rank].Close(), comms[rank].Close()) })
}

// atAll runs f at all ranks.
func atAll(f func(rank int) error) error {
	var errs [fullSize]error
	var wg sync.WaitGroup
	for rank := range errs {
		wg.Go(func() {
			if err := f(rank); err != nil {
				errs[rank] = fmt.Errorf("rank %d: %w", rank, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// leaveRoom extends f, or cuts it, so that its file system has n bytes left.
func leaveRoom(f *os.File, n int64) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		return err
	}
	return unix.Fallocate(int(f.Fd()), 0, 0, int64(s.Bfree)*s.Bsize-n)
}
