package crew

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/runtime"
)

// lateness is the trial of a barrier whose ranks share no memory. After the timed barriers each rank
// in turn enters one late. The others publish to it that they have left the barrier. A rank that
// left before the late rank entered has left too soon.
type lateness struct {
	comm *runtime.Comm
	call func(context.Context) error // the barrier
}

// lateBy is how late a rank enters, so that a message of a rank that has left too soon can arrive.
const lateBy = 10 * time.Millisecond

func (l *lateness) prepare(int) {}

func (l *lateness) check(*Findings, int) {}

// end runs a barrier with each rank late. The messages go through a Dup, on which nothing else is
// published.
func (l *lateness) end(ctx context.Context, wrong *Findings) (err error) {
	words, err := l.comm.Dup(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, words.Close()) }()
	for late := range l.comm.Size() {
		if err := words.Barrier(ctx); err != nil {
			return err
		}
		missing := l.comm.Size() - 2 // the others' messages
		if late == l.comm.Rank() {
			missing++
			soon, err := l.wait(ctx, words)
			if err != nil {
				return err
			}
			for _, rank := range soon {
				missing--
				wrong.Add(fmt.Sprintf("rank %d left a barrier before rank %d had entered it", rank, late))
			}
		}
		if err := l.call(ctx); err != nil {
			return err
		}
		if late != l.comm.Rank() {
			if err := words.Publish(ctx, []byte{1}); err != nil {
				return err
			}
		}
		for ; missing > 0; missing-- {
			if _, err := words.Next(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// wait waits while the others enter, and returns the ranks that say that they have left.
func (l *lateness) wait(ctx context.Context, words *runtime.Comm) (left []int, err error) {
	soon, cancel := context.WithTimeout(ctx, lateBy)
	defer cancel()
	for {
		msg, err := words.Next(soon)
		switch {
		case err == nil:
			left = append(left, msg.Origin)
		case soon.Err() != nil && ctx.Err() == nil:
			return left, nil
		default:
			return nil, err
		}
	}
}
