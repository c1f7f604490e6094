package crew

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// story is a crew with scripted ranks. It records when the ranks are stopped and killed.
type story struct {
	crew  *running
	start time.Time
	stops chan struct{} // closed when the ranks are told to stop
	told  []string      // "stop" or "kill", and when
}

func newStory(size int, stopped ...int) *story {
	s := &story{start: time.Now(), stops: make(chan struct{})}
	s.crew = &running{size: size, events: make(chan event)}
	kills := make(chan struct{})
	s.crew.stop = func() { s.note("stop"); close(s.stops) }
	s.crew.kill = func() { s.note("kill"); close(kills) }
	s.crew.stopped = func(rank int) bool {
		for _, r := range stopped {
			if r == rank {
				return true
			}
		}
		return false
	}
	return s
}

func (s *story) note(what string) {
	s.told = append(s.told, what+" after "+time.Since(s.start).String())
}

// fails makes a rank report a failure after the given time, and end.
func (s *story) fails(rank int, after time.Duration, lost ...int) {
	go func() {
		time.Sleep(after)
		s.end(rank, &failure{Rank: rank, Cause: causePeer, Text: "rank is lost", Lost: lost})
	}()
}

func (s *story) end(rank int, f *failure) {
	s.crew.events <- event{rank: rank, report: report{Failed: f}}
	s.crew.events <- event{rank: rank, ended: true}
}

// killed makes a rank do nothing until it is killed.
func (s *story) killed(rank int) {
	kill := s.crew.kill
	s.crew.kill = func() {
		kill()
		go func() { s.crew.events <- event{rank: rank, ended: true} }()
	}
}

// obeys makes a rank do nothing until it is told to stop.
func (s *story) obeys(rank int) {
	go func() {
		<-s.stops
		s.end(rank, newFailure(rank, errCalledOff))
	}()
}

// TestHowLongRanksAreWaitedFor checks that ranks get time to notice the failure of others, and to
// stop, only if they can react.
func TestHowLongRanksAreWaitedFor(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		ranks   func(s *story)
		stopped []int
		want    []string
		text    string
	}{
		"silent, nobody says who is lost": {func(st *story) {
			st.fails(0, s)
			st.fails(1, s)
			st.killed(2)
		}, nil, []string{"stop after 4s", "kill after 7s"}, "rank 2: did not answer and was killed\n2 other ranks gave up with it"},
		"lost, and does not obey": {func(st *story) {
			st.fails(0, s, 2)
			st.fails(1, 2*s, 2)
			st.killed(2)
		}, nil, []string{"stop after 4s", "kill after 7s"}, "rank 2: did not answer and was killed\n2 other ranks gave up with it"},
		"lost and stopped": {func(st *story) {
			st.fails(0, s, 2)
			st.fails(1, 2*s, 2)
			st.killed(2)
		}, []int{2}, []string{"stop after 2s", "kill after 2s"}, "rank 2: did not answer and was killed\n2 other ranks gave up with it"},
		"stopped, nobody says so": {func(st *story) {
			st.fails(0, s)
			st.obeys(1)
			st.killed(2)
		}, []int{2}, []string{"stop after 4s", "kill after 4s"}, "rank 2: did not answer and was killed\n2 other ranks gave up with it"},
		"lost, and lives": {func(st *story) {
			st.fails(0, s, 2)
			st.fails(1, s, 2)
			st.obeys(2)
		}, nil, []string{"stop after 4s"}, "rank 0: rank is lost\nrank 1: rank is lost\n1 other rank gave up with it"},
		"two parts find each other lost": {func(st *story) {
			st.fails(0, s, 1, 2)
			st.fails(1, 2*s, 0)
			st.fails(2, 2*s, 0)
		}, nil, nil, "rank 0: rank is lost\nrank 1: rank is lost\nrank 2: rank is lost"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStory(3, c.stopped...)
				c.ranks(st)
				tl := NewTally(0, nil)
				err := oversee(context.Background(), st.crew, tl, time.Hour, func(string, ...any) {})
				require.EqualError(t, err, c.text)
				require.Equal(t, c.want, st.told)
			})
		})
	}
}
