package unpack

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// reserve does not fill memory with zeros, and still notices at once that there is too little
// space.
func TestReserveInMemory(t *testing.T) {
	const shared = "/dev/shm"
	var fs unix.Statfs_t
	if err := unix.Statfs(shared, &fs); err != nil || int64(fs.Type) != unix.TMPFS_MAGIC {
		t.Skip("no memory is mounted at " + shared)
	}
	f, err := os.CreateTemp(shared, "schedgen-test-")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	require.NoError(t, os.Remove(f.Name()))
	require.NoError(t, reserve(f, 1<<16))
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(int(f.Fd()), &st))
	require.Zero(t, st.Blocks)
	if fs.Blocks > 0 {
		require.ErrorIs(t, reserve(f, 1<<62), unix.ENOSPC)
	}
}
