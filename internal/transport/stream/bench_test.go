package stream_test

import (
	goruntime "runtime"
	"strconv"
	"testing"

	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/runtime/wire"
)

// bin is a sink that reads everything into one buffer.
type bin struct {
	buf    []byte
	frames int
}

func (b *bin) Body(h *wire.Header) ([]byte, wire.Verdict) { return b.buf[:h.Len], wire.Accept }
func (b *bin) Arrived(*wire.Header, []byte)               { b.frames++ }
func (b *bin) Ended(int, wire.End, error)                 {}
func (b *bin) Fragment(*wire.Header, int, []byte) wire.Verdict {
	return wire.Drop
}

func frameOf(n int) *wire.Frame {
	return &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Len: n}, Body: make([]byte, n)}
}

func benchSizes(b *testing.B, f func(b *testing.B, n int)) {
	for _, n := range []int{0, 2 << 10, 64 << 10, 1 << 20} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			f(b, n)
		})
	}
}

// BenchmarkRoundTrip times a put and its arrival without any waiting: one goroutine drives both
// ends.
func BenchmarkRoundTrip(b *testing.B) { benchRoundTrip(b, connect) }

// BenchmarkSealed is BenchmarkRoundTrip with a key, and with encryption.
func BenchmarkSealed(b *testing.B) {
	for name, connect := range sealings {
		b.Run(name, func(b *testing.B) { benchRoundTrip(b, connect) })
	}
}

func benchRoundTrip(b *testing.B, connect transporttest.Make) {
	benchSizes(b, func(b *testing.B, n int) {
		ts := connect(b, 2)
		defer closeAll(ts)
		sinks := []*bin{{buf: make([]byte, n)}, {buf: make([]byte, n)}}
		f := frameOf(n)
		b.SetBytes(int64(2 * n))
		for b.Loop() {
			for to := range 2 {
				want := sinks[to].frames + 1
				ts[1-to].Put(to, f)
				for sinks[to].frames < want {
					ts[1-to].Poll(sinks[1-to])
					ts[to].Poll(sinks[to])
				}
			}
		}
	})
}

func closeAll(ts []wire.Transport) {
	for _, tr := range ts {
		tr.Close(false, 0)
	}
}

// BenchmarkParked plays ping-pong between two goroutines that park in Wait.
func BenchmarkParked(b *testing.B) { benchPlay(b, func(tr wire.Transport) { tr.Wait(-1) }) }

// BenchmarkYielding plays ping-pong between two goroutines that yield instead.
func BenchmarkYielding(b *testing.B) { benchPlay(b, func(wire.Transport) { goruntime.Gosched() }) }

func benchPlay(b *testing.B, idle func(wire.Transport)) {
	benchSizes(b, func(b *testing.B, n int) {
		ts := connect(b, 2)
		defer closeAll(ts)
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			answer(ts[1], n, idle, stop)
		}()
		s, f := &bin{buf: make([]byte, n)}, frameOf(n)
		for b.Loop() {
			want := s.frames + 1
			ts[0].Put(1, f)
			for s.frames < want {
				if !ts[0].Poll(s) {
					idle(ts[0])
				}
			}
		}
		close(stop)
		ts[1].Wake()
		<-done
	})
}

func answer(tr wire.Transport, n int, idle func(wire.Transport), stop chan struct{}) {
	s, f := &bin{buf: make([]byte, n)}, frameOf(n)
	for answered := 0; ; {
		for ; answered < s.frames; answered++ {
			tr.Put(0, f)
		}
		if !tr.Poll(s) {
			select {
			case <-stop:
				return
			default:
				idle(tr)
			}
		}
	}
}

// BenchmarkStream sends frames one way, 64 queued at a time.
func BenchmarkStream(b *testing.B) {
	benchSizes(b, func(b *testing.B, n int) {
		ts := connect(b, 2)
		defer closeAll(ts)
		sinks := []*bin{{}, {buf: make([]byte, n)}}
		f := frameOf(n)
		unsent := 0
		f.Unsent = &unsent
		b.SetBytes(int64(n))
		sent := 0
		for b.Loop() {
			unsent++
			sent++
			ts[0].Put(1, f)
			for sent%64 == 0 && sinks[1].frames < sent {
				ts[0].Poll(sinks[0])
				ts[1].Poll(sinks[1])
			}
		}
	})
}
