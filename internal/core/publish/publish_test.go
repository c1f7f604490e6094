package publish

import (
	"bytes"
	"fmt"
	mathbits "math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/internal/test/ether"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// club is the ends of all ranks, and the frames between them.
type club struct {
	*ether.Ether
	ends []*member
}

// member is an end and its host.
type member struct {
	*Messages
	ether.Net
	roster    presence.Roster
	err       error
	disagrees bool
}

func (m *member) Failed() bool          { return m.err != nil }
func (m *member) Disagree(*wire.Header) { m.disagrees = true }
func (m *member) Violation(_ *wire.Header, format string, args ...any) {
	m.err = fmt.Errorf(format, args...)
}
func (m *member) Severed(rank int, why string) {
	m.err = fmt.Errorf("rank %d has left, and %s", rank, why)
}

// deliver takes a frame with its body to the end.
func (m *member) deliver(h *wire.Header, body []byte) {
	if h.Kind == wire.FramePublish {
		dst, v := m.Body(h)
		if v != wire.Accept {
			return
		}
		copy(dst, body)
	}
	m.Arrived(h)
}

// newClub returns the ends of size ranks with the same configuration.
func newClub(t require.TestingT, algorithm string, size int, cfg Config) *club {
	spec, err := schedule.New(algorithm, schedule.Params{Ranks: size})
	require.NoError(t, err)
	cfg.Overlay, cfg.Multicast = spec.Overlay(), algorithm == "anycast/mcast-acktree"
	return clubOf(size, cfg)
}

func clubOf(size int, cfg Config) *club {
	e := &club{Ether: ether.New(size)}
	for r := range size {
		cfg.Rank, cfg.Size, cfg.Epoch, cfg.Print, cfg.Repair = r, size, 1, 1, 20e6
		m := &member{Net: ether.Net{Ether: e.Ether, Rank: r, Piece: cfg.Caps.Datagram}}
		m.Messages = New(cfg, m, &m.roster)
		e.ends = append(e.ends, m)
	}
	return e
}

// carry takes the first put of a rank to another to its receiver.
func (e *club) carry(from, to int) {
	l := e.Lane(from, to, wire.LaneControl)
	m := (*l)[0]
	*l = (*l)[1:]
	e.ends[to].deliver(&m.Header, m.Body)
}

// carryAny takes the first put of Lanes[i] to its receiver.
func (e *club) carryAny(i int) { e.carry(e.Ends(i)) }

// carryAll takes all puts to their receivers.
func (e *club) carryAll() {
	for busy := e.Busy(); len(busy) > 0; busy = e.Busy() {
		e.carryAny(busy[0])
	}
}

// offer takes a datagram to its receiver.
func (e *club) offer(g ether.Gram) bool { return e.ends[g.To].Fragment(&g.Header, g.Offset, g.Body) }

// Multicast messages arrive once, completely, in the order of their origin, whichever datagrams are
// lost, doubled or late. No rank keeps more than a window of each origin. At the end, all ranks
// have acknowledged everything, and no timer runs.
func TestMulticasts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 9).Draw(t, "size")
		window := rapid.IntRange(1, 6).Draw(t, "window")
		loss := rapid.IntRange(0, 60).Draw(t, "loss")
		room := rapid.SampledFrom([]int{0, 16, 80, 400}).Draw(t, "room")
		multicast := rapid.IntRange(0, 9).Draw(t, "multicast") > 0
		const most, bound = 40, 100
		e := newClub(t, "anycast/mcast-acktree", size, Config{
			Window: window, Bytes: bound, MaxMessage: most,
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
		now := moment.Time(1)
		for steps := 0; ; steps++ {
			require.Less(t, steps, 200_000, "it does not end")
			now += moment.Time(random.IntN(5)) * 1e6
			r := random.IntN(size)
			c := e.ends[r]
			if st := c.own(); st.next < each && c.HasRoom(0) {
				c.Publish(text(r, st.next))
			}
			if busy := e.Busy(); len(busy) > 0 {
				e.carryAny(busy[random.IntN(len(busy))])
			}
			if n := len(e.Grams); n > 0 {
				i := random.IntN(min(n, 4))
				g := e.Grams[i]
				switch luck := random.IntN(100); {
				case luck >= loss+5:
					e.Grams = slices.Delete(e.Grams, i, i+1)
					e.offer(g)
				case luck < loss:
					e.Grams = slices.Delete(e.Grams, i, i+1)
				default:
					e.offer(g) // it comes twice
				}
			}
			c.Tick(now)
			for c.Waiting() > 0 && random.IntN(2) == 0 {
				m := c.Take()
				if m.Seq != next[r][m.Origin] || !bytes.Equal(text(m.Origin, m.Seq), m.Data) {
					t.Fatalf("rank %d takes message %d of rank %d, %q, instead of %d", r, m.Seq, m.Origin, m.Data, next[r][m.Origin])
				}
				next[r][m.Origin]++
			}
			if c.err != nil {
				t.Fatal(c.err)
			}
			waits := 0
			for origin, n := range next[r] {
				if origin != r {
					waits += int(c.Came(origin) - n)
				}
			}
			if waits != c.Waiting() {
				t.Fatalf("%d messages have come to rank %d and are not taken, and %d wait", waits, r, c.Waiting())
			}
			for origin, st := range c.streams {
				if st != nil && (st.held > bound+most || st.next-st.freed > uint64(window)) {
					t.Fatalf("rank %d keeps %d bytes of messages %d … %d of rank %d", r, st.held, st.freed, st.next, origin)
				}
			}
			if len(e.Grams) == 0 && len(e.Busy()) == 0 && !slices.ContainsFunc(e.ends, func(c *member) bool {
				return c.own().all().here < each || c.Timed() || c.Waiting() > 0
			}) {
				for r := range next {
					for origin, n := range next[r] {
						want := uint64(each)
						if origin == r {
							want = 0
						}
						require.Equal(t, want, n, "messages of rank %d at rank %d", origin, r)
					}
				}
				return
			}
		}
	})
}

