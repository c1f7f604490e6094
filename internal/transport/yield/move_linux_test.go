package yield

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestMoveLeavesTheThreadFree(t *testing.T) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	var before, after unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &before))
	for range 10 {
		move()
	}
	require.NoError(t, unix.SchedGetaffinity(0, &after))
	require.Equal(t, before, after)
}

func TestMoveOnOneCore(t *testing.T) {
	goruntime.LockOSThread() // not unlocked: the thread ends with the goroutine
	var all, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &all))
	for core := range 64 * len(all) {
		if all.IsSet(core) {
			one.Set(core)
			break
		}
	}
	require.NoError(t, unix.SchedSetaffinity(0, &one))
	move()
	var after unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &after))
	require.Equal(t, one, after)
}
