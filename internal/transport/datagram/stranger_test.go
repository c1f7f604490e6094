package datagram

import (
	"context"
	"math"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

const patience = 60 * time.Second

// joined returns connected ranks on loopback.
func joined(t *testing.T, size int, base Config) []*Transport {
	return joinedEach(t, size, func(_ int, c *Config) { *c = base })
}

// joinedEach returns connected ranks on loopback, with a configuration for each rank.
func joinedEach(t *testing.T, size int, edit func(rank int, c *Config)) []*Transport {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	trs, errs := make([]*Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		var cfg Config
		edit(rank, &cfg)
		cfg.Family = 4
		cfg.TCP.Rank, cfg.TCP.Size, cfg.TCP.Coordinator = rank, size, l.Addr().String()
		if rank == 0 {
			cfg.TCP.Listener = l
		}
		wg.Go(func() { trs[rank], errs[rank] = Join(ctx, cfg) })
	}
	wg.Wait()
	for rank, tr := range trs {
		require.NoError(t, errs[rank])
		t.Cleanup(func() { tr.Close(false, 0) })
	}
	return trs
}

// tally is a sink that counts.
type tally struct {
	hold      bool
	fragments int
	seqs      []uint64
}

func (c *tally) Body(*wire.Header) ([]byte, wire.Verdict) { return nil, wire.Drop }
func (c *tally) Arrived(*wire.Header, []byte)             {}
func (c *tally) Ended(int, wire.End, error)               {}
func (c *tally) Fragment(h *wire.Header, _ int, _ []byte) wire.Verdict {
	if c.hold {
		return wire.Hold
	}
	c.fragments++
	c.seqs = append(c.seqs, h.Seq)
	return wire.Accept
}

func until(t *testing.T, tr *Transport, s wire.Sink, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); {
		if !tr.Poll(s) {
			tr.Wait(time.Millisecond)
		}
		require.True(t, time.Now().Before(end), "still waiting")
	}
}

// outsider sends to the group from its own socket.
func outsider(t *testing.T, group netip.AddrPort) int {
	lo, err := net.InterfaceByName("lo")
	require.NoError(t, err)
	at := &endpoint{lo, 4, netip.MustParseAddr("127.0.0.1")}
	fd, _, err := openSender(at, 1)
	require.NoError(t, err)
	t.Cleanup(func() { closeFD(fd) })
	require.NoError(t, connectTo(fd, group, lo))
	return fd
}

func TestStrangersInTheGroup(t *testing.T) {
	trs := joined(t, 2, Config{})
	tr, s := trs[0], &tally{}
	fd := outsider(t, tr.target)
	id, other := tr.ID(), tr.ID()
	other[0]++
	h := wire.Header{Kind: wire.FrameSlot, Seq: 1}
	good := whole(id, h, 1, 5, 0, []byte("hello"))
	type count func(wire.Stats) uint64
	foreign := func(s wire.Stats) uint64 { return s.Foreign }
	torn := func(s wire.Stats) uint64 { return s.Torn }
	forged := func(s wire.Stats) uint64 { return s.Forged }
	for _, c := range []struct {
		name string
		b    []byte
		n    count
	}{
		{"empty", nil, foreign},
		{"garbage", []byte("hello, is anybody there?"), foreign},
		{"another communicator", whole(other, h, 1, 5, 0, []byte("hello")), foreign},
		{"half a header", good[:30], torn},
		{"cut", good[:len(good)-1], torn},
		{"longer than any", append(good, make([]byte, 65000)...), torn},
		{"flipped", append(append([]byte(nil), good[:len(good)-1]...), 'x'), torn},
		{"of nobody", whole(id, h, 2, 5, 0, []byte("hello")), torn},
		{"huge", whole(id, h, 1, math.MaxUint32, 0, []byte("hello")), torn},
		{"not its sender", good, forged},
		{"in our name", whole(id, h, 0, 5, 0, []byte("hello")), forged},
	} {
		before := c.n(tr.Stats())
		sendRaw(t, fd, c.b)
		until(t, tr, s, func() bool { return c.n(tr.Stats()) == before+1 })
		require.Zero(t, s.fragments, c.name)
	}
	trs[1].Mcast(&wire.Frame{Header: h, Body: []byte("hello")})
	until(t, tr, s, func() bool { trs[1].Poll(s); return s.fragments == 1 })
	require.Equal(t, uint64(1), tr.Stats().GotDatagrams)
}

