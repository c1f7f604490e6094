package flow

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/internal/deep"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

const base = moment.Time(1000)

// small is a network whose receivers have room for 4 chunks of one datagram.
var small = Config{Repair: base, Multicast: true, Network: true, Room: 40, Datagram: 10, Ahead: 8}

// rootOf is a message at its root, to which the given ranks report.
func rootOf(seq uint64, chunks int, from ...int32) *Message {
	return &Message{Seq: seq, Print: 7, Chunks: chunks, Bytes: 10 * chunks, Longest: 10, Root: true, Recovery: &ir.Recovery{ReportFrom: from}}
}

// innerOf is a message at a rank that reports to rank 0, and to which the given ranks report.
func innerOf(seq uint64, chunks int, from ...int32) *Message {
	m := rootOf(seq, chunks, from...)
	m.Root, m.Recovery.Reports = false, true
	return m
}

// framed is a window with its outbox.
type framed struct {
	Window
	box Outbox
}

// sent makes the multicasts of all chunks, and returns the chunks that need not wait.
func (w *framed) sent(chunks int) (now []int) {
	for k := range chunks {
		if !w.Postpone(&w.box, ir.McastOf(ir.Chunk(k))) {
			now = append(now, k)
		}
	}
	return now
}

// released returns the multicasts that need not wait any more.
func (w *framed) released() (now []int) {
	for w.box.Has(ByRoom) && w.Within(w.box.All(ByRoom)[0].Slot) {
		now = append(now, w.box.All(ByRoom)[0].Slot.Index())
		w.box.Pop(ByRoom, 1)
	}
	return now
}

// The root sends a window, and then as much as the slowest rank has taken, a quarter of a window at
// a time.
func TestRootStaysWithinTheWindow(t *testing.T) {
	p := NewPeers(small)
	var w framed
	p.OpenWindow(&w.Window, rootOf(1, 10, 1, 2), 0)
	require.True(t, w.On())
	require.Equal(t, []int{0, 1, 2, 3}, w.sent(10))
	require.Len(t, w.box.All(ByRoom), 6)
	require.Equal(t, 100, w.Taken())
	step := func(from, chunk int, want Step) {
		s, ok := w.Take(from, chunk)
		require.True(t, ok)
		require.Equal(t, want, s)
	}
	step(1, 3, Nothing)
	require.Empty(t, w.released())
	require.Equal(t, []int{2}, w.Awaited())
	step(2, 2, Release)
	require.Equal(t, []int{4, 5}, w.released())
	step(2, 1, Nothing)
	_, ok := w.Take(3, 10)
	require.False(t, ok, "it does not report here")
	step(1, 10, Nothing)
	require.Equal(t, 2, w.Progress(), "rank 2 has not come further")
	step(2, 100, Finish)
	require.Len(t, w.box.All(ByRoom), 4)
	w.Drop()
	require.Zero(t, w.Taken())
	require.False(t, w.On())
}

// An inner rank reports the least progress of itself and its children, each quarter of a window and
// at the end.
func TestInnerRankReports(t *testing.T) {
	p := NewPeers(Config{Repair: base, Room: 80, Datagram: 10, Ahead: 8})
	var w framed
	p.NoteReached(3, 1, 7, 1)
	p.OpenWindow(&w.Window, innerOf(1, 11, 3), 0)
	require.Zero(t, w.Parent())
	require.Equal(t, Nothing, w.Reached(1))
	require.Equal(t, Nothing, w.Reached(4), "its child has one chunk")
	s, _ := w.Take(3, 2)
	require.Equal(t, Report, s)
	require.Equal(t, 2, w.Progress())
	require.Equal(t, Nothing, w.Reached(3), "it has come further before")
	s, _ = w.Take(3, 11)
	require.Equal(t, Report, s)
	require.Equal(t, 4, w.Progress())
	require.Equal(t, Report, w.End())
	require.Equal(t, 11, w.Progress())
	require.Equal(t, Nothing, w.End())
}

// A report that came before the operation counts only for the same call, and a report that another
// has overtaken does not count.
func TestReportsThatDoNotCount(t *testing.T) {
	p := NewPeers(Config{Repair: base, Room: 80, Datagram: 10, Ahead: 8})
	var w framed
	p.NoteReached(3, 1, 9, 4)
	p.OpenWindow(&w.Window, innerOf(1, 11, 3), 0)
	require.Equal(t, Nothing, w.Reached(4), "rank 3 has called something else")
	s, _ := w.Take(3, 8)
	require.Equal(t, Report, s)
	require.Equal(t, 4, w.Progress())
	s, _ = w.Take(3, 5)
	require.Equal(t, Nothing, s)
	require.Equal(t, Report, w.Reached(8))
	require.Equal(t, 8, w.Progress())
}

// A message needs no window if receivers have room for it, or if no rank of its schedule reports.
func TestNoWindow(t *testing.T) {
	for what, m := range map[string]*Message{"short": rootOf(1, 4, 1), "without reports": rootOf(1, 100)} {
		p := NewPeers(small)
		var w framed
		p.OpenWindow(&w.Window, m, 0)
		require.False(t, w.On(), what)
		require.Len(t, w.sent(m.Chunks), m.Chunks, what)
		require.Equal(t, Nothing, w.Reached(3), what)
	}
	p := NewPeers(Config{})
	var w framed
	p.OpenWindow(&w.Window, rootOf(1, 100, 1), 0)
	require.False(t, w.On(), "receivers have room for everything")
}

