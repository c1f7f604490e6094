package core

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// ether connects cores that multicast. Puts between two ranks stay in order; datagrams are lost,
// doubled and reordered.
type ether struct {
	cores []*Core
	puts  [][]mailed // from*size+to
	grams []gram
}

type mailed struct {
	h    wire.Header
	body []byte
}

type gram struct {
	mailed
	to, offset int
}

type plug struct {
	e    *ether
	rank int
}

func keep(f *wire.Frame) mailed {
	m := mailed{f.Header, bytes.Clone(f.Body)}
	m.h.Len = f.Whole()
	if f.Unsent != nil {
		*f.Unsent--
	}
	return m
}

func (p plug) Put(to int, f *wire.Frame) {
	lane := &p.e.puts[p.rank*len(p.e.cores)+to]
	*lane = append(*lane, keep(f))
}

func (p plug) Mcast(f *wire.Frame) {
	m := keep(f)
	step := p.e.cores[p.rank].env.Caps.Datagram
	for to := range p.e.cores {
		for offset := 0; to != p.rank; offset += step {
			end := min(offset+step, len(m.body))
			p.e.grams = append(p.e.grams, gram{mailed{m.h, m.body[offset:end]}, to, offset})
			if end == len(m.body) {
				break
			}
		}
	}
}

func (p plug) Datagram(int, *wire.Frame) {}

// newEther returns size cores with the same configuration.
func newEther(t require.TestingT, size int, cfg Config) *ether {
	spec, err := schedule.New("anycast/mcast-acktree", schedule.Params{Ranks: size})
	require.NoError(t, err)
	e := &ether{cores: make([]*Core, size), puts: make([][]mailed, size*size)}
	for r := range size {
		cfg.Rank, cfg.Size, cfg.Epoch, cfg.Overlay, cfg.Spread, cfg.PublishPrint = r, size, 1, spec.Overlay(), true, 1
		cfg.Repair, cfg.Stall = 20e6, 250e6
		e.cores[r] = New(cfg, plug{e, r})
	}
	return e
}

// carry takes the first put of a lane to its receiver.
func (e *ether) carry(lane int) {
	m := e.puts[lane][0]
	e.puts[lane] = e.puts[lane][1:]
	to := e.cores[lane%len(e.cores)]
	if dst, v := to.Body(&m.h); v == wire.Accept {
		copy(dst, m.body)
		to.Arrived(&m.h, dst)
	}
}

// offer takes a datagram to its receiver.
func (e *ether) offer(g gram) wire.Verdict { return e.cores[g.to].Fragment(&g.h, g.offset, g.body) }

// Multicast messages arrive once, completely, in the order of their origin, whichever datagrams are
// lost, doubled or late. No rank keeps more than a window of each origin. At the end, all ranks
// have acknowledged everything, and no timer runs.
func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 9).Draw(t, "size")
		window := rapid.IntRange(1, 6).Draw(t, "window")
		loss := rapid.IntRange(0, 60).Draw(t, "loss")
		room := rapid.SampledFrom([]int{0, 16, 80, 400}).Draw(t, "room")
		multicast := rapid.IntRange(0, 9).Draw(t, "multicast") > 0
		const most, bound = 40, 100
		e := newEther(t, size, Config{
			PublishWindow: window, PublishBytes: bound, MaxMessage: most,
			Caps: wire.Caps{Multicast: multicast, Direct: true, Datagram: 8, Room: room},
		})
		text := func(origin int, seq uint64) []byte {
			return bytes.Repeat([]byte{byte(origin), byte(seq)}, int(uint64(7*origin)+5*seq)%(most/2+1))
		}
		next := make([][]uint64, size)
		for r := range next {
			next[r] = make([]uint64, size)
		}
		const each = 6
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) // a draw of each step would take most of the time
		now := Time(1)
		for steps := 0; ; steps++ {
			require.Less(t, steps, 200_000, "it does not end")
			now += Time(random.IntN(5)) * 1e6
			r := random.IntN(size)
			c := e.cores[r]
			if st := c.spread.own(); st.next < each && c.HasRoom() {
				c.Publish(text(r, st.next))
			}
			if busy := lanesOf(e.puts); len(busy) > 0 {
				e.carry(busy[random.IntN(len(busy))])
			}
			if n := len(e.grams); n > 0 {
				i := random.IntN(min(n, 4))
				g := e.grams[i]
				switch luck := random.IntN(100); {
				case luck >= loss+5:
					e.grams = slices.Delete(e.grams, i, i+1)
					e.offer(g)
				case luck < loss:
					e.grams = slices.Delete(e.grams, i, i+1)
				default:
					e.offer(g) // it comes twice
				}
			}
			c.Tick(now)
			for c.Mail() > 0 && random.IntN(2) == 0 {
				m := c.Take()
				if m.Seq != next[r][m.Origin] || !bytes.Equal(text(m.Origin, m.Seq), m.Data) {
					t.Fatalf("rank %d takes message %d of rank %d, %q, instead of %d", r, m.Seq, m.Origin, m.Data, next[r][m.Origin])
				}
				next[r][m.Origin]++
			}
			if c.Err() != nil {
				t.Fatal(c.Err())
			}
			for origin, st := range c.spread.streams {
				if st != nil && (st.held > bound+most || st.next-st.freed > uint64(window)) {
					t.Fatalf("rank %d keeps %d bytes of messages %d … %d of rank %d", r, st.held, st.freed, st.next, origin)
				}
			}
			if len(e.grams) == 0 && len(lanesOf(e.puts)) == 0 && !slices.ContainsFunc(e.cores, func(c *Core) bool {
				return c.spread.own().all().here < each || c.spread.timed || c.Mail() > 0
			}) {
				for r := range next {
					for origin, n := range next[r] {
						require.Equal(t, uint64(each*count(origin != r)), n, "messages of rank %d at rank %d", origin, r)
					}
				}
				return
			}
		}
	})
}