// frames returns the frames under way from one rank to another, and removes them.
func (e *club) frames(from, to int) (list []string) {
	lane := e.Lane(from, to, wire.LaneControl)
	for _, f := range *lane {
		list = append(list, said(f.Kind, f.Seq, int(f.Slot), int(f.Arg)))
	}
	*lane = nil
	return list
}

func said(k wire.FrameKind, seq uint64, slot int, origin int) string {
	return fmt.Sprintf("%d:%d+%d of %d", k, seq, slot, origin)
}

var roomy = Config{Window: 64, Bytes: 1 << 18, MaxMessage: 1 << 16, Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 1000}}

// pass offers the datagrams for some ranks; the others lose them.
func (e *club) pass(to ...int) {
	grams := e.Grams
	e.Grams = nil
	for _, g := range grams {
		if slices.Contains(to, g.To) {
			e.offer(g)
		}
	}
}

// One acknowledgement covers a quarter of the window, or the messages of a quarter of the base
// timeout. The same holds for messages that processes take.
func TestAcknowledgementsCoverMany(t *testing.T) {
	e := newClub(t, "anycast/mcast-acktree", 2, roomy)
	for range 20 {
		e.ends[0].Publish([]byte("x"))
	}
	e.pass(1)
	require.Equal(t, []string{said(wire.FrameAck, 16, 16, 0)}, e.frames(1, 0))
	e.ends[1].Tick(1)
	e.ends[1].Tick(4e6)
	require.Empty(t, e.frames(1, 0))
	e.ends[1].Tick(6e6)
	require.Equal(t, []string{said(wire.FrameAck, 20, 20, 0)}, e.frames(1, 0))
	require.False(t, e.ends[1].Timed())
	for range 16 {
		e.ends[1].Take()
	}
	require.Equal(t, []string{said(wire.FrameAck, 20, 4, 0)}, e.frames(1, 0))
}

// A rank acknowledges when all ranks below it have acknowledged, and waits for no other rank.
func TestAcknowledgementsClimb(t *testing.T) {
	e := newClub(t, "anycast/mcast-acktree", 4, roomy) // the tree of rank 1: 1 -> 2, 3; 3 -> 0
	e.ends[1].Publish([]byte("x"))
	e.ends[1].Flush()
	require.Equal(t, []string{said(wire.FrameFlush, 1, 0, 1)}, e.frames(1, 2))
	e.pass(0, 2, 3)
	e.carry(1, 3)
	require.Empty(t, e.frames(3, 1))
	require.Equal(t, []string{said(wire.FrameFlush, 1, 0, 1)}, e.frames(3, 0))
	h := wire.Header{Kind: wire.FrameAck, Lane: wire.LaneControl, Epoch: 1, Print: 1, Arg: 1, Seq: 1, Slot: ir.Slot(1), From: 0}
	e.ends[3].Arrived(&h)
	require.Equal(t, []string{said(wire.FrameAck, 1, 1, 1)}, e.frames(3, 1))
}

