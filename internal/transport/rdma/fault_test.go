package rdma

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// ends is a sink that records how ranks have ended.
type ends struct {
	gulp
	how map[int]wire.End
	why map[int]error
}

func newEnds() *ends { return &ends{how: map[int]wire.End{}, why: map[int]error{}} }

func (e *ends) Ended(rank int, how wire.End, err error) { e.how[rank], e.why[rank] = how, err }

// joined returns size ranks on their own fabric, each connected with each other.
func joined(t *testing.T, size int, edit func(rank int, n *Fabric, c *Config)) (*Fabric, []*Transport) {
	n, trs := apartFrom(t, size, edit)
	for _, tr := range trs {
		for rank := range size {
			tr.Open(rank)
		}
	}
	until(t, trs, newEnds(), func() bool {
		return !slices.ContainsFunc(trs, func(tr *Transport) bool { return tr.way.opening > 0 || len(tr.begun) < size-1 })
	})
	return n, trs
}

// until polls the ranks until so holds.
func until(t *testing.T, trs []*Transport, s wire.Sink, so func() bool) {
	require.Eventually(t, func() bool {
		for range servePolls {
			for _, tr := range trs {
				tr.Poll(s)
			}
		}
		return so()
	}, patience, time.Millisecond)
}

// apartFrom returns size ranks on their own fabric that are not connected.
func apartFrom(t *testing.T, size int, edit func(rank int, n *Fabric, c *Config)) (*Fabric, []*Transport) {
	n := NewFabric()
	trs, errs := JoinAll(t, size, func(rank int, c *Config) {
		c.Open = n.Open(1024, true)
		if edit != nil {
			edit(rank, n, c)
		}
	})
	require.NoError(t, errors.Join(errs...))
	for _, tr := range trs {
		t.Cleanup(func() { tr.Close(false, 0) })
	}
	return n, trs
}

func slot(seq uint64, body []byte) *wire.Frame {
	return &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Seq: seq, Len: len(body)}, Body: body}
}

// A peer that writes something other than a message is ended, and no other.
func TestNonsense(t *testing.T) {
	_, trs := joined(t, 3, nil)
	p := &trs[1].peers[0]
	copy(p.link.region.Memory[trs[1].slot(p):], "hello, is anybody there?")
	place := uint64(p.credit.sent % uint32(trs[1].plan.receives))
	trs[1].spend(p, trs[1].slot(p), Work{
		Len: 24, Immediate: p.credit.word(false), Remote: p.link.ring.base + place*uint64(trs[1].plan.message), Key: p.link.ring.key,
	})
	trs[1].hand(nil)
	s := newEnds()
	trs[2].Put(0, slot(1, []byte("x")))
	trs[2].Poll(&gulp{})
	for range 3 {
		trs[0].Poll(s)
	}
	require.Equal(t, map[int]wire.End{1: wire.Broken}, s.how)
	require.ErrorIs(t, s.why[1], errNoMessage)
	require.Equal(t, 1, s.got)
}

// A flag that allows more messages than there are buffers ends its peer too. The content of its
// line is for the sink's user to judge.
func TestNonsenseByFlag(t *testing.T) {
	_, trs := joined(t, 3, nil)
	trs[2].Flag(0, 3, wire.Flag{Seq: 1, From: 77})
	trs[2].Poll(&gulp{})
	trs[1].peers[0].credit.posted += 100
	trs[1].Flag(0, 3, wire.Flag{Seq: 1 << 47, From: 1})
	trs[1].Poll(&gulp{})
	s := newEnds()
	for range 4 {
		trs[0].Poll(s)
	}
	require.Equal(t, map[int]wire.End{1: wire.Broken}, s.how)
	require.ErrorIs(t, s.why[1], errNoMessage)
	f, whole := trs[0].Window(0)[3].Sealed()
	require.True(t, whole)
	require.Equal(t, wire.Flag{Seq: 1 << 47, From: 1}, f)
}

// Flags wait for buffers of a rank that does not poll, at most one for each line, and in order. A
// rank that closes before they have gone does not close in good order.
func TestFlagsWait(t *testing.T) {
	n, trs := joined(t, 3, nil)
	for i := range 10 * wire.FlagLines {
		trs[0].Flag(1, i%wire.FlagLines, wire.Flag{Seq: uint64(1 + i)})
		if i%100 == 99 {
			trs[0].Poll(&gulp{})
		}
	}
	p := &trs[0].peers[1]
	require.LessOrEqual(t, len(p.flags), wire.FlagLines)
	require.Equal(t, reserved, p.credit.left())
	require.Zero(t, n.Starved)
	for range 10 * wire.FlagLines {
		trs[1].Poll(&gulp{})
		trs[0].Poll(&gulp{})
	}
	for i := range wire.FlagLines {
		require.Equal(t, uint64(1+9*wire.FlagLines+i), trs[1].Window(1)[i].Seq())
	}
	require.Empty(t, p.flags)
	for i := range wire.FlagLines {
		trs[0].Flag(2, i, wire.Flag{Seq: 1})
	}
	require.ErrorContains(t, trs[0].Close(true, 10*time.Millisecond), "not everything could be sent to rank 2 in time")
	require.Zero(t, n.Starved)
}

// If a queue pair takes no more works, its peer is lost, with the system's error text.
func TestRefusedWork(t *testing.T) {
	_, trs := joined(t, 2, nil)
	why := errors.New("cannot allocate memory")
	trs[0].adapter.(*port).refuse = why
	s, unsent := newEnds(), 1
	f := slot(1, nil)
	f.Unsent = &unsent
	trs[0].Put(1, f)
	for range 3 {
		trs[0].Poll(s)
	}
	require.Equal(t, wire.Broken, s.how[1])
	require.ErrorIs(t, s.why[1], why)
	require.Zero(t, unsent)
	trs[0].adapter.(*port).refuse = nil
}