func lanesOf(puts [][]mailed) (busy []int) {
	for i, l := range puts {
		if len(l) > 0 {
			busy = append(busy, i)
		}
	}
	return busy
}

// frames returns the frames under way from one rank to another, and removes them.
func (e *ether) frames(from, to int) (list []string) {
	lane := &e.puts[from*len(e.cores)+to]
	for _, m := range *lane {
		list = append(list, fmt.Sprintf("%d:%d+%d of %d", m.h.Kind, m.h.Seq, int(m.h.Slot), m.h.Arg))
	}
	*lane = nil
	return list
}

func said(k wire.FrameKind, seq uint64, slot int, origin int) string {
	return fmt.Sprintf("%d:%d+%d of %d", k, seq, slot, origin)
}

var roomy = Config{PublishWindow: 64, PublishBytes: 1 << 18, MaxMessage: 1 << 16, Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 1000}}

// pass offers the datagrams for some ranks; the others lose them.
func (e *ether) pass(to ...int) {
	grams := e.grams
	e.grams = nil
	for _, g := range grams {
		if slices.Contains(to, g.to) {
			e.offer(g)
		}
	}
}

// One acknowledgement covers a quarter of the window, or the messages of a quarter of the base
// timeout. The same holds for messages that processes take.
func TestAcknowledgementsCoverMany(t *testing.T) {
	e := newEther(t, 2, roomy)
	for range 20 {
		e.cores[0].Publish([]byte("x"))
	}
	e.pass(1)
	require.Equal(t, []string{said(wire.FrameAck, 16, 16, 0)}, e.frames(1, 0))
	e.cores[1].Tick(1)
	e.cores[1].Tick(4e6)
	require.Empty(t, e.frames(1, 0))
	e.cores[1].Tick(6e6)
	require.Equal(t, []string{said(wire.FrameAck, 20, 20, 0)}, e.frames(1, 0))
	require.False(t, e.cores[1].Waits())
	for range 16 {
		e.cores[1].Take()
	}
	require.Equal(t, []string{said(wire.FrameAck, 20, 4, 0)}, e.frames(1, 0))
}

// A rank acknowledges when all ranks below it have acknowledged, and waits for no other rank.
func TestAcknowledgementsClimb(t *testing.T) {
	e := newEther(t, 4, roomy) // the tree of rank 1: 1 -> 2, 3; 3 -> 0
	e.cores[1].Publish([]byte("x"))
	e.cores[1].Flush()
	require.Equal(t, []string{said(wire.FrameFlush, 1, 0, 1)}, e.frames(1, 2))
	e.pass(0, 2, 3)
	e.carry(1*4 + 3)
	require.Empty(t, e.frames(3, 1))
	require.Equal(t, []string{said(wire.FrameFlush, 1, 0, 1)}, e.frames(3, 0))
	h := wire.Header{Kind: wire.FrameAck, Lane: wire.LaneControl, Epoch: 1, Print: 1, Arg: 1, Seq: 1, Slot: ir.Slot(1), From: 0}
	e.cores[3].Arrived(&h, nil)
	require.Equal(t, []string{said(wire.FrameAck, 1, 1, 1)}, e.frames(3, 1))
}

