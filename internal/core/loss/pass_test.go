package loss

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// asking is a rank that has heard only the last chunk of a multicast of 4 chunks of 100 fragments,
// and its requests.
type asking struct {
	*Recovery
	*Losses
	f        *facts
	requests []request
	next     int // index of the first request without an answer
}

func lacking(t *testing.T) *asking {
	r, l, f := opened(bcast(4))
	a := &asking{Recovery: r, Losses: l, f: f}
	a.Hear(3)
	require.True(t, a.tick(1))
	return a
}

// tick makes the due requests.
func (a *asking) tick(now moment.Time) bool {
	armed := a.Look(a.Losses, now)
	if armed {
		a.Ask(a.Losses, now, a.f)
	}
	requests, _ := taken(a.Recovery)
	a.requests = append(a.requests, requests...)
	return armed
}

// answer delivers the fragments of the next request, except for the lost ones.
func (a *asking) answer(lost func(i int) bool) {
	for _, i := range a.requests[a.next].units {
		if k := a.Parts.chunkOf(i); !lost(i) && !a.Parts.has(i) {
			if a.TakePart(a.Losses, k, (i-int(a.Parts.first[k]))*a.Parts.size, true) {
				a.f.has[k] = true
			}
		}
	}
	a.next++
}

// left returns how many fragments have not arrived.
func (a *asking) left() (n int) {
	for i := range a.Parts.count() {
		if !a.Parts.has(i) {
			n++
		}
	}
	return n
}

func nothing(int) bool { return false }

// All missing fragments are asked for once, as fast as they arrive, from one rank.
func TestPassGoesOn(t *testing.T) {
	a := lacking(t)
	for now := moment.Time(2); a.left() > 0; now++ {
		require.Len(t, a.requests[a.next:], min(underWay+1, (a.left()-1)/a.partsAtOnce()+1), "so many requests are on their way")
		a.answer(nothing)
		a.tick(now)
	}
	want := 0
	for _, q := range a.requests {
		require.Equal(t, AskParts, q.do)
		require.Equal(t, 1, q.to)
		require.LessOrEqual(t, len(q.units), a.partsAtOnce())
		for _, i := range q.units {
			require.Equal(t, want, i)
			want++
		}
	}
	require.Equal(t, 400, want)
	require.True(t, a.Losing())
	require.Equal(t, 4, a.ByPut)
}

// Lost answers do not stop a pass. The next pass asks for them, and asks another rank.
func TestPassOutlivesLosses(t *testing.T) {
	a := lacking(t)
	lose := func(i int) bool { return i%3 == 0 && a.requests[a.next].to == a.requests[0].to }
	for now := moment.Time(2); a.left() > 0; now += 1e6 {
		require.Less(t, now, moment.Time(1e9))
		for a.next < len(a.requests) {
			a.answer(lose)
		}
		a.gaps.quiet = moment.Never
		a.tick(now)
	}
	require.NotEqual(t, a.requests[0].to, a.requests[len(a.requests)-1].to)
	asked := 0
	for _, q := range a.requests {
		asked += len(q.units)
	}
	require.LessOrEqual(t, asked, 400+2*134, "what has come is not asked for again")
}

// A rank that does not answer is skipped, and a rank that gets no answers asks less and less often.
func TestPassInVain(t *testing.T) {
	a := lacking(t)
	p := &a.gaps.pass
	last := moment.Time(1)
	waits := []moment.Time{}
	for range 20 {
		require.NotZero(t, p.again)
		waits = append(waits, p.again-last)
		last = p.again
		a.gaps.quiet = moment.Never
		a.tick(last)
	}
	require.Equal(t, 1, a.requests[0].to)
	require.Equal(t, 0, a.requests[len(a.requests)-1].to)
	require.IsNonDecreasing(t, waits)
	require.LessOrEqual(t, waits[len(waits)-1], moment.Longest(base)<<maxShift)
	require.Greater(t, waits[len(waits)-1], 8*waits[0])
}

// While all requests are on their way, others wait.
func TestRequestsAreBounded(t *testing.T) {
	r, l, f := opened(bcast(4))
	for range maxRequests {
		_, _, ok := r.askParts(l, 0, 4, 1, f)
		require.True(t, ok)
	}
	_, next, ok := r.askParts(l, 0, 4, 1, f)
	require.False(t, ok)
	require.Zero(t, next)
	_, ok = r.askChunks(l, 0, 4, 4, 1, false, f)
	require.True(t, ok, "puts have memory of their own")
	requests, _ := taken(r)
	require.Len(t, requests, maxRequests+1)
	_, _, ok = r.askParts(l, 0, 4, 1, f)
	require.True(t, ok, "they have left")
}