// Multicasts that do not fit beside the multicasts of earlier operations wait for them.
func TestMulticastsQueue(t *testing.T) {
	p := NewPeers(small)
	var a, b, c framed
	p.OpenWindow(&a.Window, rootOf(1, 3, 1), 0)
	p.OpenWindow(&b.Window, rootOf(2, 2, 1), a.Taken())
	p.OpenWindow(&c.Window, rootOf(3, 1, 1), a.Taken()+b.Taken())
	require.True(t, p.Queued())
	require.False(t, a.Behind())
	require.True(t, b.Behind())
	require.True(t, c.Behind())
	require.Empty(t, b.sent(2))
	require.Equal(t, []int(nil), b.released())
	require.False(t, p.Fits(&b.Window, a.Taken()))
	a.End()
	require.True(t, p.Fits(&b.Window, a.Taken()))
	require.Equal(t, []int{0, 1}, b.released())
	require.False(t, p.Fits(&b.Window, 0), "it has not waited")
	require.True(t, p.Fits(&c.Window, a.Taken()+b.Taken()))
	require.False(t, p.Queued())
}

// due returns the late ranks, and when they are given up.
func (w *framed) due(y *Yields) map[int]moment.Time {
	due := map[int]moment.Time{}
	w.Timers(y, &w.box, base, func(rank int, began *moment.Time, span moment.Time) { due[rank] = *began + span })
	return due
}

// A late rank is given up once frames have left, and counts again when it reports.
func TestLateChild(t *testing.T) {
	p := NewPeers(small)
	var w framed
	var y Yields
	p.OpenWindow(&w.Window, rootOf(1, 10, 1, 2), 0)
	w.sent(10)
	_, _ = w.Take(1, 4)
	tick := func(now moment.Time, leaving bool) (steps []Step) {
		for {
			s, again := w.Tick(now, base, leaving, &y, &w.box)
			if !again {
				return steps
			}
			steps = append(steps, s)
		}
	}
	require.Empty(t, tick(1, true))
	require.Empty(t, tick(5000, true), "frames are still leaving")
	require.Equal(t, map[int]moment.Time{2: 5000 + 3*base/4}, w.due(&y))
	require.Equal(t, []int{2}, w.Awaited())
	require.Empty(t, tick(5749, false))
	require.Equal(t, []Step{Release}, tick(5750, false))
	require.Equal(t, []int{4, 5, 6, 7}, w.released())
	s, _ := w.Take(2, 4)
	require.Equal(t, Nothing, s)
	_, _ = w.Take(1, 8)
	require.Equal(t, 4, w.Progress(), "it is waited for again")
}

// A rank that has chunks beyond the window waits for its own child, and gives it up itself. A rank
// that has all chunks may have returned, so it is given up here.
func TestLateRankThatHasChunks(t *testing.T) {
	p := NewPeers(small)
	var w framed
	var y Yields
	m := rootOf(1, 10, 1)
	m.Yields = true
	p.OpenYields(&y, m)
	p.OpenWindow(&w.Window, m, 0)
	w.sent(10)
	require.Len(t, w.due(&y), 1)
	p.Learn(&y, &w.box, 1, 5)
	require.Empty(t, w.due(&y))
	p.Learn(&y, &w.box, 1, 10)
	require.Len(t, w.due(&y), 1)
}

// Whatever ranks report in whatever order, the root is never more than a window ahead of the
// slowest, and it sends every chunk once, in order.
func TestWindowIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks, chunks := rapid.IntRange(1, 4).Draw(t, "ranks"), rapid.IntRange(5, 40).Draw(t, "chunks")
		var from []int32
		for r := range ranks {
			from = append(from, int32(r+1))
		}
		p := NewPeers(small)
		var w framed
		p.OpenWindow(&w.Window, rootOf(1, chunks, from...), 0)
		sent := w.sent(chunks)
		taken := make([]int, ranks)
		for range rapid.IntRange(1, 60).Draw(t, "reports") {
			r := rapid.IntRange(0, ranks-1).Draw(t, "rank")
			taken[r] = max(taken[r], rapid.IntRange(0, len(sent)).Draw(t, "taken"))
			s, ok := w.Take(r+1, taken[r])
			require.True(t, ok)
			if s == Finish {
				w.Drop()
				break
			}
			sent = append(sent, w.released()...)
			least := chunks
			for _, n := range taken {
				least = min(least, n)
			}
			require.LessOrEqual(t, len(sent), max(least+4, 4))
			require.GreaterOrEqual(t, len(sent), min(chunks, least+4-1))
		}
		for k, s := range sent {
			require.Equal(t, k, s)
		}
	})
}

// Durations are not part of the state of a window.
func TestStateOfAWindow(t *testing.T) {
	p := NewPeers(small)
	var w framed
	p.OpenWindow(&w.Window, rootOf(1, 10, 1, 2), 0)
	w.sent(10)
	stateOf := func(w *Window) []byte {
		c := deep.Copy(nil, w)
		c.Normalize(9)
		return deep.Append(nil, nil, c)
	}
	state := stateOf(&w.Window)
	c := deep.Copy(nil, &w.Window)
	c.moved, c.stirred = 17, false
	require.Equal(t, state, stateOf(c))
	_, _ = c.Take(1, 3)
	require.NotEqual(t, state, stateOf(c))
}
