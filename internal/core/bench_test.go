package core

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// discard drops all frames of a core.
type discard struct{ frames int }

func (d *discard) drop(f *wire.Frame) {
	d.frames++
	f.Release()
}

func (d *discard) Put(_ int, f *wire.Frame)      { d.drop(f) }
func (d *discard) Mcast(f *wire.Frame)           { d.drop(f) }
func (d *discard) Datagram(_ int, f *wire.Frame) { d.drop(f) }

// planOf returns the plan of a rank under an algorithm.
func planOf(t rapid.TB, name string, p schedule.Params, rank int) *Plan {
	spec, err := schedule.New(name, p)
	if err != nil {
		t.Fatal(err)
	}
	h, program := spec.Header(), spec.Program(rank)
	compiled, err := machine.Compile(&h, &program)
	if err != nil {
		t.Fatal(err)
	}
	return NewPlan(&h, compiled, spec.Program(p.Root), 0)
}

// BenchmarkArrivalToPut times one chunk at a rank in the middle of a pipeline: from the header of
// the frame that brings the chunk to the frame that passes it on.
func BenchmarkArrivalToPut(b *testing.B) {
	const chunks = 1024
	net := &discard{}
	c := New(Config{Rank: 1, Size: 3, Epoch: 1, Repair: 20e6, Stall: 250e6, Retain: 8 << 20, PublishWindow: 1, Overlay: nowhere{}}, net)
	plan := planOf(b, "bcast/chain", schedule.Params{Ranks: 3, Chunks: chunks}, 1)
	buf := make([]byte, chunks*64)
	h := wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, Len: 64}
	b.ReportAllocs()
	for i := range b.N {
		k := i % chunks
		if k == 0 {
			if i > 0 {
				seq, _ := c.Seq()
				c.End(seq)
			}
			c.Begin(plan, InPlace(buf))
			h.Print = c.ops.print
		}
		h.Seq, _ = c.Seq()
		h.Slot = ir.Chunk(k)
		dst, v := c.Body(&h)
		if v != wire.Accept {
			b.Fatal("refused: ", c.Err())
		}
		c.Arrived(&h, dst)
	}
	if net.frames != b.N {
		b.Fatalf("%d arrivals, %d puts", b.N, net.frames)
	}
}

// nowhere is an overlay without channels.
type nowhere struct{}

func (nowhere) Channels(dst []int, _ int) []int      { return dst }
func (nowhere) Forward(dst []int, _, _, _ int) []int { return dst }
func (nowhere) Sender(_, origin int) int             { return origin }
