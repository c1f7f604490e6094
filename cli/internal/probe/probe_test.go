package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/model/fit"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// twoRanks is a simulated network of two ranks, seen from rank 0, whose clock advances only by its
// calls. The fields give the times of messages. Rank 1 follows orders.
type twoRanks struct {
	latency, send, receive, gap time.Duration
	perByte                     time.Duration // of the gap, and on the way

	now      time.Time
	tick     time.Duration // time that reading the clock takes
	free     time.Time     // when the interface can send the next message
	theirs   time.Time     // when rank 1 is idle
	back     time.Time     // when the reply of rank 1 comes
	taken    int           // messages of the round that rank 1 has
	count    int           // messages of a round
	orders   int
	failFrom int // number of the first order that fails; all later ones fail, too; 0: none fails
}

func (r *twoRanks) clock() time.Time {
	r.now = r.now.Add(r.tick)
	return r.now
}

var errBroken = errors.New("broken")

func (r *twoRanks) Bcast(_ context.Context, buf []byte, root int) error {
	further := time.Duration(len(buf)-1) * r.perByte
	if root == 1 {
		r.now = later(r.now, r.back).Add(r.receive)
		return nil
	}
	if len(buf) == orderBytes { // no test has messages of that length
		r.orders++
		r.count, r.taken = int(binary.BigEndian.Uint64(buf[8:])), 0
		if r.failFrom > 0 && r.orders >= r.failFrom {
			return errBroken
		}
		return nil
	}
	r.now = r.now.Add(r.send)
	leaves := later(r.now, r.free)
	r.free = leaves.Add(r.gap + further)
	r.theirs = later(r.theirs, leaves.Add(r.latency+further)).Add(r.receive)
	if r.taken++; r.taken == r.count {
		r.back, r.taken = r.theirs.Add(r.send+r.latency+further), 0
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// TestProberFindsTheParameters measures the parameters of the simulated network, without the time
// of reading the clock.
func TestProberFindsTheParameters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nano := func(name string, lo, hi int) time.Duration {
			return time.Duration(rapid.IntRange(lo, hi).Draw(t, name)) * time.Nanosecond
		}
		net := &twoRanks{latency: nano("L", 20_000, 100_000), send: nano("o_s", 100, 5000), receive: nano("o_r", 100, 5000), tick: nano("tick", 500, 900)}
		net.gap, net.perByte = net.send+net.receive+nano("g", 0, 9000), nano("G", 1, 80)
		p := &prober{comm: net, buf: make([]byte, 4096), now: net.clock}
		done := 0
		samples, err := p.lead(t.Context(), &Plan{Sizes: []int{1, 64, 4096}, Precision: 0.01, Budget: time.Hour}, func() error { done++; return nil })
		require.NoError(t, err)
		require.Len(t, samples, 3)
		require.Equal(t, 3, done)
		for i := range samples {
			require.Len(t, samples[i].RoundTrip, leastRounds)
			size := samples[i].Size()
			near := func(want time.Duration, got fit.Interval) { require.InDelta(t, float64(want), got.Value, 1) }
			further := time.Duration(samples[i].Bytes-1) * net.perByte
			near(net.send+net.latency+further+net.receive, size.OneWay)
			near(net.send, size.Send)
			near(net.receive, size.Recv)
			near(net.gap+further, size.Gap)
		}
	})
}

// TestProberEndsWithItsBudget leaves out longer messages when the budget is over, and sends rank 1
// the last order.
func TestProberEndsWithItsBudget(t *testing.T) {
	var sizes []int
	for n := 1; n <= 1<<20; n *= 2 {
		sizes = append(sizes, n)
	}
	net := &twoRanks{latency: time.Millisecond, gap: time.Microsecond, tick: 1000}
	p := &prober{comm: net, buf: make([]byte, 1<<20), now: net.clock}
	samples, err := p.lead(t.Context(), &Plan{Sizes: sizes, Precision: 0.01, Budget: 200 * time.Millisecond}, func() error { return nil })
	require.NoError(t, err)
	require.Greater(t, len(samples), 1)
	require.Less(t, len(samples), 21)
	require.Zero(t, net.count, "the last order")
	for i := range samples {
		require.Len(t, samples[i].Flood, batchRounds)
	}
}

func TestProberTellsErrors(t *testing.T) {
	tune := &Plan{Sizes: []int{1, 2}, Precision: 0.01, Budget: time.Hour}
	for from := range 12 {
		net := &twoRanks{tick: 1000, failFrom: from + 1}
		p := &prober{comm: net, buf: make([]byte, 2), now: net.clock}
		_, err := p.lead(t.Context(), tune, func() error { return nil })
		require.ErrorIs(t, err, errBroken)
	}
	net := &twoRanks{tick: 1000}
	p := &prober{comm: net, buf: make([]byte, 2), now: net.clock}
	full := errors.New("nobody listens")
	_, err := p.lead(t.Context(), tune, func() error { return full })
	require.ErrorIs(t, err, full)
}

// orders is the communicator of rank 1. Broadcasts from rank 0 of orderBytes are orders; it counts
// the others.
type orders struct {
	list  []order
	sent  []int // lengths of messages that rank 1 has sent
	taken int
}

func (o *orders) Bcast(_ context.Context, buf []byte, root int) error {
	switch {
	case root == 1:
		o.sent = append(o.sent, len(buf))
	case len(buf) == orderBytes:
		if len(o.list) == 0 {
			return errBroken
		}
		for i, v := range []int{o.list[0].bytes, o.list[0].count, o.list[0].rounds} {
			binary.BigEndian.PutUint64(buf[8*i:], uint64(v))
		}
		o.list = o.list[1:]
	default:
		o.taken++
	}
	return nil
}

func TestFollow(t *testing.T) {
	o := &orders{list: []order{{5, 1, 3}, {7, 4, 2}, {}}}
	p := &prober{comm: o, buf: make([]byte, 7)}
	require.NoError(t, p.follow(t.Context()))
	require.Equal(t, []int{5, 5, 5, 7, 7}, o.sent)
	require.Equal(t, 3+8, o.taken)
	p.comm = &orders{list: []order{{8, 1, 1}}}
	require.ErrorContains(t, p.follow(t.Context()), "messages of 8 bytes, but the longest of rank 1 has 7")
	p.comm = &orders{}
	require.ErrorIs(t, p.follow(t.Context()), errBroken)
}
