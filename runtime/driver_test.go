package runtime

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/transport/yield"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// sent is a transport that drops every put and keeps the last header.
type sent struct {
	wire.Transport
	rank, size int
	frames     int
	last       wire.Header
}

func (*sent) Windows() wire.Windows { return nil }
func (s *sent) Rank() int           { return s.rank }
func (s *sent) Size() int           { return s.size }
func (s *sent) ID() [16]byte        { return [16]byte{} }
func (s *sent) Caps() wire.Caps     { return wire.Caps{} }

func (s *sent) Put(_ int, f *wire.Frame) {
	s.frames++
	s.last = f.Header
	f.Release()
}

// still returns a communicator of a rank whose driver does not run.
func still(t testing.TB, tr *sent, cfg Config) *Comm { return stillOn(t, tr, cfg) }

func stillOn(t testing.TB, tr wire.Transport, cfg Config) *Comm {
	cfg.Transport, cfg.source = tr, everything{}
	cfg.fill()
	d := newDriver(&cfg)
	c := &Comm{drv: d, cfg: cfg, caps: tr.Caps(), rank: tr.Rank(), size: tr.Size()}
	require.NoError(t, c.setUp(true))
	d.add(c)
	return c
}

// flusher counts the calls of Flush and Poll.
type flusher struct {
	sent
	polls, flushes int
	sends          bool // Flush has something to send
}

func (f *flusher) Poll(wire.Sink) bool  { f.polls++; return false }
func (f *flusher) Flush(wire.Sink) bool { f.flushes++; return f.sends }

// A root whose calls each end with a turn that only sends still polls in every other call.
// Otherwise it would not hear failures, or accept connections, for as long as it goes on.
func TestTurnsOfARoot(t *testing.T) {
	tr := &flusher{sent: sent{size: 3}, sends: true}
	d := stillOn(t, tr, Config{}).drv
	for range 10 {
		d.turn(false)
	}
	require.Equal(t, []int{5, 5}, []int{tr.polls, tr.flushes})
}

// A call that has sent frames looks whether it has ended, and lets others run that need the core,
// before it polls. But however much there is to send, every other turn polls.
func TestTurnsThatOnlySend(t *testing.T) {
	turns := func(sends bool) (polls int) {
		tr := &flusher{sent: sent{size: 3}, sends: sends}
		d := stillOn(t, tr, Config{}).drv
		sent, moved := false, false
		for range 10 {
			sent, moved = d.turn(sent)
			require.False(t, moved, "nothing has come: others run next")
		}
		return tr.polls
	}
	require.Equal(t, 5, turns(true))
	require.Equal(t, 10, turns(false), "nothing to send")
}

// parker is a flusher that notes how often it has been polled when the first call parks, which ends
// the call.
type parker struct {
	flusher
	before int
	end    func()
}

func (p *parker) Wake()         {}
func (p *parker) Abandon(uint8) {}
func (p *parker) Wait(time.Duration) {
	p.before = p.polls
	p.end()
}

// A call that does not spin polls before it parks, even if its first turn only sends. A frame may be
// held, and a transport that waits does not see held frames.
func TestPollsBeforeItParks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tr := &parker{flusher: flusher{sent: sent{rank: 1, size: 3}, sends: true}, end: cancel}
	c := stillOn(t, tr, Config{Stall: -1, Waiting: Waiting{Spin: -1}})
	c.drv.wait = yield.New(yield.Options{Process: new(yield.Process), Now: c.drv.clock.Now, Cores: 2, Spin: c.cfg.Waiting.Spin})
	c.drv.poll() // so the first turn of the call may only send
	require.ErrorIs(t, c.Bcast(ctx, make([]byte, 2), 0), context.Canceled)
	require.Greater(t, tr.before, 1)
}

// A root that never waits leaves its frames to the flush, which polls unless another call has
// polled since its last call.
func TestLeaveFlushesOnce(t *testing.T) {
	tr := &flusher{sent: sent{size: 3}}
	cfg := Config{Algorithms: Algorithms{"bcast": {Name: "bcast/linear"}}}
	c := stillOn(t, tr, cfg)
	bcast := func() {
		before := tr.frames
		require.NoError(t, c.Bcast(t.Context(), make([]byte, 2), 0))
		require.Equal(t, before+2, tr.frames)
	}
	bcast()
	bcast()
	require.Equal(t, []int{2, 0}, []int{tr.polls, tr.flushes})
	c.drv.poll()
	bcast()
	require.Equal(t, []int{3, 1}, []int{tr.polls, tr.flushes})
	bcast()
	require.Equal(t, []int{4, 1}, []int{tr.polls, tr.flushes})
}