// A rank that gets an acknowledgement for a message that it lacks asks the rank above, unless the
// multicast is only late. The rank above, which also lacks the message, asks in turn, and passes on
// the message.
func TestUnmatchedAcknowledgement(t *testing.T) {
	e := newEther(t, 8, roomy) // the tree of rank 0: 0 -> 4 -> 6 -> 7
	e.cores[0].Publish([]byte("hello"))
	e.pass(7)
	e.cores[7].Tick(1)
	e.cores[7].Tick(6e6)
	e.carry(7*8 + 6)
	e.cores[6].Tick(1)
	require.Empty(t, e.frames(6, 4), "it may only be late")
	e.cores[6].Tick(3e6)
	e.carry(6*8 + 4)
	e.cores[4].Tick(1)
	e.cores[4].Tick(3e6)
	require.Equal(t, said(wire.FrameLost, 0, 1, 0), fmt.Sprintf("%d:%d+%d of %d", e.puts[4*8][0].h.Kind, e.puts[4*8][0].h.Seq, e.puts[4*8][0].h.Slot, 0))
	e.carry(4 * 8)
	e.carry(0*8 + 4)
	e.carry(4*8 + 6)
	require.Equal(t, "hello", string(e.cores[4].Take().Data))
	require.Equal(t, "hello", string(e.cores[6].Take().Data))
	require.Empty(t, e.frames(6, 7), "it has the message")
	require.Equal(t, uint64(1), e.cores[0].Counters().Given)
}

// A rank whose acknowledgement is late is asked after as many base timeouts as its sub-tree has
// cycles, once. The question reveals the loss.
func TestTimeoutsByLevel(t *testing.T) {
	e := newEther(t, 8, roomy)
	c := e.cores[0]
	c.Publish([]byte("x"))
	e.pass()
	c.Tick(1)
	for _, late := range []struct {
		at   Time
		rank int
	}{{20e6, 1}, {40e6, 2}, {60e6, 4}} {
		c.Tick(late.at)
		require.Empty(t, e.frames(0, late.rank))
		c.Tick(late.at + 1)
		require.Equal(t, []string{said(wire.FrameFlush, 1, 0, 0)}, e.frames(0, late.rank))
	}
	require.False(t, c.Waits(), "puts are not lost")
	h := wire.Header{Kind: wire.FrameFlush, Lane: wire.LaneControl, Epoch: 1, Print: 1, Seq: 1}
	e.cores[1].Arrived(&h, nil)
	e.cores[1].Tick(1)
	e.cores[1].Tick(3e6)
	require.Equal(t, []string{said(wire.FrameLost, 0, 1, 0)}, e.frames(1, 0))
}

// Few short messages are under way at once if receivers have little room, and a message that is
// longer than half of that room is put down the tree.
func TestRoomOfReceivers(t *testing.T) {
	cfg := roomy
	cfg.Caps.Room = 4000
	e := newEther(t, 2, cfg)
	c := e.cores[0]
	c.Publish([]byte("x"))
	require.True(t, c.HasRoom())
	c.Publish([]byte("y"))
	require.False(t, c.HasRoom(), "two datagrams may stand in a buffer of four between two ranks")
	e.pass(1)
	e.carry(1 * 2)
	require.True(t, c.HasRoom())
	c.Publish(make([]byte, 2001))
	require.Empty(t, e.grams)
	require.Len(t, e.puts[1], 1)
	e.carry(1)
	require.Equal(t, 3, e.cores[1].Mail())
}

