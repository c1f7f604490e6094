package loss

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/ir"
)

// After a loss, signals of the next operations are doubled.
func TestLossesAreExpectedForAWhile(t *testing.T) {
	r := New(Config{Repair: base, Direct: true})
	r.Begin(5)
	require.False(t, r.Losing())
	r.Lost()
	for seq := uint64(5); seq <= 5+lossMemory; seq++ {
		r.Begin(seq)
		require.True(t, r.Losing())
		require.True(t, r.Doubles())
	}
	r.Begin(5 + lossMemory + 1)
	require.False(t, r.Losing())
	require.False(t, r.Doubles())
	r.Slow(0, base)
	r.Slow(1, base)
	require.False(t, r.Doubles())
	r.Slow(1, base+1)
	require.True(t, r.Doubles())
	require.False(t, r.Losing(), "it may only be slow")

	r = New(Config{Repair: base})
	r.Lost()
	r.Begin(1)
	require.False(t, r.Losing(), "no datagram can go to one rank")
}

// A rank that got everything by put has lost the multicast, unless it asks nobody.
func TestEndWithoutTheMulticast(t *testing.T) {
	for _, c := range []struct {
		heard bool
		byPut int
		ask   []int32
		want  bool
	}{{false, 1, []int32{0}, true}, {true, 1, []int32{0}, false}, {false, 0, []int32{0}, false}, {false, 1, nil, false}} {
		r, l, _ := opened(Message{Chunks: 1, Ask: c.ask})
		l.Heard, l.ByPut = c.heard, c.byPut
		r.End(l)
		require.Equal(t, c.want, r.Losing(), "%+v", c)
	}
}

// A doubled signal is repeated at growing intervals, until its receiver is known to have it.
func TestDoubles(t *testing.T) {
	useful := func(uint64, int) bool { return false }
	r := New(Config{Repair: base, Direct: true})
	r.Begin(3)
	repeatDue := func() moment.Time {
		first := moment.Never
		r.Repetitions(func(due *moment.Time) { first = min(first, *due) })
		return first
	}
	require.Nil(t, r.Repeat(1, useful))
	require.Equal(t, moment.Never, repeatDue())
	a := Double{Seq: 3, Slot: ir.Signal(1), Print: 9, To: 2}
	r.Double(a)
	require.True(t, r.Repeating())
	require.Zero(t, repeatDue())
	require.Empty(t, r.Repeat(1000, useful), "it has just been sent")
	last := moment.Time(1000)
	for n := range maxRepeats {
		due := repeatDue()
		require.Equal(t, firstRepeat<<n, due-last)
		require.Empty(t, r.Repeat(due-1, useful))
		got := r.Repeat(due, useful)
		require.Len(t, got, 1)
		require.Equal(t, []any{a.Seq, a.Slot, a.Print, a.To}, []any{got[0].Seq, got[0].Slot, got[0].Print, got[0].To})
		last = due
	}
	require.Empty(t, r.Repeat(repeatDue(), useful))
	require.False(t, r.Repeating())
	_, doubled := r.Counts()
	require.EqualValues(t, 1, doubled)
}

// A signal that has certainly arrived, or is of no use, is not repeated.
func TestDoublesEnd(t *testing.T) {
	for what, c := range map[string]struct {
		do   func(r *Recovery)
		left int
	}{
		"the receiver is inside a later operation": {func(r *Recovery) { r.Inside(2, 4) }, 1},
		"it is inside this one":                    {func(r *Recovery) { r.Inside(2, 3) }, 2},
		"another rank is":                          {func(r *Recovery) { r.Inside(1, 9) }, 2},
		"it has confirmed the signal":              {func(r *Recovery) { r.Confirmed(2, 3, ir.Signal(1)) }, 1},
		"it has confirmed another one":             {func(r *Recovery) { r.Confirmed(2, 3, ir.Signal(2)) }, 2},
		"it has left":                              {func(r *Recovery) { r.Repeat(1, func(_ uint64, to int) bool { return to == 2 }) }, 1},
		"the operation is forgotten":               {func(r *Recovery) { r.Repeat(1, func(seq uint64, _ int) bool { return seq <= 3 }) }, 1},
	} {
		r := New(Config{Direct: true})
		r.Double(Double{Seq: 3, Slot: ir.Signal(1), To: 2})
		r.Double(Double{Seq: 5, Slot: ir.Signal(1), To: 3})
		c.do(&r)
		require.Len(t, r.doubles, c.left, what)
	}
	r := New(Config{Direct: true})
	for n := range maxDoubles + 5 {
		r.Double(Double{Seq: uint64(n)})
	}
	require.Len(t, r.doubles, maxDoubles)
	require.EqualValues(t, 5, r.doubles[0].Seq, "the oldest are dropped")
}

// A rank that hears nothing asks each rank once, for little.
func TestUnheard(t *testing.T) {
	r, l, f := opened(bcast(40))
	var all []request
	for now := moment.Time(1); now < 10*base; now += base / 4 {
		r.AskUnheard(l, now, f)
		requests, _ := taken(r)
		all = append(all, requests...)
	}
	require.Equal(t, []request{
		{do: AskChunks, to: 1, late: true, units: []int{0, 1}},
		{do: AskChunks, to: 0, late: true, units: []int{0, 1}},
	}, all)
	require.False(t, l.Unheard())
	require.Equal(t, moment.Never, due(r, l, TimerUnheard))

	r, l, f = opened(bcast(40))
	r.AskUnheard(l, 1, f)
	require.Equal(t, 1+base, due(r, l, TimerUnheard))
	l.Await()
	r.AskUnheard(l, 1+base, f)
	require.Equal(t, 1+2*base, due(r, l, TimerUnheard), "the previous multicast has been heard")
	l.Hear(3)
	require.False(t, l.Unheard())
	require.Equal(t, moment.Never, due(r, l, TimerUnheard))
}

// The end of an operation at a rank shows that the chunks it needed exist.
func TestEndShows(t *testing.T) {
	gather := func(root int) (held, wanted Blocks) {
		held = func(rank int) ir.Chunks { return ir.Chunks{Blocks: ir.Blocks{First: rank, Count: 1, Step: 1}, Per: 2} }
		wanted = func(rank int) ir.Chunks {
			if rank != root {
				return ir.Chunks{}
			}
			return ir.Chunks{Blocks: ir.Blocks{Count: 4, Step: 1}, Per: 2}
		}
		return held, wanted
	}
	for _, c := range []struct {
		root, from int
		want       []int
	}{{0, 0, []int{0, 1, 4, 5, 6, 7}}, {0, 2, []int{4, 5}}, {0, 3, []int{6, 7}}} {
		var told []int
		held, wanted := gather(c.root)
		EndShows(1, c.from, 4, held, wanted, func(k int) { told = append(told, k) })
		require.Equal(t, c.want, told, "%+v", c)
	}
}
