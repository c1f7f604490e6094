package stream

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/seal"
	"github.com/schedgen/schedgen/runtime/wire"
)

const patience = 60 * time.Second

var testKey = bytes.Repeat([]byte("k"), seal.MinKey)

func signed(o *Options) { o.Key = testKey }

func encrypted(o *Options) { o.Key, o.Encrypt = testKey, true }

// pair returns two connected ranks, whose options may be edited.
func pair(t testing.TB, edits ...func(*Options)) (a, b *Transport) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var errA, errB error
	var wg sync.WaitGroup
	first, second := Options{Rank: 0, Size: 2, Listener: l}, Options{Rank: 1, Size: 2, Coordinator: l.Addr().String()}
	for _, edit := range edits {
		edit(&first)
		edit(&second)
	}
	wg.Go(func() { a, errA = Join(t.Context(), Config{Options: first}) })
	wg.Go(func() { b, errB = Join(t.Context(), Config{Options: second}) })
	wg.Wait()
	require.NoError(t, errA)
	require.NoError(t, errB)
	t.Cleanup(func() {
		a.Close(false, 0)
		b.Close(false, 0)
	})
	return a, b
}

// log is a sink that counts.
type log struct {
	wire.Nobody
	frames int
	how    wire.End // 0: the peer is there
	lost   error    // the reason, unless it has closed
}

func (l *log) Body(h *wire.Header) ([]byte, wire.Verdict) {
	return make([]byte, h.Len&0xFFFF), wire.Accept // short buffers for lengths that no test means
}
func (l *log) Arrived(*wire.Header, []byte) { l.frames++ }
func (l *log) Ended(_ int, how wire.End, err error) {
	l.how, l.lost = how, err
}

// until polls tr until cond holds.
func until(t *testing.T, tr *Transport, s wire.Sink, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); {
		if !tr.Poll(s) {
			tr.Wait(time.Millisecond)
		}
		require.True(t, time.Now().Before(end), "still waiting")
	}
}

// knock connects to tr's data port and sends bytes.
func knock(t *testing.T, tr *Transport, say ...[]byte) net.Conn {
	c, err := net.Dial("tcp", tr.peers[tr.rank].addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	for _, b := range say {
		_, err := c.Write(b)
		require.NoError(t, err)
	}
	return c
}

// greets returns the greeting of a process that shares tr's session.
func greets(tr *Transport, g greeting) []byte { return g.greetingTo(tr.rank, tr.session) }

func TestStrangersAreRejected(t *testing.T) {
	a, b := pair(t)
	id := a.ID()
	wrong := id
	wrong[3]++
	unproven := greets(a, greeting{id: id, rank: 1, size: 2}) // knows the identity, like every receiver of a multicast
	clear(unproven[recordLen:])
	for name, say := range map[string][]byte{
		"garbage":     []byte("GET / HTTP/1.0\r\nHost: schedgen\r\n\r\n"),
		"foreign":     greets(a, greeting{id: wrong, rank: 1, size: 2}),
		"size":        greets(a, greeting{id: id, rank: 1, size: 3}),
		"rank":        greets(a, greeting{id: id, rank: 2, size: 2}),
		"itself":      greets(a, greeting{id: id, rank: 0, size: 2}),
		"lane":        greets(a, greeting{id: id, rank: 1, size: 2, lane: wire.Lanes}),
		"not its own": greets(a, greeting{id: id, rank: 1, size: 2, lane: wire.LaneControl, comm: 1}),
		"turn":        greets(a, greeting{id: id, rank: 1, size: 2, turn: 255}),
		"no proof":    unproven,
		"not to us":   (&greeting{id: id, rank: 1, size: 2}).greetingTo(1, a.session),
		"later turn":  (&greeting{id: id, rank: 1, size: 2, turn: 256}).greetingTo(0, a.session),
		"frame":       make([]byte, greetingLen),
		"incomplete":  greets(a, greeting{id: id, rank: 1, size: 2})[:greetingLen-1],
		"nothing":     nil,
	} {
		before, s := a.Stats().Rejected, &log{}
		c := knock(t, a, say)
		if len(say) < greetingLen {
			require.NoError(t, c.Close())
		}
		until(t, a, s, func() bool { return a.Stats().Rejected == before+1 })
		require.NoError(t, s.lost, name)
	}
	requireWorks(t, a, b)
}

// requireWorks puts a frame from b to a.
func requireWorks(t *testing.T, a, b *Transport) {
	s := &log{}
	b.Put(0, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}, Body: []byte("well")})
	until(t, a, s, func() bool { b.Poll(wire.Nobody{}); return s.frames == 1 })
	require.NoError(t, s.lost)
}

