package mcast_test

import (
	"strconv"
	"testing"

	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/wire"
)

// meter is a sink that counts the bytes of fragments.
type meter struct{ datagrams, bytes int }

func (m *meter) Body(*wire.Header) ([]byte, wire.Verdict) { return nil, wire.Drop }
func (m *meter) Arrived(*wire.Header, []byte)             {}
func (m *meter) Ended(int, wire.End, error)               {}
func (m *meter) Fragment(_ *wire.Header, _ int, payload []byte) wire.Verdict {
	m.datagrams++
	m.bytes += len(payload)
	return wire.Accept
}

// BenchmarkMcast multicasts a chunk to some receivers, and each of them takes it, all in one
// goroutine. It measures the system calls and the checks.
func BenchmarkMcast(b *testing.B) {
	for _, receivers := range []int{1, 7} {
		for _, n := range []int{2, 2 << 10, 64 << 10, 512 << 10} {
			b.Run("receivers="+strconv.Itoa(receivers)+"/"+strconv.Itoa(n), func(b *testing.B) {
				benchMcast(b, joinAll(b, receivers+1, mcast.Config{}), n)
			})
		}
	}
}

// BenchmarkTrains is BenchmarkMcast with datagrams of Ethernet's size, which the loopback interface
// takes in trains.
func BenchmarkTrains(b *testing.B) {
	for _, receivers := range []int{1, 7} {
		b.Run("receivers="+strconv.Itoa(receivers), func(b *testing.B) {
			benchMcast(b, joinAll(b, receivers+1, mcast.Config{MTU: 1500}), 64<<10)
		})
	}
}

func benchMcast(b *testing.B, ts []*mcast.Transport, n int) {
	b.ReportAllocs()
	b.SetBytes(int64(n))
	meters := make([]meter, len(ts))
	f := &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Len: n}, Body: make([]byte, n)}
	datagrams := max(1, (n+ts[0].Caps().Datagram-1)/ts[0].Caps().Datagram)
	lost := 0
	for b.Loop() {
		ts[0].Mcast(f)
		ts[0].Poll(&meters[0])
		for i, tr := range ts[1:] {
			m := &meters[i+1]
			want := m.datagrams + datagrams
			for idle := 0; m.datagrams < want && idle < 1000; idle++ {
				tr.Poll(m)
			}
			if m.datagrams < want {
				lost++
				m.datagrams = want
			}
		}
	}
	b.ReportMetric(float64(lost)/float64(b.N), "lost/op")
	for _, tr := range ts {
		tr.Close(false, 0)
	}
}