// TestStrangersAtTheDoor sends to the socket for datagrams to one rank, which accepts only senders
// of the same kind.
func TestStrangersAtTheDoor(t *testing.T) {
	trs := joined(t, 2, Config{})
	tr, s := trs[0], &tally{}
	h := wire.Header{Kind: wire.FrameSlot, Seq: 1}
	good := whole(tr.ID(), h, 1, 5, 0, []byte("hello"))
	door := tr.arrival.own.sources[0]
	for _, from := range []netip.AddrPort{door, tr.target} {
		fd := outsider(t, from)
		before := tr.Stats().Forged
		sendRaw(t, fd, good)
		until(t, tr, s, func() bool { return tr.Stats().Forged == before+1 })
	}
	trs[1].Datagram(0, &wire.Frame{Header: h, Body: []byte("hello")})
	until(t, tr, s, func() bool { trs[1].Poll(s); return s.fragments == 1 })
	require.Equal(t, uint64(1), tr.Stats().GotDatagrams)
	require.Equal(t, uint64(1), trs[1].Stats().DatagramFrames)
}

// TestLossIsReproducible loses the same datagrams in every run of a seed, and others at another
// rank or with another seed.
func TestLossIsReproducible(t *testing.T) {
	run := func(seed uint64) (seqs [2][]uint64) {
		trs := joined(t, 3, Config{Loss: 0.5, Seed: seed})
		const n = 200
		for seq := range uint64(n) {
			unsent := 1
			trs[2].Mcast(&wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Seq: seq}, Unsent: &unsent})
			until(t, trs[2], &tally{}, func() bool { return unsent == 0 })
		}
		for rank := range 2 {
			s, tr := &tally{}, trs[rank]
			until(t, tr, s, func() bool { return tr.Stats().Injected+tr.Stats().GotDatagrams == n })
			require.Equal(t, n-len(s.seqs), int(tr.Stats().Injected))
			require.InDelta(t, n/2, len(s.seqs), 40)
			seqs[rank] = s.seqs
		}
		return seqs
	}
	first := run(1)
	require.Equal(t, first, run(1))
	require.NotEqual(t, first[0], first[1])
	require.NotEqual(t, first, run(2))
}

// TestFullStash holds back more than the stash takes. The excess is counted, Wait does not spin,
// puts flow, and all kept datagrams arrive later.
func TestFullStash(t *testing.T) {
	trs := joined(t, 2, Config{})
	tr, s := trs[0], &tally{hold: true}
	body := make([]byte, 1000)
	for sent := 0; tr.Stats().Early == 0; sent++ {
		require.Less(t, sent, 100_000)
		trs[1].Mcast(&wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Seq: uint64(sent)}, Body: body})
		trs[1].Poll(&tally{})
		if sent%16 == 0 { // each Poll offers all kept datagrams
			tr.Poll(s)
		}
	}
	rounds := 0
	for start := time.Now(); time.Since(start) < 100*time.Millisecond; rounds++ {
		tr.Wait(10 * time.Millisecond)
		tr.Poll(s)
	}
	require.Less(t, rounds, 30)
	kept := int(tr.Stats().GotDatagrams - tr.Stats().Early)
	require.Greater(t, kept, 500)
	s.hold = false
	until(t, tr, s, func() bool { return s.fragments >= kept })
	require.IsIncreasing(t, s.seqs)
	trs[1].Mcast(&wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Seq: 1 << 40}})
	trs[1].Poll(&tally{})
	until(t, tr, s, func() bool { return s.seqs[len(s.seqs)-1] == 1<<40 })
}

// TestUnsendable multicasts from a socket that the system refuses to send from.
func TestUnsendable(t *testing.T) {
	tr := joined(t, 2, Config{})[1]
	good := tr.group.fd
	tr.group.fd = tr.arrival.all.fd // not connected: the system needs a destination
	unsent := 2
	for range 2 {
		tr.Mcast(&wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}, Body: make([]byte, 200_000), Unsent: &unsent})
	}
	tr.Poll(&tally{})
	require.Zero(t, unsent)
	require.Equal(t, uint64(2), tr.Stats().Unsendable)
	require.Zero(t, tr.Stats().McastFrames)
	tr.group.fd = good
}

func TestNobodyToSendTo(t *testing.T) {
	tr := joined(t, 1, Config{})[0]
	unsent := 1
	tr.Mcast(&wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}, Body: []byte("x"), Unsent: &unsent})
	require.Zero(t, unsent)
	require.Zero(t, tr.Stats().McastFrames)
}