// A rank that gets an acknowledgement for a message that it lacks asks the rank above, unless the
// multicast is only late. The rank above, which also lacks the message, asks in turn, and passes on
// the message.
func TestUnmatchedAcknowledgement(t *testing.T) {
	e := newClub(t, "anycast/mcast-acktree", 8, roomy) // the tree of rank 0: 0 -> 4 -> 6 -> 7
	e.ends[0].Publish([]byte("hello"))
	e.pass(7)
	e.ends[7].Tick(1)
	e.ends[7].Tick(6e6)
	e.carry(7, 6)
	e.ends[6].Tick(1)
	require.Empty(t, e.frames(6, 4), "it may only be late")
	e.ends[6].Tick(3e6)
	e.carry(6, 4)
	e.ends[4].Tick(1)
	e.ends[4].Tick(3e6)
	require.Equal(t, wire.FrameLost, (*e.Lane(4, 0, wire.LaneControl))[0].Kind)
	e.carry(4, 0)
	e.carry(0, 4)
	e.carry(4, 6)
	require.Equal(t, "hello", string(e.ends[4].Take().Data))
	require.Equal(t, "hello", string(e.ends[6].Take().Data))
	require.Empty(t, e.frames(6, 7), "it has the message")
	require.Equal(t, uint64(1), e.ends[0].Counts().Given)
}

// A rank whose acknowledgement is late is asked after as many base timeouts as its sub-tree has
// cycles, once. The question reveals the loss.
func TestTimeoutsByLevel(t *testing.T) {
	e := newClub(t, "anycast/mcast-acktree", 8, roomy)
	c := e.ends[0]
	c.Publish([]byte("x"))
	e.pass()
	c.Tick(1)
	for _, late := range []struct {
		at   moment.Time
		rank int
	}{{20e6, 1}, {40e6, 2}, {60e6, 4}} {
		c.Tick(late.at)
		require.Empty(t, e.frames(0, late.rank))
		c.Tick(late.at + 1)
		require.Equal(t, []string{said(wire.FrameFlush, 1, 0, 0)}, e.frames(0, late.rank))
	}
	require.False(t, c.Timed(), "puts are not lost")
	h := wire.Header{Kind: wire.FrameFlush, Lane: wire.LaneControl, Epoch: 1, Print: 1, Seq: 1}
	e.ends[1].Arrived(&h)
	e.ends[1].Tick(1)
	e.ends[1].Tick(3e6)
	require.Equal(t, []string{said(wire.FrameLost, 0, 1, 0)}, e.frames(1, 0))
}

// lost is a pattern of lost multicasts: bit i says that message i is lost.
type lost int

// requests returns the requests for the first n messages, in the form of ether.frames.
func (l lost) requests(n int) (list []string) {
	for i := 0; i < n; i++ {
		first := i
		for i < n && l>>i&1 == 1 {
			i++
		}
		if i > first {
			list = append(list, said(wire.FrameLost, uint64(first), i-first, 0))
		}
	}
	return list
}

// asked returns the requests under way from one rank to another, and removes all frames.
func (e *club) asked(from, to int) []string {
	return slices.DeleteFunc(e.frames(from, to), func(s string) bool { return !strings.HasPrefix(s, fmt.Sprintf("%d:", wire.FrameLost)) })
}

// Whichever messages a rank has lost, it asks for each of them once: for those before a message that
// arrives, at once; for the last ones, when it is asked whether it has them. If the rank above
// leaves, it asks the next one for all of them again, and for the last ones when that rank asks.
func TestLostMessagesAreAskedFor(t *testing.T) {
	const n, size = 5, 4 // the tree of rank 0: 0 -> 2 -> 3
	question := wire.Header{Kind: wire.FrameFlush, Lane: wire.LaneControl, Epoch: 1, Print: 1, Seq: n}
	for pattern := lost(0); pattern < 1<<n; pattern++ {
		revealed := mathbits.Len(uint(^pattern & (1<<n - 1)))
		for _, leaves := range []bool{false, true} {
			e := newClub(t, "anycast/mcast-acktree", size, roomy)
			for i := range n {
				e.ends[0].Publish([]byte{byte(i)})
				if pattern>>i&1 == 1 {
					e.pass()
				} else {
					e.pass(3)
				}
			}
			c, up := e.ends[3], 2
			require.ElementsMatch(t, pattern.requests(revealed), e.asked(3, up), "lost: %05b", pattern)
			if leaves {
				c.roster.Leave(up, 0, 0)
				c.Left(up)
				up = 0
				c.Tick(1)
				c.Tick(3e6)
				require.ElementsMatch(t, pattern.requests(revealed), e.asked(3, up), "lost: %05b", pattern)
			}
			question.From = up
			c.Arrived(&question)
			c.Tick(4e6)
			c.Tick(7e6)
			require.ElementsMatch(t, pattern.requests(n)[len(pattern.requests(revealed)):], e.asked(3, up), "lost: %05b", pattern)
			require.NoError(t, c.err)
		}
	}
}

