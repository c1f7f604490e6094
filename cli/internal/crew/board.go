package crew

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/schedgen/schedgen/runtime/status"
)

// Board gathers the status reports of the ranks of a run. It asks the ranks when somebody reads the
// page. It does not ask a rank again before the rank has answered, so that questions do not pile up
// at a stopped process. The methods of a nil board do nothing.
type Board struct {
	mu    sync.Mutex
	ask   func(rank int) // asks a rank, which answers by put; nil before the ranks run
	seats []seat
	moved chan struct{} // closed and replaced when a rank has answered or ended
}

// seat is the state of a rank.
type seat struct {
	last  status.Report
	asked time.Time // zero: no question is open
	ended bool
}

// AnswerTime is the longest time that a reader of the page waits for answers of ranks.
const AnswerTime = time.Second

// NewBoard returns the board of a number of ranks.
func NewBoard(ranks int) *Board {
	return &Board{seats: make([]seat, ranks), moved: make(chan struct{})}
}

// open sets the function that asks a rank. The ranks run from now on.
func (b *Board) open(ask func(rank int)) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ask = ask
}

// put stores the answer of a rank.
func (b *Board) put(rank int, r *status.Report) {
	b.change(rank, func(s *seat) { s.last, s.asked = *r, time.Time{} })
}

// end records that a rank has ended and will not answer.
func (b *Board) end(rank int) {
	b.change(rank, func(s *seat) { s.ended, s.asked = true, time.Time{} })
}

func (b *Board) change(rank int, by func(*seat)) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	by(&b.seats[rank])
	close(b.moved)
	b.moved = make(chan struct{})
}

// Reports is the [status.Source] of a run.
func (b *Board) Reports(ctx context.Context) []status.Report {
	ranks, ask := b.unasked()
	for _, rank := range ranks {
		ask(rank)
	}
	timer := time.NewTimer(AnswerTime)
	defer timer.Stop()
	for {
		moved, waits := b.waits()
		if !waits {
			return b.all()
		}
		select {
		case <-moved:
		case <-timer.C:
			return b.all()
		case <-ctx.Done():
			return b.all()
		}
	}
}

// unasked returns the ranks to ask, marks them as asked, and returns the function that asks one.
func (b *Board) unasked() (ranks []int, ask func(rank int)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for rank := range b.seats {
		if s := &b.seats[rank]; b.ask != nil && !s.ended && s.asked.IsZero() {
			s.asked = time.Now()
			ranks = append(ranks, rank)
		}
	}
	return ranks, b.ask
}

// waits reports whether a rank has not answered yet. It also returns the channel that is closed
// when a rank answers or ends.
func (b *Board) waits() (moved <-chan struct{}, some bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for rank := range b.seats {
		some = some || !b.seats[rank].asked.IsZero()
	}
	return b.moved, some
}

func (b *Board) all() []status.Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []status.Report
	for rank := range b.seats {
		s := &b.seats[rank]
		r := s.last
		r.Process = rank
		switch {
		case b.ask == nil:
			r.Note = "has not started"
		case s.ended:
			r.Note = "has ended"
		case !s.asked.IsZero():
			r.Note = fmt.Sprintf("has not answered for %.1f s", time.Since(s.asked).Seconds())
		}
		all = append(all, r)
	}
	return all
}
