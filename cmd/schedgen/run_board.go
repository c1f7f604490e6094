package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/schedgen/schedgen/runtime/status"
)

// board gathers the status reports of the ranks of a run. It asks the ranks when somebody reads the
// page. It does not ask a rank again before the rank has answered, so that questions do not pile up
// at a stopped process. The methods of a nil board do nothing.
type board struct {
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

// answerTime is the longest time that a reader of the page waits for answers of ranks.
const answerTime = time.Second

func newBoard(ranks int) *board {
	return &board{seats: make([]seat, ranks), moved: make(chan struct{})}
}

// open sets the function that asks a rank. The ranks run from now on.
func (b *board) open(ask func(rank int)) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ask = ask
}

// put stores the answer of a rank.
func (b *board) put(rank int, r *status.Report) {
	b.change(rank, func(s *seat) { s.last, s.asked = *r, time.Time{} })
}

// end records that a rank has ended and will not answer.
func (b *board) end(rank int) {
	b.change(rank, func(s *seat) { s.ended, s.asked = true, time.Time{} })
}

func (b *board) change(rank int, by func(*seat)) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	by(&b.seats[rank])
	close(b.moved)
	b.moved = make(chan struct{})
}

// reports is the [status.Source] of a run.
func (b *board) reports(ctx context.Context) []status.Report {
	ranks, ask := b.unasked()
	for _, rank := range ranks {
		ask(rank)
	}
	timer := time.NewTimer(answerTime)
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
func (b *board) unasked() (ranks []int, ask func(rank int)) {
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
func (b *board) waits() (moved <-chan struct{}, some bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for rank := range b.seats {
		some = some || !b.seats[rank].asked.IsZero()
	}
	return b.moved, some
}

func (b *board) all() []status.Report {
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
