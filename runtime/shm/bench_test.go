//go:build linux

package shm_test

import (
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/wire"
)

// oneBuffer is a sink that reads all bodies into one buffer.
type oneBuffer struct {
	body     []byte
	arrived  int
	received uint64
	left     bool
}

func (s *oneBuffer) Body(h *wire.Header) ([]byte, wire.Verdict) {
	return s.body[:h.Len], wire.Accept
}
func (s *oneBuffer) Arrived(*wire.Header, []byte) { s.arrived++ }
func (s *oneBuffer) Fragment(_ *wire.Header, _ int, payload []byte) wire.Verdict {
	copy(s.body, payload)
	s.received += uint64(len(payload))
	return wire.Accept
}
func (s *oneBuffer) Ended(int, wire.End, error) { s.left = true }

func signalFrame(n int) *wire.Frame {
	return &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Slot: ir.Signal(0), Len: n}, Body: make([]byte, n)}
}

// BenchmarkRoundTrip times a put in each direction. Each rank is a thread that only polls.
func BenchmarkRoundTrip(b *testing.B) {
	for _, n := range []int{0, 64, 4096, 65536} {
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			trs := joinAll(b, 2)
			defer closeAll(b, trs)
			b.ReportAllocs()
			done := make(chan struct{})
			go func() { defer close(done); bounce(trs[1], b.N, n, false) }()
			b.ResetTimer()
			bounce(trs[0], b.N, n, true)
			<-done
		})
	}
}

// BenchmarkProcesses is BenchmarkRoundTrip between two processes.
func BenchmarkProcesses(b *testing.B) {
	f, err := shm.Create(2)
	require.NoError(b, err)
	defer f.Close()
	c := start(b, "echo", 1, func(c *child) { c.file = f })
	tr, err := shm.Join(b.Context(), shm.Config{Size: 2, File: f})
	require.NoError(b, err)
	c.line("joined")
	b.ReportAllocs()
	b.ResetTimer()
	bounce(tr, b.N, 0, true)
	b.StopTimer()
	require.NoError(b, tr.Close(true, patience))
	c.end()
}

// echo answers every frame until the other rank has left.
func echo(tr *shm.Transport) error {
	s, f := &oneBuffer{body: make([]byte, 1<<20)}, signalFrame(0)
	for answered := 0; !s.left; {
		tr.Poll(s)
		for ; answered < s.arrived; answered++ {
			tr.Put(0, f)
		}
	}
	return tr.Close(true, patience)
}

func bounce(tr *shm.Transport, rounds, n int, first bool) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	s, f := &oneBuffer{body: make([]byte, n)}, signalFrame(n)
	for want := 1; want <= rounds; want++ {
		if first {
			tr.Put(1-tr.Rank(), f)
		}
		for s.arrived < want {
			tr.Poll(s)
		}
		if !first {
			tr.Put(1-tr.Rank(), f)
		}
	}
}

// BenchmarkStream times puts in one direction.
func BenchmarkStream(b *testing.B) {
	for _, n := range []int{0, 4096, 65536, 1 << 20} {
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			trs := joinAll(b, 2)
			defer closeAll(b, trs)
			b.ReportAllocs()
			b.SetBytes(int64(n))
			s, f, unsent := &oneBuffer{body: make([]byte, n)}, signalFrame(n), 0
			f.Unsent = &unsent
			b.ResetTimer()
			for sent := 0; s.arrived < b.N; {
				if sent < b.N && unsent < 4 {
					unsent++
					sent++
					trs[0].Put(1, f)
				}
				trs[0].Poll(s)
				trs[1].Poll(s)
			}
		})
	}
}

// BenchmarkMcast times datagrams to three other ranks, which all copy them.
func BenchmarkMcast(b *testing.B) {
	for _, n := range []int{2, 4096, 32768} {
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			trs := joinAll(b, 4)
			defer closeAll(b, trs)
			b.ReportAllocs()
			b.SetBytes(int64(n))
			s, f := &oneBuffer{body: make([]byte, n)}, signalFrame(n)
			for b.Loop() {
				trs[0].Mcast(f)
				for _, tr := range trs {
					tr.Poll(s)
				}
			}
		})
	}
}

// BenchmarkRelease times a signal to all other ranks, by one flag that all read and by a put to
// each, including the reading.
func BenchmarkRelease(b *testing.B) {
	for _, ranks := range []int{3, 8, 9, 32} {
		trs := joinAll(b, ranks)
		s, f := &oneBuffer{}, signalFrame(0)
		var others []int
		for rank := 1; rank < ranks; rank++ {
			others = append(others, rank)
		}
		b.Run(fmt.Sprintf("flag/ranks=%d", ranks), func(b *testing.B) {
			b.ReportAllocs()
			for seq := uint64(1); b.Loop(); seq++ {
				trs[0].Windows().Post(wire.FlagLines, others, wire.Flag{Seq: seq})
				for _, tr := range trs[1:] {
					for tr.Windows().Window(0)[wire.FlagLines].Seq() != seq {
					}
				}
			}
		})
		b.Run(fmt.Sprintf("puts/ranks=%d", ranks), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, to := range others {
					trs[0].Put(to, f)
				}
				for _, tr := range trs[1:] {
					tr.Poll(s)
				}
			}
		})
		closeAll(b, trs)
	}
}