// A frame that no correct rank sends fails the core.
func TestSpreadOfHostileRanks(t *testing.T) {
	header := func(k wire.FrameKind, arg uint32, seq uint64, slot, n int) wire.Header {
		return wire.Header{Kind: k, Lane: wire.LaneControl, Epoch: 1, Print: 1, Arg: arg, Seq: seq, Slot: ir.Slot(slot), Len: n, From: 1}
	}
	for want, h := range map[string]wire.Header{
		"message of origin 9":                            header(wire.FramePublish, 9, 0, 0, 1),
		"message of origin 0 with":                       header(wire.FramePublish, 0, 0, 0, 1),
		"message of origin 1 with 70000":                 header(wire.FramePublish, 1, 0, 0, 70000),
		"origin 1 sends more than its window":            header(wire.FramePublish, 1, 64, 0, 1),
		"acknowledgement of 1 messages of origin 0":      header(wire.FrameAck, 0, 1, 0, 0),
		"acknowledgement of 0 messages of origin 0":      header(wire.FrameAck, 0, 0, 1, 0),
		"acknowledgement of 1 messages of origin 1":      header(wire.FrameAck, 1, 1, 0, 0),
		"about messages of origin 7":                     header(wire.FrameAck, 7, 1, 0, 0),
		"question about 1 messages of origin 0":          header(wire.FrameFlush, 0, 1, 0, 0),
		"question about 65 messages of origin 1":         header(wire.FrameFlush, 1, 65, 0, 0),
		"request for 1 messages of origin 0 from 0":      header(wire.FrameLost, 0, 0, 1, 0),
		"request for 0 messages of origin 0":             header(wire.FrameLost, 0, 0, 0, 0),
		"request for 1 messages of origin 1":             header(wire.FrameLost, 1, 0, 1, 0),
		"frame kind 7 about messages that are multicast": header(wire.FrameCredit, 0, 0, 0, 0),
	} {
		e := newEther(t, 4, roomy)
		c := e.cores[0]
		if dst, v := c.Body(&h); v == wire.Accept {
			c.Arrived(&h, dst)
		}
		require.ErrorIs(t, c.Err(), ErrProtocol, want)
		require.ErrorContains(t, c.Err(), want)
	}
	// If the rank has another configuration, the error is a mismatch.
	for _, k := range []wire.FrameKind{wire.FramePublish, wire.FrameAck, wire.FrameFlush, wire.FrameLost, wire.FrameCredit, wire.FrameListen} {
		e := newEther(t, 4, roomy)
		h := header(k, 1, 0, 0, 0)
		h.Print = 7
		if _, v := e.cores[0].Body(&h); v == wire.Accept {
			e.cores[0].Arrived(&h, nil)
		}
		require.True(t, e.cores[0].fate.disputes(), "kind %d", k)
	}
}

// Datagrams that no correct rank sends are dropped and counted.
func TestSpreadOfHostileDatagrams(t *testing.T) {
	good := wire.Header{Kind: wire.FramePublish, Epoch: 1, Print: 1, Arg: 1, Seq: 3, Len: 1500, From: 1}
	for what, edit := range map[string]func(h *wire.Header, offset *int, n *int){
		"of another configuration": func(h *wire.Header, _, _ *int) { h.Print = 2 },
		"of another membership":    func(h *wire.Header, _, _ *int) { h.Epoch = 2 },
		"of another origin":        func(h *wire.Header, _, _ *int) { h.Arg = 2 },
		"of this rank":             func(h *wire.Header, _, _ *int) { h.Arg, h.From = 0, 0 },
		"beyond the window":        func(h *wire.Header, _, _ *int) { h.Seq = 64 },
		"too long":                 func(h *wire.Header, _, _ *int) { h.Len = 1<<16 + 1 },
		"askew":                    func(_ *wire.Header, offset, _ *int) { *offset = 10 },
		"behind the end":           func(_ *wire.Header, offset, _ *int) { *offset = 2000 },
		"torn":                     func(_ *wire.Header, _, n *int) { *n = 7 },
	} {
		c := newEther(t, 4, roomy).cores[0]
		h, offset, n := good, 0, 1000
		edit(&h, &offset, &n)
		require.Equal(t, wire.Drop, c.Fragment(&h, offset, make([]byte, n)), what)
		require.NoError(t, c.Err())
	}
	c := newEther(t, 4, roomy).cores[0]
	require.Equal(t, wire.Accept, c.Fragment(&good, 0, make([]byte, 1000)))
	good.Len = 1200
	require.Equal(t, wire.Drop, c.Fragment(&good, 1000, make([]byte, 200)), "another length")
}

// Arrivals and acknowledgements allocate only the messages that the process takes.
func TestSpreadAllocations(t *testing.T) {
	net := &discard{}
	cfg := roomy
	e := newEther(t, 4, cfg)
	spec := e.cores[0].env.Config
	for rank, most := range map[int]float64{0: 0, 3: 1, 2: 1} { // origin, leaf, rank with one below
		spec.Rank = rank
		c := New(spec, net)
		ack := wire.Header{Kind: wire.FrameAck, Lane: wire.LaneControl, Epoch: 1, Print: 1, From: 3}
		gram := wire.Header{Kind: wire.FramePublish, Epoch: 1, Print: 1, Len: 100, From: 0}
		msg := make([]byte, 100)
		got := testing.AllocsPerRun(1000, func() {
			if rank == 0 {
				c.Publish(msg)
				ack.Seq++
				for ack.From = 1; ack.From < 3; ack.From++ {
					c.Arrived(&ack, nil)
				}
				return
			}
			c.Fragment(&gram, 0, msg)
			gram.Seq++
			if ack.Seq++; rank == 2 {
				c.Arrived(&ack, nil)
			}
			c.Take()
		})
		require.LessOrEqual(t, got, most, "rank %d", rank)
		require.NoError(t, c.Err())
	}
}
