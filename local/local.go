// Package local runs the ranks of a program as goroutines of one process. The tests and examples of
// a program then need no launcher and no network:
//
//	func TestSum(t *testing.T) {
//		err := local.Run(t.Context(), 5, func(ctx context.Context, comm *schedgen.Comm) error {
//			buf := []int{comm.Rank()}
//			if err := schedgen.Allreduce(ctx, comm, buf, schedgen.Sum); err != nil {
//				return err
//			}
//			if buf[0] != 0+1+2+3+4 {
//				return fmt.Errorf("the sum is %d", buf[0])
//			}
//			return nil
//		})
//		if err != nil {
//			t.Fatal(err) // such as "rank 3: the sum is 7"
//		}
//	}
//
// A [Ranks] also says what the network loses and delays, and how communicators are configured. A
// rank dies where its function returns [ErrDeath], so a test can see what the others do. In a
// bubble of testing/synctest the ranks wait in virtual time. Give them a context with a timeout
// there: a rank that waits for a call that never comes sets timers, so it waits for ever and is no
// deadlock.
package local

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/runtime/mem"
)

// Ranks are the ranks of one process.
type Ranks struct {
	Size    int             // number of ranks
	Network mem.Options     // the network between them; by default it loses and delays nothing
	Config  schedgen.Config // of every rank; its Transport must be nil
}

// ErrDeath is returned by a rank's function to make the rank die: its connections break without a
// word, and the other ranks lose it. For Run this is no failure.
var ErrDeath = errors.New("this rank dies")

// Run runs f at ranks 0 … size-1, each with a communicator of all of them, and waits until all have
// returned. It closes the communicators. If f fails at a rank, the context of the others ends, and
// Run returns the error of the rank that has failed first.
//
// f may end its goroutine, as t.FailNow does. Its rank has then failed.
func Run(ctx context.Context, size int, f func(ctx context.Context, comm *schedgen.Comm) error) error {
	return Ranks{Size: size}.Run(ctx, f)
}

// Run is [Run] with the options of r.
func (r Ranks) Run(ctx context.Context, f func(ctx context.Context, comm *schedgen.Comm) error) error {
	if r.Config.Transport != nil {
		return fmt.Errorf("%w: local ranks have a transport of their own, but Config has another", schedgen.ErrInput)
	}
	transports, err := mem.New(r.Size, r.Network)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		ranks sync.WaitGroup
		once  sync.Once
		first error
	)
	fail := func(rank int, err error) {
		once.Do(func() { first = fmt.Errorf("rank %d: %w", rank, err) })
		cancel()
	}
	for rank, tr := range transports {
		ranks.Go(func() {
			cfg := r.Config
			cfg.Transport = tr
			comm, err := schedgen.Join(ctx, cfg)
			if err != nil {
				fail(rank, err)
				return
			}
			returned, dead := false, false
			defer func() {
				if !returned {
					fail(rank, errors.New("its function has ended its goroutine, as t.FailNow does"))
				}
				if dead {
					_ = tr.Close(false, 0) // a memory transport always closes
				}
				if err := comm.Close(); err != nil && !dead {
					fail(rank, err)
				}
			}()
			err = f(ctx, comm)
			returned = true
			switch {
			case errors.Is(err, ErrDeath):
				dead = true
			case err != nil:
				fail(rank, err)
			}
		})
	}
	ranks.Wait()
	return first
}
