package loss

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/internal/deep"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// A chunk is put to a rank only once. Ranks beyond maxServed may get it again.
func TestService(t *testing.T) {
	var l Losses
	l.Open(bcast(100))
	once := func(k, rank int, first, known bool) {
		f, n := l.Once(k, rank)
		require.Equal(t, first, f, "chunk %d to rank %d", k, rank)
		require.Equal(t, known, n)
	}
	for rank := range maxServed {
		once(99, rank, true, true)
	}
	once(99, 7, false, true)
	once(98, 7, true, true)
	once(3, maxServed, true, false)
	once(3, maxServed, true, false)
	l.Open(bcast(100))
	once(99, 7, true, true)
}

// Missing chunks and fragments are owed, and given when they arrive. A chunk goes by put, once;
// fragments go as datagrams, as often as they are asked for.
func TestServe(t *testing.T) {
	r, l, f := opened(bcast(4))
	f.has[0], f.has[1] = true, true
	r.Serve(l, 3, runsOf(0, 1, 2), false, false, f)
	r.Serve(l, 3, runsOf(0), false, false, f)
	_, others := taken(r)
	require.Equal(t, []Output{{Do: Give, To: 3, Chunk: 0}, {Do: Give, To: 3, Chunk: 1}}, others)

	r.TakePart(l, 2, 5000, false)
	r.TakePart(l, 2, 6000, false)
	r.Serve(l, 2, runsOf(198, 199, 200, 204, 205, 206, 207), true, false, f)
	r.Serve(l, 2, runsOf(205), true, false, f)
	_, others = taken(r)
	require.Equal(t, []Output{
		{Do: GiveParts, To: 2, Chunk: 1, Lo: 198, Hi: 200},
		{Do: GiveParts, To: 2, Chunk: 2, Lo: 205, Hi: 207},
		{Do: GiveParts, To: 2, Chunk: 2, Lo: 205, Hi: 206},
	}, others)
	require.True(t, l.Owes())

	f.has[2] = true
	r.Repay(l, 2, f)
	_, others = taken(r)
	require.Equal(t, []Output{
		{Do: Give, To: 3, Chunk: 2},
		{Do: GiveParts, To: 2, Chunk: 2, Lo: 200, Hi: 201},
		{Do: GiveParts, To: 2, Chunk: 2, Lo: 204, Hi: 205},
		{Do: GiveParts, To: 2, Chunk: 2, Lo: 207, Hi: 208},
	}, others)
	r.Repay(l, 2, f)
	_, others = taken(r)
	require.Empty(t, others)

	f.ended = true
	r.Serve(l, 5, runsOf(3), false, false, f)
	r.Serve(l, 5, runsOf(300), true, false, f)
	_, others = taken(r)
	require.Len(t, others, 2, "an operation that has ended here lacks nothing")
}

// Only runs of existing units count as requests, and only as many fragments as ranks ask for.
func TestValid(t *testing.T) {
	r, l, _ := opened(bcast(4))
	require.True(t, r.Valid(l, runsOf(0, 3), false))
	require.False(t, r.Valid(l, runsOf(4), false))
	require.True(t, r.Valid(l, runsOf(399), true))
	require.False(t, r.Valid(l, runsOf(400), true))
	require.True(t, r.Valid(l, []byte{0, 0, 0, 0, 0, 0, 0, 32}, true))
	require.False(t, r.Valid(l, []byte{0, 0, 0, 0, 0, 0, 0, 33}, true))
	require.False(t, r.Valid(l, []byte{0, 0, 0, 0, 0, 0, 0}, false))
	require.True(t, r.Valid(l, nil, true))
}

// The number of ranks that are owed something is bounded, and the memory of old debts comes back
// empty.
func TestDebts(t *testing.T) {
	var l Losses
	l.Open(bcast(100))
	for rank := range maxDebtors {
		l.debtTo(rank).owe(70, 100, false)
	}
	require.Nil(t, l.debtTo(maxDebtors))
	_, _, debtors := l.Usage()
	require.Equal(t, maxDebtors, debtors)
	require.True(t, l.debtTo(3).chunks.Remove(70))
	require.False(t, l.debtTo(3).chunks.Remove(70))
	require.False(t, l.debtTo(3).parts.Remove(70))
	l.Open(bcast(100))
	require.False(t, l.Owes())
	require.Empty(t, l.debtTo(3).chunks)
}

// A chunk that was asked for by put, and may only have been late, is no longer owed when it arrives
// by datagram.
func TestLateChunksAreExcused(t *testing.T) {
	var l Losses
	d := l.debtTo(3)
	d.owe(1, 100, true)
	d.owe(2, 100, false)
	d.owe(3, 100, true)
	d.owe(3, 100, false)
	d.owe(4, 100, false)
	d.owe(4, 100, true)
	d.parts = d.parts.With(1)
	for k := range 100 {
		l.excuse(k)
	}
	for k, owed := range []bool{false, false, true, true, true, false} {
		require.Equal(t, owed, l.debtTo(3).chunks.Remove(k), "chunk %d", k)
	}
	require.True(t, l.debtTo(3).parts.Remove(1), "a fragment is asked for when it is lost")
}

