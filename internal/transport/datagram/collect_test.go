package datagram

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/reactor"
)

// While datagrams arrive the socket is not watched, and Wait is short. The socket is watched again
// after a Wait without datagrams.
func TestCollecting(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	require.NoError(t, err)
	for _, fd := range fds {
		t.Cleanup(func() { closeFD(fd) })
	}
	r, err := reactor.New()
	require.NoError(t, err)
	t.Cleanup(r.Close)
	told := 0
	a := &arrival{collect: collect{limit: time.Millisecond}, watch: r.Descriptor(fds[0], reactor.Func(func(_, _ bool) { told++ }))}
	watched := func() bool {
		told = 0
		_, err := r.Serve(nil)
		require.NoError(t, err)
		return told > 0
	}
	require.NoError(t, a.watch.Modify(true, false))
	sendRaw(t, fds[1], []byte("x"))
	require.True(t, watched())
	require.EqualValues(t, -1, a.collect.shorten(-1))

	a.collecting(true)
	require.False(t, watched())
	require.Equal(t, time.Millisecond, a.collect.shorten(-1))
	require.Equal(t, time.Millisecond, a.collect.shorten(time.Second))
	require.Zero(t, a.collect.shorten(0))

	a.collecting(false)
	require.False(t, watched(), "there was no time for any to come")
	a.collect.slept.Store(true)
	a.collecting(true)
	require.False(t, watched())
	a.collect.slept.Store(true)
	a.collecting(false)
	require.True(t, watched())
	require.EqualValues(t, -1, a.collect.shorten(-1))
}
