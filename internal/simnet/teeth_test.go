package simnet

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// The tests of this file break something on purpose, and the checks must find it.

// liar changes or loses frames that are put.
type liar struct {
	core.Net
	change func(f *wire.Frame) *wire.Frame // nil: the frame is lost
}

func (l liar) Put(to int, f *wire.Frame) {
	if g := l.change(f); g != nil {
		l.Net.Put(to, g)
	} else if f.Unsent != nil {
		*f.Unsent--
	}
}

// lying changes the puts of a rank.
func lying(rank int, change func(f *wire.Frame) *wire.Frame) tamper {
	return tamper{wrap: func(r int, n core.Net) core.Net {
		if r == rank {
			return liar{n, change}
		}
		return n
	}}
}

func violated(t *testing.T, sc *Scenario, tp tamper, want string) {
	t.Helper()
	sc.Limit = 20 * Second
	r, err := run(sc, nil, tp)
	require.NoError(t, err)
	require.ErrorContains(t, r.Violation, want)
	honest, err := run(sc, nil, tamper{})
	require.NoError(t, err)
	require.NoError(t, honest.Violation)
}

func scripted(ranks int, ops ...Op) *Scenario {
	return &Scenario{Seed: 5, Ranks: ranks, Net: Net{Up: quick, Down: quick}, Script: ops, Close: true}
}

func TestWrongBytesAreFound(t *testing.T) {
	flip := func(f *wire.Frame) *wire.Frame {
		if len(f.Body) > 0 {
			g := *f
			g.Body = append([]byte(nil), f.Body...)
			g.Body[len(g.Body)/2] ^= 1
			return &g
		}
		return f
	}
	violated(t, scripted(4, Op{Kind: OpBcast, Algorithm: "bcast/chain", Chunks: 1, Bytes: 5000}), lying(1, flip),
		"rank 2 has wrong bytes in step 0, from 2500 on of 5000")
	violated(t, scripted(4, Op{Kind: OpPublish, Count: 3, Bytes: 100}, Op{Kind: OpTake}), lying(0, flip), "with wrong bytes")
}