// A multicast that was only late excuses this rank from giving the chunk.
func TestLateMulticastIsNotGiven(t *testing.T) {
	for _, late := range []bool{true, false} {
		r, l, f := opened(Message{Chunks: 2, Bytes: 2000})
		r.Serve(l, 3, runsOf(0), false, late, f)
		require.True(t, r.TakePart(l, 0, 0, false))
		f.has[0] = true
		r.Repay(l, 0, f)
		_, others := taken(r)
		require.Equal(t, late, len(others) == 0)
	}
}

// Whatever ranks ask for and in whatever order chunks arrive, each gets each chunk that it has
// asked for by put exactly once, in the end.
func TestAllAreServed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks, ranks := rapid.IntRange(1, 20).Draw(t, "chunks"), rapid.IntRange(1, maxDebtors).Draw(t, "ranks")
		r, l, f := opened(Message{Chunks: chunks, Bytes: chunks})
		asked, given := map[[2]int]bool{}, map[[2]int]bool{}
		take := func() {
			_, others := taken(r)
			for _, o := range others {
				at := [2]int{o.To, o.Chunk}
				require.True(t, f.has[o.Chunk])
				require.True(t, asked[at])
				require.False(t, given[at], "%v", at)
				given[at] = true
			}
		}
		order := rapid.Permutation(numbers(chunks)).Draw(t, "order")
		for len(order) > 0 {
			if rapid.Bool().Draw(t, "asks") {
				k, rank := rapid.IntRange(0, chunks-1).Draw(t, "chunk"), rapid.IntRange(0, ranks-1).Draw(t, "rank")
				asked[[2]int{rank, k}] = true
				r.Serve(l, rank, runsOf(k), false, rapid.Bool().Draw(t, "late"), f)
			} else {
				f.has[order[0]] = true
				r.Repay(l, order[0], f)
				order = order[1:]
			}
			take()
		}
		require.Equal(t, asked, given)
	})
}

func numbers(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// Durations are not part of the state. Of an ended operation, only the part that others may ask for
// counts.
func TestStateOfLosses(t *testing.T) {
	r, l, f := opened(bcast(4))
	l.Hear(3)
	r.Look(l, 1)
	r.Ask(l, 1, f)
	taken(r)
	r.Serve(l, 3, runsOf(0, 1), false, true, f)
	r.Serve(l, 3, runsOf(100), true, false, f)
	l.Once(2, 5)
	l.Arm(Rule{Number: 1, After: 1, Chunks: true, To: 3})
	stateOf := func(r *Recovery, l *Losses, inside bool) []byte {
		r, l = deep.Copy(nil, r), deep.Copy(nil, l)
		r.Timers(l, func(_ Timer, _ int, began *moment.Time, _ moment.Time) { *began = 2000 * base })
		l.Normalize(1000*base, base, inside)
		r.Normalize()
		return deep.Append(nil, deep.Append(nil, nil, r), l)
	}
	state, ended := stateOf(r, l, true), stateOf(r, l, false)
	for what, change := range map[string]func(r *Recovery, l *Losses){
		"heard":    func(_ *Recovery, l *Losses) { l.Hear(3) },
		"arrived":  func(r *Recovery, l *Losses) { r.TakePart(l, 1, 0, true) },
		"owed":     func(r *Recovery, l *Losses) { r.Serve(l, 3, runsOf(2), false, true, f) },
		"given":    func(_ *Recovery, l *Losses) { l.Once(1, 5) },
		"loss":     func(r *Recovery, _ *Losses) { r.Begin(2); r.Lost() },
		"cry":      func(_ *Recovery, l *Losses) { l.unheard++ },
		"requests": func(r *Recovery, l *Losses) { r.askChunks(l, 0, 4, 1, 1, false, f); r.Outputs() },
	} {
		q, m := deep.Copy(nil, r), deep.Copy(nil, l)
		change(q, m)
		require.NotEqual(t, state, stateOf(q, m, true), what)
		if what == "arrived" || what == "cry" || what == "heard" {
			require.Equal(t, ended, stateOf(q, m, false), what)
		} else {
			require.NotEqual(t, ended, stateOf(q, m, false), what)
		}
	}
	q, m := deep.Copy(nil, r), deep.Copy(nil, l)
	r.Look(l, base)
	_, _ = r.NextRepair(l, 0, 1, f)
	q.Look(m, 7*base)
	m.gaps.given = true
	_, _ = q.NextRepair(m, 0, 3, f)
	l.gaps.fresh, m.gaps.fresh = false, false
	require.Equal(t, stateOf(r, l, true), stateOf(q, m, true))
}
