package flow

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/internal/deep"
	"github.com/schedgen/schedgen/ir"
)

// yielding returns the puts of the root of a message of so many chunks to ranks that report.
func yielding(chunks int, from ...int32) (*Peers, *boxed) {
	p := NewPeers(small)
	m := rootOf(1, chunks, from...)
	m.Yields = true
	var y boxed
	p.OpenYields(&y.Yields, m)
	return &p, &y
}

// boxed are yielding puts with their outbox.
type boxed struct {
	Yields
	box Outbox
}

func (y *boxed) decide(k, rank int) Decision         { return y.Decide(&y.box, ir.PutTo(ir.Chunk(k), rank)) }
func (y *boxed) learn(p *Peers, rank, have int) bool { return p.Learn(&y.Yields, &y.box, rank, have) }
func (y *boxed) tick(p *Peers, i int, now moment.Time, busy bool) []int {
	return p.Tick(&y.Yields, &y.box, i, now, busy)
}

// due returns when the first late rank is given up.
func (y *boxed) due(p *Peers) moment.Time {
	due := moment.Never
	p.Timers(&y.Yields, func(_ int, began *moment.Time, span moment.Time) { due = min(due, *began+span) })
	return due
}

// Chunks that a rank reports to have are not put to it.
func TestPutsGiveWay(t *testing.T) {
	p, y := yielding(16, 1)
	require.True(t, y.On())
	require.Equal(t, 16, y.Have(), "the root has all")
	for k := range 16 {
		require.Equal(t, Keep, y.decide(k, 1))
	}
	require.Equal(t, Put, y.decide(0, 2), "it does not report")
	require.True(t, y.box.Has(ByReport))
	require.True(t, y.Lacks(1))
	require.False(t, y.Lacks(2))
	require.Len(t, y.box.All(ByReport), 16)
	require.False(t, y.learn(p, 2, 16))
	require.True(t, y.learn(p, 1, 9))
	require.True(t, y.box.Has(ByReport))
	require.True(t, y.learn(p, 1, 16))
	require.False(t, y.box.Has(ByReport))
	require.Empty(t, y.box.All(ByReport))
	require.Equal(t, Keep, y.decide(3, 1), "it has it")
	require.False(t, y.box.Has(ByReport))
}

// A silent rank is put some chunks, then twice as many, then all at once. In the next operation it
// is put all at once, until it reports.
func TestSilence(t *testing.T) {
	p, y := yielding(64, 1)
	for k := range 64 {
		y.decide(k, 1)
	}
	now := moment.Time(1)
	require.Empty(t, y.tick(p, 0, now, false))
	require.Empty(t, y.tick(p, 0, now, false), "the time of the second tick counts")
	var counts []int
	var waits []moment.Time
	for y.box.Has(ByReport) {
		due := y.due(p)
		require.Empty(t, y.tick(p, 0, due-1, false))
		chunks := y.tick(p, 0, due, false)
		counts, waits = append(counts, len(chunks)), append(waits, due-now)
		now = due
	}
	require.Equal(t, []int{8, 16, 32, 8}, counts)
	require.Equal(t, []moment.Time{base, 2 * base, 4 * base, 4 * base}, waits)
	require.Equal(t, moment.Never, y.due(p))
	require.Equal(t, PutOnce, y.decide(1, 1))

	m := rootOf(2, 64, 1)
	m.Yields = true
	p.OpenYields(&y.Yields, m)
	require.Equal(t, PutOnce, y.decide(0, 1), "it is still silent")
	y.learn(p, 1, 64)
	m.Seq = 3
	p.OpenYields(&y.Yields, m)
	require.Equal(t, PutOnce, y.decide(0, 1), "what all ranks have need not have come by multicast")
	y.learn(p, 1, 3)
	require.Equal(t, Keep, y.decide(9, 1))
}

// A rank is not silent while frames are leaving. A rank that has reported in the operation asks for
// what it lacks, so it has much more time.
func TestNotSilent(t *testing.T) {
	p, y := yielding(16, 1)
	for k := range 16 {
		y.decide(k, 1)
	}
	for now := moment.Time(1); now < 100*base; now += base / 2 {
		require.Empty(t, y.tick(p, 0, now, true))
	}
	y.learn(p, 1, 1)
	now := 100 * base
	require.Empty(t, y.tick(p, 0, now, false))
	require.Equal(t, now+moment.Longest(base), y.due(p))
	require.Empty(t, y.tick(p, 0, y.due(p)-1, false))
	require.NotEmpty(t, y.tick(p, 0, y.due(p), false))
}

// Reports from before the operation count, and a rank that is a whole ring ahead has everything.
func TestEarlyReports(t *testing.T) {
	for _, c := range []struct {
		seq   uint64
		print uint32
		have  int
		want  int
	}{{1, 7, 3, 3}, {1, 7, 100, 16}, {1, 8, 3, 0}, {9, 8, 0, 16}, {2, 7, 5, 0}} {
		p := NewPeers(small)
		p.NoteHave(1, c.seq, c.print, c.have)
		p.NoteHave(1, c.seq, c.print, 0) // an older report
		m := rootOf(1, 16, 1)
		m.Yields = true
		var y Yields
		p.OpenYields(&y, m)
		require.Equal(t, c.want, y.has(1), "%+v", c)
	}
}

