package core

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/loss"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// fork is an overlay in which every origin sends to ranks 1 and 2.
type fork struct{ nowhere }

func (fork) Forward(dst []int, rank, origin, _ int) []int {
	if rank == origin {
		dst = append(dst, 1, 2)
	}
	return dst
}

// The list of timers has every timer that runs, with the moment at which it is due, and Due is the
// first of them.
func TestTimers(t *testing.T) {
	const repair, stall = 1000, 3e9
	begin := func(c *Core) *op {
		c.Begin(planOf(t, "bcast/mcast-chain", schedule.Params{Ranks: 4, Chunks: 4}, 0), InPlace(make([]byte, 16)))
		return c.ops.oldest()
	}
	report := func(c *Core, k wire.FrameKind, n uint32) {
		o := c.ops.oldest()
		c.Arrived(&wire.Header{Kind: k, Lane: wire.LaneControl, Epoch: 1, Seq: o.seq, Print: o.print, Arg: n, From: 1}, nil)
	}
	other := Alarm{Kind: alarmOther}
	for what, c := range map[string]struct {
		do   func(*Core)
		want map[Alarm]Time // alarm -> the first moment after a tick at 5
	}{
		"nothing": {func(*Core) {}, nil},
		"a rank takes no connections": {
			func(c *Core) { c.Ended(2, wire.Refused, errors.New("refused")) },
			map[Alarm]Time{{AlarmSuspect, 0, 2}: 5 + presence.Suspicion},
		},
		"a rank is lost": {
			func(c *Core) { c.Ended(2, wire.Broken, errors.New("broken")) },
			map[Alarm]Time{other: 5 + longest},
		},
		"ranks differ": {
			func(c *Core) { c.fate.dispute.Open(2, "") },
			map[Alarm]Time{{AlarmDispute, 0, 0}: 5 + 2*stall},
		},
		"others wait for a refused call": {
			func(c *Core) { c.Refuse(1, ""); c.ops.askedFor(1) },
			map[Alarm]Time{other: 5 + stall},
		},
		"a signal is doubled": {
			func(c *Core) { c.ops.loss.Double(loss.Double{Seq: 1, Slot: ir.Signal(0), To: 2}) },
			map[Alarm]Time{other: 5 + 2e6},
		},
		"a message is not acknowledged": {
			func(c *Core) { c.Publish([]byte("x")) },
			map[Alarm]Time{{AlarmLate, 0, 1}: 5 + repair, {AlarmLate, 0, 2}: 5 + 2*repair},
		},
		"the root waits": {
			func(c *Core) { begin(c).gate = gate{closed: true, peer: -1, wait: 50} },
			map[Alarm]Time{{AlarmGate, 1, 0}: 55, {AlarmWindow, 1, 1}: 5 + repair/2, {AlarmYield, 1, 1}: 5 + repair, {AlarmProbe, 1, 0}: 5 + stall},
		},
		"a rank is silent": {
			func(c *Core) { begin(c); report(c, wire.FrameTaken, 4) },
			map[Alarm]Time{{AlarmYield, 1, 1}: 5 + repair, {AlarmProbe, 1, 0}: 5 + stall},
		},
	} {
		core := New(Config{
			Size: 4, Epoch: 1, Repair: repair, Stall: stall, PublishWindow: 4, PublishBytes: 1000, MaxMessage: 4, Spread: true, Overlay: fork{},
			Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 4, Room: 4},
		}, &spy{})
		c.do(core)
		core.Tick(5)
		first, got := never, map[Alarm]Time{}
		core.timers(func(a Alarm, began *Time, span Time) {
			due := *began + span
			if at, ok := got[a]; !ok || due < at {
				got[a] = due
			}
			first = min(first, due)
		})
		if c.want == nil {
			c.want = map[Alarm]Time{}
		}
		require.Equal(t, c.want, got, what)
		due, limited := core.Due()
		require.Equal(t, first, due, what)
		require.Equal(t, len(c.want) > 0, limited, what)
	}
}

// A rank probes its only neighbour too.
func TestTwoRanksProbe(t *testing.T) {
	c := New(Config{Rank: 1, Size: 2, Epoch: 1, Repair: 20e6, Stall: 250e6, PublishWindow: 1, Overlay: nowhere{}}, &spy{})
	c.Begin(planOf(t, "bcast/linear", schedule.Params{Ranks: 2, Chunks: 1}, 1), InPlace(make([]byte, 8)))
	require.Contains(t, c.Alarms(nil), Alarm{AlarmProbe, 1, 0})
}