// A rank that is gone without a goodbye is noticed by a rank that has nothing to send to it.
func TestPulse(t *testing.T) {
	now := new(clock.Manual)
	n, trs := joined(t, 3, func(_ int, _ *Fabric, c *Config) { c.TCP.Clock = now })
	s := newEnds()
	gone := trs[2].adapter.(*port)
	n.mu.Lock()
	for _, q := range gone.queues[:2] {
		delete(n.reach, q.number)
	}
	n.mu.Unlock()
	poll := func() {
		for range idlePolls + 2 {
			trs[0].Poll(s)
		}
	}
	poll()
	require.Empty(t, s.how)
	now.Advance(pulseEvery)
	poll()
	require.Equal(t, map[int]wire.End{2: wire.Broken}, s.how)
	require.ErrorIs(t, s.why[2], errNoAnswer)
	now.Advance(10 * pulseEvery)
	poll()
	require.Len(t, s.how, 1)
}

// A rank that could not send all of its puts does not close in good order.
func TestLate(t *testing.T) {
	_, trs := joined(t, 2, nil)
	s := newEnds()
	s.hold = true
	for i := range 100 {
		trs[0].Put(1, slot(uint64(i), make([]byte, laneWindow/2)))
	}
	for range 10 {
		trs[0].Poll(&gulp{})
		trs[1].Poll(s)
	}
	require.ErrorContains(t, trs[0].Close(true, 10*time.Millisecond), "not everything could be sent to rank 1 in time")
	for range 10 {
		trs[1].Poll(s)
	}
	require.Equal(t, wire.Broken, s.how[0])
	require.ErrorIs(t, s.why[0], errCrashed)
}

// Datagrams are accepted only from the queue pair and the address of their sender.
func TestForgedDatagrams(t *testing.T) {
	n, trs := joined(t, 3, nil)
	cast := func(id [16]byte, from int) wire.Stats {
		var b [fragment.HeadLen]byte
		mark := fragment.MarkOf(id)
		fragment.Encode(&b, &mark, &wire.Header{Kind: wire.FrameSlot}, from, 0, 0, nil)
		at := trs[1].plan.gramSend(0)
		copy(trs[1].own.Memory[at:], b[:])
		trs[1].works = append(trs[1].works, Work{
			ID: workID(idGramSend, 0, 0), At: trs[1].own.Base + uint64(at), Local: trs[1].own.Local, Len: fragment.HeadLen, To: Everybody, Op: SendGram,
		})
		trs[1].hand(nil)
		trs[0].Poll(&gulp{})
		return trs[0].Stats()
	}
	other := trs[0].ID()
	other[3]++
	require.Equal(t, uint64(1), cast(trs[0].ID(), 1).GotDatagrams)
	require.Equal(t, uint64(1), cast(trs[0].ID(), 2).Forged)
	require.Equal(t, uint64(1), cast(other, 1).Foreign)
	n.mute = true
	require.Equal(t, uint64(2), cast(trs[0].ID(), 1).Forged)
	require.Equal(t, uint64(1), trs[0].Stats().GotDatagrams)
}

// The sender's address is at another offset in a header of InfiniBand than in a header of IPv4.
func TestSource(t *testing.T) {
	b := make([]byte, GRHLen)
	far, near := source{gid: [16]byte{0: 0xFE, 1: 0x80, 15: 9}}, source{gid: [16]byte{10: 0xFF, 11: 0xFF, 12: 10, 15: 9}}
	copy(b[8:], far.gid[:])
	require.True(t, far.sent(b))
	copy(b[32:], near.gid[12:])
	require.True(t, near.sent(b))
	b[35]++
	require.False(t, near.sent(b))
	b[8]++
	require.False(t, far.sent(b))
}

// Adapters without multicast do not promise it.
func TestWithoutMulticast(t *testing.T) {
	_, trs := joined(t, 2, func(_ int, n *Fabric, c *Config) { c.Open = n.Open(2048, false) })
	require.False(t, trs[0].Caps().Multicast || trs[0].Caps().Direct)
	unsent := 2
	f := slot(1, nil)
	f.Unsent = &unsent
	trs[0].Mcast(f)
	trs[0].Datagram(1, f)
	require.Zero(t, unsent)
}

func TestMixedLinks(t *testing.T) {
	n := NewFabric()
	_, errs := JoinAll(t, 2, func(rank int, c *Config) { c.Open = n.Open(1024, rank == 0) })
	for _, err := range errs {
		require.ErrorContains(t, err, ErrLinks.Error())
	}
}

// Two ranks that send endlessly and poll at random times never wait for each other, and every
// message finds a buffer.
func TestCreditsNeverRunDry(t *testing.T) {
	n, trs := joined(t, 2, nil)
	sinks := []*ends{newEnds(), newEnds()}
	const frames = 3000
	sent := 0
	for turn := uint32(1); sinks[0].got < frames || sinks[1].got < frames; turn = turn*1664525 + 1013904223 {
		if sent < frames {
			trs[0].Put(1, slot(uint64(sent), make([]byte, turn>>20)))
			trs[1].Put(0, slot(uint64(sent), make([]byte, turn>>19&0xFFF)))
			trs[turn>>16&1].Flag(int(turn>>16&1^1), int(turn>>17)%wire.FlagLines, wire.Flag{Seq: uint64(sent + 1)})
			sent++
		}
		for who := range trs {
			for range turn >> (8 + 4*who) & 3 {
				trs[who].Poll(sinks[who])
			}
		}
	}
	require.Zero(t, n.Starved)
	require.Empty(t, sinks[0].how)
}