// Without datagrams to one rank, a pass asks for chunks by put.
func TestPassByPut(t *testing.T) {
	r := New(Config{Repair: base})
	r.Begin(1)
	var l Losses
	l.Open(bcast(20))
	f := &facts{has: map[int]bool{3: true, 10: true}}
	l.ByMcast = 2
	l.Hear(10)
	require.True(t, r.Look(&l, 1))
	r.Ask(&l, 1, f)
	requests, others := taken(&r)
	require.Equal(t, []request{{do: AskChunks, to: 1, units: []int{0, 1, 2, 4, 5, 6, 7}}}, requests)
	require.Empty(t, others)
	require.False(t, r.Losing(), "signals cannot be doubled")
}

// Requests in silence ask for little by put at first, then for twice as much each time, until
// something arrives.
func TestPutsInSilence(t *testing.T) {
	a := lacking(t)
	m := Message{Chunks: 1024, Bytes: 1 << 30, Ask: []int32{1, 0}}
	a.Open(m)
	g := &a.gaps
	for tries, want := range []int{1, 1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024} {
		g.tries = tries
		require.Equal(t, want, a.putLimit(a.Losses), "try %d", tries)
	}
	g.tries = 1000
	require.GreaterOrEqual(t, a.putLimit(a.Losses), 1024)
	a.cfg.Direct, g.tries = false, 0
	require.Equal(t, 1024, a.putLimit(a.Losses), "nothing else is asked for")
}

// When the multicast stops, a rank asks for the next chunks too, further each time; when it has
// all, it says so.
func TestSilence(t *testing.T) {
	r, l, f := opened(Message{Chunks: 200, Bytes: 200, Ask: []int32{1, 0}})
	f.has[0] = true
	l.ByMcast = 1
	l.Hear(0)
	now := moment.Time(1)
	require.True(t, r.Look(l, now))
	r.Ask(l, now, f)
	var most []int
	for range 4 {
		now = due(r, l, TimerSilence)
		require.True(t, r.Look(l, now))
		r.Ask(l, now, f)
		requests, _ := taken(r)
		for _, q := range requests {
			require.Equal(t, AskChunks, q.do)
			require.Equal(t, 1, q.units[0])
			most = append(most, q.units[len(q.units)-1])
		}
	}
	require.Equal(t, []int{32, 64, 128}, most, "the first silence is too short")
	l.ByMcast = 200
	now = due(r, l, TimerSilence)
	require.True(t, r.Look(l, now))
	r.Ask(l, now, f)
	_, others := taken(r)
	require.Equal(t, []Output{{Do: TellWhole}}, others)
}

// The last rank to ask mostly has everything, and is asked again. But it may have returned and have
// nothing any more, so others are asked in turn when nothing arrives for long. The root is spared
// once while its multicast goes on.
func TestWhoIsAskedInTurn(t *testing.T) {
	a := lacking(t)
	turns := func() (ranks []int) {
		for turn := range 10 {
			ranks = append(ranks, a.turn(turn))
		}
		return ranks
	}
	require.Equal(t, []int{1, 0, 0, 0, 0, 0, 0, 1, 0, 1}, turns())
	a.gaps.top = 2
	require.Equal(t, []int{1, 1, 0, 0, 0, 0, 0, 1, 0, 1}, turns())
}

// The rank that repairs this rank hears now and then that this rank is at work.
func TestAtWork(t *testing.T) {
	r, l, f := opened(bcast(100))
	var told []moment.Time
	for now, k := moment.Time(1), 3; k < 90; k += 3 {
		l.Hear(k)
		require.True(t, r.Look(l, now))
		r.Ask(l, now, f)
		_, others := taken(r)
		for _, o := range others {
			require.Equal(t, Output{Do: TellAtWork}, o)
			told = append(told, now)
		}
		for _, q := range []int{k - 2, k - 1, k} { // everything is answered at once
			for i := range 100 {
				r.TakePart(l, q, i*1000, true)
			}
			f.has[q] = true
		}
		now += base / 4
	}
	require.NotEmpty(t, told)
	for i := 1; i < len(told); i++ {
		require.GreaterOrEqual(t, told[i]-told[i-1], base/2)
	}
}

// The last chunk of a multicast that others ask about is sent again.
func TestRepeats(t *testing.T) {
	var l Losses
	for _, c := range []struct {
		chunks, k int
		asked     bool
		want      int
	}{{8, 7, true, 2}, {8, 6, true, 0}, {8, 7, false, 0}, {7, 6, true, 0}} {
		l.Open(Message{Chunks: c.chunks, Asked: c.asked})
		require.Equal(t, c.want, l.Repeats(c.k), "%+v", c)
	}
}