// A rank that leaves puts to each rank below what that rank has not acknowledged, and nothing else.
func TestFarewells(t *testing.T) {
	e := newClub(t, "anycast/mcast-acktree", 3, roomy)
	e.ends[0].Publish([]byte("x"))
	e.pass(1, 2)
	e.ends[0].Flush()
	e.carry(0, 1)
	e.carry(1, 0)
	e.frames(0, 2)
	e.ends[0].Publish([]byte("y"))
	e.pass()
	e.ends[0].Farewells()
	require.Equal(t, []string{said(wire.FramePublish, 1, 0, 0)}, e.frames(0, 1))
	require.Equal(t, []string{said(wire.FramePublish, 0, 0, 0), said(wire.FramePublish, 1, 0, 0)}, e.frames(0, 2))
	require.EqualValues(t, 3, e.ends[0].Counts().Given)
}

// Few short messages are under way at once if receivers have little room, and a message that is
// longer than half of that room is put down the tree.
func TestRoomOfReceivers(t *testing.T) {
	cfg := roomy
	cfg.Caps.Room = 4000
	e := newClub(t, "anycast/mcast-acktree", 2, cfg)
	c := e.ends[0]
	c.Publish([]byte("x"))
	require.True(t, c.HasRoom(0))
	c.Publish([]byte("y"))
	require.False(t, c.HasRoom(0), "two datagrams may stand in a buffer of four between two ranks")
	e.pass(1)
	e.carry(1, 0)
	require.True(t, c.HasRoom(0))
	c.Publish(make([]byte, 2001))
	require.Empty(t, e.Grams)
	require.Len(t, *e.Lane(0, 1, wire.LaneControl), 1)
	e.carry(0, 1)
	require.Equal(t, 3, e.ends[1].Waiting())
}

// A frame that no correct rank sends fails the communicator.
func TestHostileRanks(t *testing.T) {
	header := func(k wire.FrameKind, arg uint32, seq uint64, slot, n int) wire.Header {
		return wire.Header{Kind: k, Lane: wire.LaneControl, Epoch: 1, Print: 1, Arg: arg, Seq: seq, Slot: ir.Slot(slot), Len: n, From: 1}
	}
	for want, h := range map[string]wire.Header{
		"message of origin 9":                         header(wire.FramePublish, 9, 0, 0, 1),
		"message of origin 0 with":                    header(wire.FramePublish, 0, 0, 0, 1),
		"message of origin 1 with 70000":              header(wire.FramePublish, 1, 0, 0, 70000),
		"origin 1 sends more than its window":         header(wire.FramePublish, 1, 64, 0, 1),
		"acknowledgement of 1 messages of origin 0":   header(wire.FrameAck, 0, 1, 0, 0),
		"acknowledgement of 0 messages of origin 0":   header(wire.FrameAck, 0, 0, 1, 0),
		"acknowledgement of 1 messages of origin 1":   header(wire.FrameAck, 1, 1, 0, 0),
		"about messages of origin 7":                  header(wire.FrameAck, 7, 1, 0, 0),
		"question about 1 messages of origin 0":       header(wire.FrameFlush, 0, 1, 0, 0),
		"question about 65 messages of origin 1":      header(wire.FrameFlush, 1, 65, 0, 0),
		"request for 1 messages of origin 0 from 0":   header(wire.FrameLost, 0, 0, 1, 0),
		"request for 0 messages of origin 0":          header(wire.FrameLost, 0, 0, 0, 0),
		"request for 1 messages of origin 1":          header(wire.FrameLost, 1, 0, 1, 0),
		"message of origin 2, which does not come by": header(wire.FramePublish, 2, 0, 0, 1),
	} {
		e := newClub(t, "anycast/mcast-acktree", 4, roomy)
		c := e.ends[0]
		c.deliver(&h, make([]byte, h.Len))
		require.ErrorContains(t, c.err, want)
	}
	// If the rank has another configuration, the error is a mismatch.
	for _, k := range []wire.FrameKind{wire.FramePublish, wire.FrameAck, wire.FrameFlush, wire.FrameLost, wire.FrameListen} {
		e := newClub(t, "anycast/mcast-acktree", 4, roomy)
		h := header(k, 1, 0, 0, 0)
		h.Print = 7
		e.ends[0].deliver(&h, nil)
		require.True(t, e.ends[0].disagrees, "kind %d", k)
		require.NoError(t, e.ends[0].err)
	}
}