func TestLostPutIsFound(t *testing.T) {
	lose := func(f *wire.Frame) *wire.Frame {
		if f.Kind == wire.FrameSlot {
			return nil
		}
		return f
	}
	violated(t, scripted(4, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"}), lying(2, lose), "it is not over in time")
}

func TestBodiesThatAreUsedForTooLongAreFound(t *testing.T) {
	late := func(f *wire.Frame) *wire.Frame { // says that the body has left, and reads it later
		g := *f
		if g.Unsent != nil {
			*g.Unsent--
			g.Unsent = nil
		}
		return &g
	}
	sc := scripted(2, Op{Kind: OpBcast, Algorithm: "bcast/chain", Bytes: 5000})
	violated(t, sc, lying(0, late), "wrong bytes")
}

func TestFramesAfterTheEndAreFound(t *testing.T) {
	w := pair(t, Net{}, nil)
	w.procs[0].sealed = true
	unsent := 0
	w.put(wire.LaneControl, 1, 0, &unsent)
	require.ErrorContains(t, w.violation, "after it has closed")
}

// broken returns a tamper that runs a schedule which verify refuses.
func broken(t *testing.T, name string) tamper {
	f, err := os.Open(filepath.Join("..", "..", "golden", "testdata", "broken", name+".txt"))
	require.NoError(t, err)
	defer f.Close()
	s, err := ir.ParseText(f)
	require.NoError(t, err)
	return tamper{programs: func(*Op) *ir.Schedule { return s }}
}

// In some runs where ranks come late, ranks leave a dissemination that forgets to wait too soon.
// The test need not know any particular order.
func TestBrokenBarrierIsFound(t *testing.T) {
	tp, found := broken(t, "forgotten-waits"), 0
	for seed := range uint64(200) {
		sc := scripted(8, Op{Kind: OpCompute, Time: 10 * Millisecond}, Op{Kind: OpBarrier, Algorithm: "barrier/dissemination"})
		sc.Seed = seed
		r, err := run(sc, nil, tp)
		require.NoError(t, err)
		if r.Violation != nil {
			require.ErrorContains(t, r.Violation, "leaves the barrier of step 1")
			found++
		}
	}
	require.NotZero(t, found)
}

func TestForgottenAcknowledgementsAreFound(t *testing.T) {
	tp := broken(t, "early-ack")
	s := tp.programs(nil)
	sc := scripted(s.Ranks, Op{Kind: OpBcast, Algorithm: "bcast/mcast-acktree", Root: s.Root, Bytes: 500, Chunks: s.Chunks})
	sc.Net.Multicast = true
	sc.Faults = []Fault{{Kind: FaultLoss, Host: -1, Until: 100 * Microsecond, PerMille: 1000}}
	violated(t, sc, tp, "the root returns from step 0")
}

// Two runs that differ are a failure of their own.
func TestUnrepeatableRunIsFound(t *testing.T) {
	puts := 0
	tp := lying(0, func(f *wire.Frame) *wire.Frame {
		g := *f
		puts++
		g.Arg = uint32(puts)
		return &g
	})
	r, err := check(scripted(3, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"}), tp)
	require.NoError(t, err)
	require.ErrorIs(t, r.Violation, ErrUnrepeatable)
}

func TestBadScenarios(t *testing.T) {
	for _, c := range []struct {
		change func(*Scenario)
		want   string
	}{
		{func(s *Scenario) { s.Ranks = 0 }, "0 ranks"},
		{func(s *Scenario) { s.Hosts = 9 }, "9 hosts, want 0 … 4"},
		{func(s *Scenario) { s.Net.Flight = -1 }, "net.flight is -1"},
		{func(s *Scenario) { s.Comm.Delay = 9 }, "DelayPolicy(9)"},
		{func(s *Scenario) { s.Comm.Anycast = "bcast/chain" }, "bcast/chain is not rootless"},
		{func(s *Scenario) { s.Script[0].Kind = "jump" }, `step 0: unknown step "jump"`},
		{func(s *Scenario) { s.Script[0].Root = 4 }, "root 4 outside 0 … 3"},
		{func(s *Scenario) { s.Script[0].Algorithm = "barrier/hsb" }, "chunks=1: not a parameter of barrier/hsb"},
		{func(s *Scenario) { s.Script[0].Kind = OpBarrier }, "bcast/chain is no barrier"},
		{func(s *Scenario) { s.Faults = []Fault{{Kind: "rain"}} }, `fault 0: unknown fault "rain"`},
		{func(s *Scenario) { s.Faults = []Fault{{Kind: FaultCrash, Rank: 4}} }, "out of range"},
		{func(s *Scenario) { s.Faults = []Fault{{Kind: FaultLoss, Way: "pigeon"}} }, `fault 0: loss: unknown way "pigeon"`},
		{func(s *Scenario) { s.Faults = []Fault{{Kind: FaultBurst, Chunks: []int{3, -1}}} }, "burst: chunk -1 is out of range"},
		{func(s *Scenario) { s.Faults = []Fault{{Kind: FaultPause, Way: ByPut}} }, "pause: it is no fault of packets"},
	} {
		sc := scripted(4, Op{Kind: OpBcast, Algorithm: "bcast/chain", Bytes: 1})
		c.change(sc)
		_, err := Run(sc, nil)
		require.ErrorIs(t, err, ErrScenario)
		require.ErrorContains(t, err, c.want)
	}
}

func TestShrinkKeepsTheFailure(t *testing.T) {
	sc := Draw(30, 16)
	sc.restrict(12)
	sc.Script = append(sc.Script, Op{Kind: OpBcast, Algorithm: "bcast/linear", Bytes: 700})
	fails := func(s *Scenario) bool {
		for _, o := range s.Script {
			if s.Ranks >= 3 && o.Algorithm == "bcast/linear" && o.Bytes >= 100 {
				return true
			}
		}
		return false
	}
	small, _ := Shrink(sc, fails, 5000)
	require.Equal(t, 3, small.Ranks)
	require.Equal(t, []Op{{Kind: OpBcast, Algorithm: "bcast/linear", Bytes: 100}}, small.Script, fmt.Sprint(small))
	require.Empty(t, small.Faults)
	require.Equal(t, Comm{}, small.Comm)
}

func TestBuffersThatAreWrittenTooLateAreFound(t *testing.T) {
	late := tamper{wrap: func(rank int, n core.Net) core.Net {
		return &scribbler{Net: n, rank: rank}
	}}
	sc := scripted(2, Op{Kind: OpBcast, Algorithm: "bcast/chain", Bytes: 100}, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"})
	violated(t, sc, late, "rank 0: byte 0 of a buffer was written after its call had returned")
}

// scribbler writes to the body of an earlier frame when a later frame is put.
type scribbler struct {
	core.Net
	rank int
	body []byte
}

func (s *scribbler) Put(to int, f *wire.Frame) {
	if s.rank == 0 && len(s.body) > 0 && f.Slot.Kind() == ir.KindSignal {
		s.body[0] = 0
	}
	if s.rank == 0 && len(f.Body) > 0 {
		s.body = f.Body
	}
	s.Net.Put(to, f)
}
