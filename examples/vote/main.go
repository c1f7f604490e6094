// Vote solves parts of a problem at many ranks, each at its own pace. The ranks vote on when to
// stop. A rank whose part is good enough proposes to stop, at any time. The other ranks do not wait
// for proposals: they vote when one comes, and continue. All stop when all agree.
//
//	mpirun -n 4 ./vote
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"

	"github.com/schedgen/schedgen"
)

func main() {
	tolerance := flag.Float64("tolerance", 1e-9, "error that a part may have")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *tolerance); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, tolerance float64) error {
	comm, err := schedgen.Init(ctx)
	if err != nil {
		return err
	}
	defer comm.Close()
	p := &part{rest: 1, rate: 1 - 1/float64(2+comm.Rank()%7)}
	votes, err := solve(ctx, comm, p, tolerance)
	if err != nil {
		return err
	}
	fmt.Printf("rank %d: %d steps, error %.1e, %d votes\n", comm.Rank(), p.steps, p.rest, votes)
	return nil
}

// part is the part of a problem that one rank solves. Each step makes its error smaller.
type part struct {
	mu    sync.Mutex // the rank votes while it computes
	rest  float64    // the error
	rate  float64    // factor by which a step reduces rest
	steps int
}

func (p *part) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest *= p.rate
	p.steps++
}

func (p *part) done(tolerance float64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rest <= tolerance
}

// solve solves this rank's part until all ranks agree to stop, and returns the number of votes.
func solve(ctx context.Context, comm *schedgen.Comm, p *part, tolerance float64) (votes int, err error) {
	agreed, once := make(chan struct{}), sync.Once{}
	err = schedgen.Answer(comm, schedgen.And,
		func(schedgen.Message) []bool { return []bool{p.done(tolerance)} },
		func(r schedgen.Result[bool]) {
			if r.Err == nil && r.Value[0] {
				once.Do(func() { close(agreed) })
			}
		})
	if err != nil {
		return 0, err
	}
	if err := schedgen.Barrier(ctx, comm); err != nil { // all ranks can vote now
		return 0, err
	}
	for {
		select {
		case <-agreed:
			// No rank leaves before the last proposal has been voted on.
			return votes, schedgen.Barrier(ctx, comm)
		default:
		}
		p.step()
		if !p.done(tolerance) {
			continue
		}
		votes++
		if _, err := schedgen.Ask[bool](ctx, comm, []byte("stop")); err != nil {
			return votes, errors.Join(errors.New("the vote has no result"), err)
		}
	}
}
