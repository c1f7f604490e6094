package stream

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

// stage is a transport with connections to other hosts. Bytes that are written and not read at the
// other ends are under way.
type stage struct {
	*Transport
	t    *testing.T
	outs []*outbound
	ends map[int]int // descriptor -> descriptor of the other end
	time clock.Manual

	trip time.Duration // of all connections
}

func newStage(t *testing.T, peers int) *stage {
	s := &stage{Transport: &Transport{}, t: t, ends: map[int]int{}}
	s.sender.turns.clock = &s.time
	s.sender.turns.ask = func(fd int) int {
		n, err := unix.IoctlGetInt(s.ends[fd], unix.SIOCINQ)
		require.NoError(t, err)
		return n
	}
	s.sender.turns.unacked, s.sender.turns.trip = s.sender.turns.ask, func(int) time.Duration { return s.trip }
	for rank := range peers {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		require.NoError(t, err)
		t.Cleanup(func() { closeFD(fds[0]); closeFD(fds[1]) })
		s.ends[fds[0]] = fds[1]
		c := s.newConn()
		c.p, c.fd = &peer{rank: rank}, fds[0]
		s.outs = append(s.outs, &c.out)
	}
	return s
}

// put queues a frame with the given length on the wire.
func (s *stage) put(rank, bytes int) {
	f := wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}, Body: make([]byte, bytes-recordLen)}
	s.outs[rank].q.pushFrame(&f)
	s.mark(s.outs[rank])
}

// flying sends what may be sent and returns the bytes then under way, by rank.
func (s *stage) flying() (bytes []int) {
	s.flushAll(wire.Nobody{})
	for _, o := range s.outs {
		bytes = append(bytes, s.sender.turns.ask(o.fd))
	}
	return bytes
}

// arrive lets n bytes arrive at rank.
func (s *stage) arrive(rank, n int) {
	for n > 0 {
		got, err := unix.Read(s.ends[s.outs[rank].fd], make([]byte, n))
		require.NoError(s.t, err)
		n -= got
	}
}

func TestLongPutsGoInTurn(t *testing.T) {
	const k = 1 << 10
	s := newStage(t, 4)
	for rank := range 3 {
		s.put(rank, 40*k)
	}
	s.put(3, longWrite-1)
	require.Equal(t, []int{40 * k, 24 * k, 0, longWrite - 1}, s.flying(), "a short one does not wait")
	require.True(t, s.sender.turns.waiting.Load())
	require.Equal(t, turnPause, s.sender.turns.turnWait(-1))
	require.Equal(t, turnPause/2, s.sender.turns.turnWait(turnPause/2))

	s.arrive(0, 10*k)
	require.Equal(t, []int{30 * k, 34 * k, 0, longWrite - 1}, s.flying())
	s.put(0, 20*k)
	s.arrive(0, 30*k)
	require.Equal(t, []int{0, 40 * k, 24 * k, longWrite - 1}, s.flying(), "who comes back waits behind the others")
	s.arrive(1, 40*k)
	require.Equal(t, []int{20 * k, 0, 40 * k, longWrite - 1}, s.flying())
	require.Empty(t, s.sender.turns.queue)
	require.False(t, s.sender.turns.waiting.Load())
	require.Equal(t, time.Duration(-1), s.sender.turns.turnWait(-1))
}

// Puts within the host are not delayed.
func TestPutsThatNeedNoTurn(t *testing.T) {
	s := newStage(t, 3)
	s.put(0, turnBytes)
	require.Equal(t, []int{turnBytes, 0, 0}, s.flying())
	s.put(0, longWrite)
	s.outs[1].p.near = true
	s.put(1, 3*turnBytes/2)
	require.Equal(t, []int{turnBytes, 3 * turnBytes / 2, 0}, s.flying())
	s.put(2, longWrite)
	require.Zero(t, s.flying()[2])
}

// If nothing arrives at all, connections go on one after the other, and lost bytes no longer count.
func TestTurnsDoNotWaitForTheLost(t *testing.T) {
	s := newStage(t, 4)
	for rank := range 4 {
		s.put(rank, turnBytes)
	}
	require.Equal(t, []int{turnBytes, 0, 0, 0}, s.flying())
	s.time.Advance(turnPatience - 1)
	require.Equal(t, []int{turnBytes, 0, 0, 0}, s.flying())
	s.time.Advance(1)
	require.Equal(t, []int{turnBytes, turnBytes, 0, 0}, s.flying())
	require.Equal(t, []int{turnBytes, turnBytes, 0, 0}, s.flying())
	s.outs[0].dead, s.outs[1].dead, s.outs[2].dead = true, true, true
	require.Equal(t, turnBytes, s.flying()[3])
	require.False(t, s.sender.turns.waiting.Load())
}