// Datagrams that no correct rank sends are dropped and counted.
func TestHostileDatagrams(t *testing.T) {
	good := wire.Header{Kind: wire.FramePublish, Epoch: 1, Print: 1, Arg: 1, Seq: 3, Len: 1500, From: 1}
	for what, edit := range map[string]func(h *wire.Header, offset *int, n *int){
		"of another configuration": func(h *wire.Header, _, _ *int) { h.Print = 2 },
		"of another origin":        func(h *wire.Header, _, _ *int) { h.Arg = 2 },
		"of this rank":             func(h *wire.Header, _, _ *int) { h.Arg, h.From = 0, 0 },
		"beyond the window":        func(h *wire.Header, _, _ *int) { h.Seq = 64 },
		"too long":                 func(h *wire.Header, _, _ *int) { h.Len = 1<<16 + 1 },
		"askew":                    func(_ *wire.Header, offset, _ *int) { *offset = 10 },
		"behind the end":           func(_ *wire.Header, offset, _ *int) { *offset = 2000 },
		"torn":                     func(_ *wire.Header, _, n *int) { *n = 7 },
	} {
		c := newClub(t, "anycast/mcast-acktree", 4, roomy).ends[0]
		h, offset, n := good, 0, 1000
		edit(&h, &offset, &n)
		require.False(t, c.Fragment(&h, offset, make([]byte, n)), what)
		require.NoError(t, c.err)
	}
	c := newClub(t, "anycast/mcast-acktree", 4, roomy).ends[0]
	require.True(t, c.Fragment(&good, 0, make([]byte, 1000)))
	good.Len = 1200
	require.False(t, c.Fragment(&good, 1000, make([]byte, 200)), "another length")
}

// sink is a host that drops all frames.
type sink struct{ member }

func (s *sink) Put(_ int, f *wire.Frame) { s.Mcast(f) }

func (s *sink) Mcast(f *wire.Frame) {
	f.Release()
}

// Arrivals and acknowledgements allocate only the messages that the process takes.
func TestAllocations(t *testing.T) {
	spec := newClub(t, "anycast/mcast-acktree", 4, roomy).ends[0].Config
	for rank, most := range map[int]float64{0: 0, 3: 1, 2: 1} { // origin, leaf, rank with one below
		spec.Rank = rank
		host := &sink{}
		c := New(spec, host, &presence.Roster{})
		ack := wire.Header{Kind: wire.FrameAck, Lane: wire.LaneControl, Epoch: 1, Print: 1, From: 3}
		gram := wire.Header{Kind: wire.FramePublish, Epoch: 1, Print: 1, Len: 100, From: 0}
		msg := make([]byte, 100)
		got := testing.AllocsPerRun(1000, func() {
			if rank == 0 {
				c.Publish(msg)
				ack.Seq++
				for ack.From = 1; ack.From < 3; ack.From++ {
					c.Arrived(&ack)
				}
				return
			}
			c.Fragment(&gram, 0, msg)
			gram.Seq++
			if ack.Seq++; rank == 2 {
				c.Arrived(&ack)
			}
			c.Take()
		})
		require.LessOrEqual(t, got, most, "rank %d", rank)
		require.NoError(t, host.err)
	}
}

// An answer to the rank above takes the place of the acknowledgement. Any other answer does not.
func TestAnswersAcknowledge(t *testing.T) {
	for _, c := range []struct {
		to   int
		want []string
	}{
		{0, nil},
		{-1, []string{said(wire.FrameAck, 1, 1, 0)}},
	} {
		e := newClub(t, "anycast/mcast-acktree", 2, roomy)
		e.ends[0].Publish([]byte("x"))
		e.pass(1)
		require.Empty(t, e.frames(1, 0))
		require.Equal(t, uint64(1), e.ends[1].Answered(0, c.to))
		require.Equal(t, c.want, e.frames(1, 0))
	}
}