// A receiver reports its chunks each eighth of a message, and at the end, once, that it has all
// chunks.
func TestReportsOfAReceiver(t *testing.T) {
	p := NewPeers(small)
	m := innerOf(1, 64)
	m.Yields = true
	var y Yields
	p.OpenYields(&y, m)
	require.Zero(t, y.Have())
	var told []int
	for top := range 64 {
		if y.ShouldReport(top, false) {
			told = append(told, top)
		}
	}
	require.Equal(t, []int{8, 16, 24, 32, 40, 48, 56}, told)
	require.False(t, y.Grow(63))
	require.True(t, y.Grow(64))
	require.False(t, y.Grow(64), "it has said so")
	require.False(t, y.ShouldReport(1000, false))

	m.Bytes = 64 << 10 // 16 chunks of them are worth a report on a slow link
	m.Chunks = 400
	p.OpenYields(&y, m)
	require.False(t, y.ShouldReport(49, true))
	require.True(t, y.ShouldReport(50, true))
	m.Bytes = 64 << 20
	p.OpenYields(&y, m)
	require.False(t, y.ShouldReport(0, true))
	require.True(t, y.ShouldReport(1, true))
	require.False(t, y.ShouldReport(3, false))
	require.True(t, y.ShouldReport(4, false))
}

// Puts of short messages do not yield. Without multicasts no puts yield.
func TestShortMessagesDoNotYield(t *testing.T) {
	for what, cfg := range map[string]Config{
		"short":         {Multicast: true, Room: 1 << 20, Datagram: 10},
		"no multicasts": {Room: 10, Datagram: 10},
		"room for all":  {Multicast: true},
	} {
		cfg.Ahead = 8
		p := NewPeers(cfg)
		m := rootOf(1, 16, 1)
		m.Yields = true
		var y Yields
		p.OpenYields(&y, m)
		require.False(t, y.On(), what)
		require.Equal(t, Put, y.Decide(new(Outbox), ir.PutTo(ir.Chunk(1), 1)), what)
	}
	cfg := Config{Multicast: true, Network: true, Room: 1 << 30, Datagram: 1000}
	require.True(t, cfg.overNetwork(&Message{Chunks: 1, Bytes: yieldBytes, Longest: yieldBytes}))
	cfg.Network = false
	require.False(t, cfg.overNetwork(&Message{Chunks: 1, Bytes: yieldBytes, Longest: yieldBytes}))
}

func TestFloods(t *testing.T) {
	for _, c := range []struct {
		network bool
		bytes   int
		want    bool
	}{{true, Flood, false}, {true, Flood + 1, true}, {false, 1 << 30, false}} {
		cfg := Config{Network: c.network}
		require.Equal(t, c.want, cfg.Floods(c.bytes), "%+v", c)
	}
}

func TestFootprint(t *testing.T) {
	for chunk, want := range map[int]int{0: 10, 1: 10, 10: 10, 11: 20} {
		require.Equal(t, want, Footprint(chunk, 10))
	}
}

// Whatever a rank reports and however long it is silent, each chunk is either reported or put, and
// none is put twice.
func TestEveryChunkComes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.IntRange(5, 80).Draw(t, "chunks")
		p, y := yielding(chunks, 1)
		has := make([]bool, chunks)
		put := func(k int) {
			require.False(t, has[k], "chunk %d is put twice", k)
			has[k] = true
		}
		next, now := 0, moment.Time(1)
		for next < chunks || y.box.Has(ByReport) {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				if next < chunks {
					switch y.decide(next, 1) {
					case PutOnce:
						put(next)
					case Put:
						t.Fatal("it yields")
					case Keep:
					}
					next++
				}
			case 2:
				have := rapid.IntRange(0, next).Draw(t, "have")
				for k := range have {
					has[k] = true
				}
				y.learn(p, 1, have)
			default:
				now += rapid.SampledFrom([]moment.Time{1, base / 2, 100 * base}).Draw(t, "time")
				for _, k := range y.tick(p, 0, now, rapid.Bool().Draw(t, "busy")) {
					put(k)
				}
			}
		}
		for k := range has {
			require.True(t, has[k], "chunk %d", k)
		}
	})
}

// Durations are not part of the state.
func TestStateOfYieldsAndPeers(t *testing.T) {
	p, y := yielding(16, 1, 2)
	for k := range 16 {
		y.decide(k, 1)
	}
	p.NoteHave(2, 5, 7, 3)
	p.NoteReached(2, 6, 7, 2)
	both := func(p *Peers, y *boxed) []byte {
		p, y = deep.Copy(nil, p), deep.Copy(nil, y)
		p.Normalize(4)
		y.Normalize(1)
		return deep.Append(nil, deep.Append(nil, nil, p), y)
	}
	state := both(p, y)
	q, z := deep.Copy(nil, p), deep.Copy(nil, y)
	require.Equal(t, state, both(q, z))
	z.tick(q, 0, 1, false)
	z.learn(q, 2, 0)
	z.tick(q, 1, 5, false)
	z.learn(q, 2, 0)
	z.tick(q, 1, 9, false)
	require.Equal(t, state, both(q, z), "only time has passed")
	q.NoteHave(2, 5, 7, 4)
	require.NotEqual(t, state, both(q, z))
	q = deep.Copy(nil, p)
	q.Timers(&z.Yields, func(_ int, began *moment.Time, span moment.Time) { *began = 1000 - span })
	require.NotEmpty(t, z.tick(q, 0, 1000, false))
	require.NotEqual(t, state, both(q, z))
	require.Equal(t, state, both(p, y))
	p.Normalize(5)
	require.NotEqual(t, state, both(p, y), "what came early has been taken in")
}
