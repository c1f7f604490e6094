package loss

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// jobs returns the repairs that are due, and says of each that chunks are left if more is set.
func jobs(r *Recovery, l *Losses, now moment.Time, f *facts, more bool) (list []Job) {
	for at := 0; ; {
		j, ok := r.NextRepair(l, at, now, f)
		if !ok {
			return list
		}
		r.Repaired(l, j, now, more, false)
		list = append(list, j)
		at = j.Next()
	}
}

var (
	putsChunks  = Rule{Number: 4, After: 2, Chunks: true, To: 3}
	putsSignals = Rule{Number: 5, After: 1, To: 2}
)

// A repair is due after as many base timeouts as the schedule says, and then less and less often.
func TestRepairsBackOff(t *testing.T) {
	r, l, f := opened(bcast(4))
	l.Arm(putsChunks)
	require.True(t, l.Timed())
	require.Zero(t, due(r, l, TimerRepair), "at once, to start the timer")
	require.Empty(t, jobs(r, l, 1000, f, false))
	last := moment.Time(1000)
	var waits []moment.Time
	for range 8 {
		next := due(r, l, TimerRepair)
		require.Empty(t, jobs(r, l, next-1, f, false))
		require.Len(t, jobs(r, l, next, f, false), 1)
		waits = append(waits, (next-last)/base)
		last = next
	}
	require.Equal(t, []moment.Time{2, 4, 8, 16, 32, 64, 64, 64}, waits)
	n, _ := r.Counts()
	require.EqualValues(t, 8, n)
	f.called[4] = true
	require.Empty(t, jobs(r, l, last+1000*base, f, false))
	require.Equal(t, moment.Never, due(r, l, TimerRepair))
	require.False(t, l.Timed())
}

// A repair puts some chunks at a time, twice as many each time, and does not queue behind frames
// that have not left.
func TestRepairsInRounds(t *testing.T) {
	r, l, f := opened(Message{Chunks: 1 << 20, Bytes: 1 << 30})
	l.Arm(putsChunks)
	jobs(r, l, 1, f, true)
	f.unsent = true
	require.Empty(t, jobs(r, l, due(r, l, TimerRepair), f, true), "the multicast has not left")
	f.unsent = false
	require.Empty(t, jobs(r, l, due(r, l, TimerRepair), f, true), "it has just left")
	var most []int
	now := moment.Time(0)
	for range 4 {
		now = due(r, l, TimerRepair)
		list := jobs(r, l, now, f, true)
		require.Len(t, list, 1)
		require.EqualValues(t, 4, list[0].Rule)
		most = append(most, list[0].Most)
		require.Equal(t, now+base/4, due(r, l, TimerRepair))
	}
	require.Equal(t, []int{256, 512, 1024, 2048}, most)
	f.unsent = true
	now += base / 4
	require.Empty(t, jobs(r, l, now, f, true))
	require.Equal(t, now+base/4, due(r, l, TimerRepair), "the rest follows the frames that have left")
}

// Where losses are seen, a repair of a short message puts less, and waits longer for the rest.
func TestRepairsOfShortMessagesWhileLosing(t *testing.T) {
	r, l, f := opened(Message{Chunks: 100, Bytes: 100 << 10})
	r.Lost()
	l.Arm(putsChunks)
	jobs(r, l, 1, f, true)
	now := due(r, l, TimerRepair)
	list := jobs(r, l, now, f, true)
	require.Equal(t, 2, list[0].Most)
	require.Equal(t, now+2*base, due(r, l, TimerRepair))
}

// A rank that is at work is spared; a rank that has all chunks needs no repair.
func TestSpare(t *testing.T) {
	r, l, f := opened(bcast(4))
	l.Arm(putsChunks)
	l.Arm(putsSignals)
	jobs(r, l, 1, f, false)
	l.Spare(2, true)
	l.Spare(3, false)
	require.Len(t, jobs(r, l, 1+2*base, f, false), 1, "the one that puts signals")
	require.Len(t, jobs(r, l, 1+2*base+2*base, f, false), 2)
	l.Spare(3, true)
	var rules []int
	r.Timers(l, func(k Timer, rule int, began *moment.Time, _ moment.Time) {
		if k == TimerRepair {
			rules, *began = append(rules, rule), 77*base
		}
	})
	require.Equal(t, []int{5}, rules)
	repairs, _, _ := l.Usage()
	require.Equal(t, 1, repairs)
	require.Equal(t, 77*base, due(r, l, TimerRepair))
	r.End(l)
	require.Equal(t, moment.Never, due(r, l, TimerRepair))
}

// Signals of an operation without bytes are asked for once: a lane loses nothing.
func TestSignalsWithoutBytesAreAskedForOnce(t *testing.T) {
	r, l, f := opened(Message{Chunks: 1})
	l.Arm(putsSignals)
	_, ok := r.NextRepair(l, 0, 1, f)
	require.False(t, ok)
	j, ok := r.NextRepair(l, 0, due(r, l, TimerRepair), f)
	require.True(t, ok)
	r.Repaired(l, j, 1, false, true)
	require.Equal(t, moment.Never, due(r, l, TimerRepair))
}

// While answers by datagram arrive, the schedule does not ask for whole chunks.
func TestAnswersComeBeforeWholeChunks(t *testing.T) {
	r, l, f := opened(bcast(40))
	l.Hear(39)
	r.Look(l, 1)
	r.Ask(l, 1, f)
	requests, _ := taken(r)
	require.NotEmpty(t, requests)
	l.Arm(putsSignals)
	jobs(r, l, 1, f, false)
	require.Empty(t, jobs(r, l, 1+base, f, false))
	l.gaps.pass.vain = 2
	require.Len(t, jobs(r, l, 1+2*base, f, false), 1)
}

// A rank that lacks signals asks sooner if operations are fast.
func TestPaceOfRepairs(t *testing.T) {
	r, l, f := opened(Message{Chunks: 1})
	now := moment.Time(1)
	for range 20 {
		l.Open(Message{Chunks: 1})
		l.Arm(putsSignals)
		jobs(r, l, now, f, false)
		now += 500e3
	}
	require.Equal(t, now-500e3+pacePatience*500e3, due(r, l, TimerRepair))
}

// Frames that took long to arrive here take as long to others.
func TestRepairsOnASlowLink(t *testing.T) {
	r, l, f := opened(bcast(4))
	l.Hear(1)
	require.True(t, r.Look(l, 1))
	l.Arm(putsChunks)
	jobs(r, l, 1+10*base, f, false)
	require.Equal(t, 10*base, l.repairs.list[0].wait)
}