// TestSecondConnection opens a second connection of a lane, like a process that knows the identity,
// or a broken rank: the first connection counts.
func TestSecondConnection(t *testing.T) {
	a, b := pair(t)
	requireWorks(t, a, b)
	knock(t, a, greets(a, greeting{id: a.ID(), rank: 1, size: 2}))
	until(t, a, &log{}, func() bool { return a.Stats().Rejected == 1 })
	requireWorks(t, a, b)
}

func TestSilentStrangersMakeRoom(t *testing.T) {
	a, b := pair(t)
	const most = 2*int(wire.Lanes) + spareStrangers
	for range most + 20 {
		knock(t, a)
	}
	until(t, a, &log{}, func() bool { return a.Stats().Rejected == 20 })
	require.Len(t, a.listener.guests, most)
	requireWorks(t, a, b)
}

// header returns an encoded header.
func header(h wire.Header) []byte {
	var r record
	encodeHeader(&r, &h)
	return r[:]
}

func TestNonsenseLosesTheRank(t *testing.T) {
	for want, say := range map[string][]byte{
		"kind 251 of":              header(wire.Header{Kind: kindBegin}),
		"it begins with 4745":      []byte("GET / HTTP/1.0\r\nHost: schedgen\r\n\r\n"),
		"2147483648 bytes":         header(wire.Header{Kind: wire.FrameSlot, Len: 1 << 31}),
		"1025 bytes":               header(wire.Header{Kind: wire.FrameProbe, Len: wire.MaxControl + 1}),
		"unknown kind":             header(wire.Header{Kind: 99}),
		"without a goodbye":        nil,
		"a buffer of 0 bytes":      header(wire.Header{Kind: wire.FrameSlot, Len: 1 << 30}),
		"closed the connection":    header(wire.Header{Kind: wire.FrameSlot, Len: 5000}),
		"connection without a goo": header(wire.Header{Kind: wire.FrameSlot, Len: 50})[:7],
	} {
		a, _ := pair(t)
		s := &log{}
		c := knock(t, a, greets(a, greeting{id: a.ID(), rank: 1, size: 2}), say)
		until(t, a, s, func() bool { return a.peers[1].in[0] != nil || s.lost != nil })
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		until(t, a, s, func() bool { return s.lost != nil })
		require.ErrorContains(t, s.lost, want)
		require.ErrorContains(t, s.lost, "rank 1")
		require.Empty(t, a.receiver.held)
	}
}

// TestNonsenseInReturn tests the traffic of the side that has not opened the connection: it may
// only begin its turn, or say goodbye.
func TestNonsenseInReturn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	say := func(kind wire.FrameKind, seq uint64) string { return string(header(wire.Header{Kind: kind, Seq: seq})) }
	for want, said := range map[string]string{
		"not a frame":                "this is nothing that a rank would say",
		"without a goodbye":          "short",
		"kind 1 of communicator 0":   say(wire.FrameSlot, 0),
		"turn 5 in place of 0":       say(kindBegin, maxHeirs+1),
		"kind 251 of communicator":   say(kindBegin, 0) + say(kindBegin, 1),
		"kind 2 of communicator 0":   say(kindBegin, 0) + say(kindEnd, 0) + say(wire.FrameJoined, 0),
		"kind 254 of communicator 0": say(kindBegin, 0) + say(kindEnd, 0) + say(kindEnd, 0),
		"from rank 1: it closed":     say(kindBegin, 0) + say(wire.FrameSlot, 0),
		"at 127":                     say(kindBegin, 0) + say(kindEnd, 0),
	} {
		a, _ := pair(t)
		a.peers[1].addr = l.Addr().String()
		a.Put(1, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}})
		c, err := l.Accept()
		require.NoError(t, err)
		_, err = c.Write([]byte(said))
		require.NoError(t, err)
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		s := &log{}
		until(t, a, s, func() bool { return s.lost != nil })
		require.ErrorContains(t, s.lost, want)
		require.ErrorContains(t, s.lost, "rank 1")
		c.Close()
	}
}

func TestRefusedDialLosesTheRank(t *testing.T) {
	a, b := pair(t)
	require.NoError(t, b.Close(true, 0))
	unsent := 1
	a.Put(1, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}, Unsent: &unsent})
	s := &log{}
	until(t, a, s, func() bool { return s.lost != nil })
	require.ErrorContains(t, s.lost, "connect to rank 1")
	require.Zero(t, unsent)
}

func TestFrameTooLarge(t *testing.T) {
	body, err := unix.Mmap(-1, 0, MaxBody+1, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Skipf("no such slice on this machine: %v", err)
	}
	defer unix.Munmap(body)
	a, _ := pair(t)
	unsent, s := 1, &log{}
	a.Put(1, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}, Body: body, Unsent: &unsent})
	require.Zero(t, unsent)
	a.Wait(-1) // must not wait: there is news
	a.Poll(s)
	require.ErrorContains(t, s.lost, "2147483648 bytes")
}