// BenchmarkArrivalToPut times one chunk at a rank in the middle of a pipeline, from the header that
// the transport has read to the put that it gets: directly through the core, through the driver,
// and through the driver to a communicator made by Split.
func BenchmarkArrivalToPut(b *testing.B) {
	for _, way := range []struct {
		name  string
		split bool
		sink  func(*Comm) wire.Sink
	}{
		{"core", false, func(c *Comm) wire.Sink { return c.core }},
		{"driver", false, func(c *Comm) wire.Sink { return c.drv }},
		{"split", true, func(c *Comm) wire.Sink { return c.drv }},
	} {
		b.Run(way.name, func(b *testing.B) {
			comm := func(rank int) *Comm {
				c := still(b, &sent{rank: rank, size: 3}, Config{Algorithms: Algorithms{"bcast": {Name: "bcast/chain"}}, Chunk: 64})
				if !way.split {
					return c
				}
				second, err := c.register([]int{0, 1, 2}, outcome{number: 7, epoch: 5}, casting{})
				require.NoError(b, err)
				return second
			}
			c := comm(1)
			pass(b, comm(0), c, way.sink(c))
		})
	}
}

// pass lets b.N chunks of root's broadcasts arrive at c, which passes each one on. The root begins
// each broadcast too, since its headers cover all earlier operations; that is not timed.
func pass(b *testing.B, root, c *Comm, sink wire.Sink) {
	const chunks = 1024
	buf := make([]byte, chunks*64)
	plan, err := root.choose(bcast, len(buf), 0, form{})
	require.NoError(b, err)
	require.Equal(b, chunks, plan.Chunks)
	begin := func(c *Comm) {
		if begun, ended := c.core.Seq(); begun > ended {
			c.core.End(begun)
		}
		plan, err := c.choose(bcast, len(buf), 0, form{})
		require.NoError(b, err)
		c.core.Begin(plan.Plan, core.InPlace(buf))
	}
	tr := c.drv.tr.(*sent)
	var h wire.Header
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		k := i % chunks
		if k == 0 {
			b.StopTimer()
			begin(root)
			h = root.drv.tr.(*sent).last
			begin(c)
			b.StartTimer()
		}
		h.Slot = ir.Chunk(k)
		dst, v := sink.Body(&h)
		if v != wire.Accept {
			b.Fatal("refused: ", c.core.Err())
		}
		sink.Arrived(&h, dst)
	}
	if tr.frames != b.N {
		b.Fatalf("%d arrivals, %d puts", b.N, tr.frames)
	}
}

// Frames of unknown communicators are dropped and counted.
func TestFramesOfNoCommunicator(t *testing.T) {
	c := still(t, &sent{size: 3}, Config{})
	h := &wire.Header{Kind: wire.FrameSlot, Comm: 9, Epoch: 1, From: 1}
	_, v := c.drv.Body(h)
	require.Equal(t, wire.Drop, v)
	require.Equal(t, wire.Drop, c.drv.Fragment(h, 0, nil))
	c.drv.Arrived(h, nil)
	require.NoError(t, c.core.Err())
	require.Equal(t, uint64(2), c.drv.stale)
}

// A frame of another epoch belongs to an earlier communicator with the same number, and is dropped.
// The first communicator's number is never reused: there, another epoch is a mismatch.
func TestFramesOfAnotherEpoch(t *testing.T) {
	first := still(t, &sent{size: 3}, Config{})
	second, err := first.register([]int{0, 1, 2}, outcome{number: 7, epoch: 5}, casting{})
	require.NoError(t, err)
	h := &wire.Header{Kind: wire.FrameSlot, Comm: 7, Epoch: 4, Seq: 1, From: 1}
	_, v := first.drv.Body(h)
	require.Equal(t, wire.Drop, v)
	require.NoError(t, second.core.Err())
	h.Comm = 0
	_, v = first.drv.Body(h)
	require.Equal(t, wire.Drop, v)
	require.ErrorIs(t, first.core.Err(), ErrMismatch)
	require.ErrorContains(t, first.core.Err(), "rank 1: ranks disagree on the operation: rank 0 has membership 1, rank 1 has membership 4")
	require.NoError(t, second.core.Err(), "each fails by itself")
}
