package transporttest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
)

// multicasting returns a configuration whose broadcasts use multicast and whose barriers do not.
// The tests of this file are about the multicast groups of communicators.
func multicasting() runtime.Config {
	return runtime.Config{
		Chunk: 3000, Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-chain"}, "barrier": {Name: "barrier/dissemination"}},
	}
}

// grouping skips the test if transports have only the group of all ranks.
func grouping(t *testing.T, with network) {
	trs := with.make(t, 2)
	groups := true
	for _, tr := range trs {
		g, ok := tr.(wire.Groups)
		if groups = groups && ok && tr.Caps().Multicast; groups {
			_, err := g.DrawGroup()
			groups = err == nil
		}
	}
	both := make(chan error, len(trs))
	for _, tr := range trs {
		go func() { both <- tr.Close(true, patience) }()
	}
	for range trs {
		require.NoError(t, <-both)
	}
	if !groups {
		t.Skip("there is no group but the one of all ranks")
	}
}

// testGroups: the ranks of one half hear nothing of the broadcasts of the other half, even if that
// is split again, and even if all ranks are members once more.
func testGroups(t *testing.T, with network) {
	grouping(t, with)
	net := &overheard{make: with.make}
	with.make = net.transports
	comms := join(t, with, 6, multicasting())
	halves := divide(t, comms, parity, identity)
	quarters := divide(t, present([]*runtime.Comm{halves[0], halves[2], halves[4]}), func(rank int) int { return min(rank, 1) }, identity)
	twins := divide(t, comms, constant, identity)
	for _, c := range halves {
		require.NotEmpty(t, c.State().Group)
		require.Equal(t, halves[c.State().Process%2].State().Group, c.State().Group)
	}
	groups := map[string]bool{}
	for _, c := range []*runtime.Comm{halves[0], halves[1], quarters[1], twins[0]} {
		groups[c.State().Group] = true
	}
	require.Len(t, groups, 4)
	exercise(t, twins)

	for _, test := range []struct {
		members []*runtime.Comm // the broadcasting ranks
		others  []*runtime.Comm // of the first communicator
	}{
		{[]*runtime.Comm{halves[0], halves[2], halves[4]}, []*runtime.Comm{comms[1], comms[3], comms[5]}},
		{[]*runtime.Comm{halves[1], halves[3], halves[5]}, []*runtime.Comm{comms[0], comms[2], comms[4]}},
		{quarters[1:], []*runtime.Comm{comms[0], comms[1], comms[3], comms[5]}},
	} {
		net.silent(t, test.members, test.others)
	}
	exercise(t, comms)
}

// overheard makes transports that count the datagrams that are offered to their ranks.
type overheard struct {
	make  Make
	ranks []*listener
}

// listener counts datagrams by communicator and sender.
type listener struct {
	wire.Transport
	wire.Groups
	wire.Sink
	heard [1 << 8][]atomic.Int64
}

func (o *overheard) transports(t testing.TB, size int) []wire.Transport {
	ts := o.make(t, size)
	for i, tr := range ts {
		l := &listener{Transport: tr, Groups: tr.(wire.Groups)}
		for comm := range l.heard {
			l.heard[comm] = make([]atomic.Int64, size)
		}
		o.ranks, ts[i] = append(o.ranks, l), l
	}
	return ts
}

// Poll implements [wire.Transport].
func (l *listener) Poll(s wire.Sink) bool {
	l.Sink = s
	return l.Transport.Poll(l)
}

// Fragment implements [wire.Sink].
func (l *listener) Fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	l.heard[h.Comm][h.From].Add(1)
	return l.Sink.Fragment(h, offset, payload)
}

// silent makes members multicast, and requires that the other ranks hear nothing of it.
func (o *overheard) silent(t testing.TB, members, others []*runtime.Comm) {
	all(t, members, bcastsTwenty)
	var processes []int
	for _, c := range members {
		processes = append(processes, c.State().Process)
	}
	number := members[0].State().Comm
	for _, c := range slices.Concat(members, others) {
		for range 3 { // to process what has arrived
			_, _, err := c.TryNext()
			require.NoError(t, err)
		}
		heard := int64(0)
		for _, from := range processes {
			heard += o.ranks[c.State().Process].heard[number][from].Load()
		}
		if slices.Contains(members, c) {
			require.Positive(t, heard, "members of communicator %d", number)
		} else {
			require.Zero(t, heard, "process %d is no member of communicator %d of %v", c.State().Process, number, processes)
		}
	}
}

// testManyGroups keeps a hundred communicators open at once.
func testManyGroups(t *testing.T, with network) {
	grouping(t, with)
	comms := join(t, with, 4, multicasting())
	var open [][]*runtime.Comm
	for i := range 100 {
		open = append(open, divide(t, comms, func(rank int) int { return (rank + i) % 2 }, identity))
	}
	groups := map[string]bool{}
	for i, children := range open {
		for _, c := range children {
			require.NotEmpty(t, c.State().Group, c.State().Shared)
			groups[c.State().Group] = true
		}
		if i%10 == 0 {
			exercise(t, children)
		}
		if i%3 > 0 {
			closeAll(t, children)
		}
	}
	require.Len(t, groups, 200)
	exercise(t, open[len(open)-1])
	exercise(t, comms)
}

// testGroupOfHeir: the successor of a communicator keeps its group, and a rank that has left it
// hears nothing more.
func testGroupOfHeir(t *testing.T, with network) {
	grouping(t, with)
	const gone = 4
	net, cfg := &overheard{make: with.make}, multicasting()
	with.make = net.transports
	cfg.Stall = 20 * time.Millisecond
	comms := join(t, with, 6, cfg)
	halves := divide(t, comms, parity, identity)
	left, group := []*runtime.Comm{halves[0], halves[2]}, halves[gone].State().Group
	require.NotEmpty(t, group)
	require.NoError(t, halves[gone].Close())
	shrunk := derive(t, left, func(ctx context.Context, c *runtime.Comm) (*runtime.Comm, error) { return c.Shrink(ctx) })
	for _, c := range shrunk {
		require.Equal(t, group, c.State().Group)
	}
	net.silent(t, shrunk, []*runtime.Comm{comms[1], comms[3], comms[gone], comms[5]})
	exercise(t, shrunk)
	exercise(t, comms)
}

func bcastsTwenty(ctx context.Context, c *runtime.Comm) error {
	for i := range uint64(20) {
		if err := bcast(ctx, c, i, buffer(20_000), int(i)%c.Size()); err != nil {
			return fmt.Errorf("broadcast %d: %w", i, err)
		}
	}
	return c.Barrier(ctx)
}
