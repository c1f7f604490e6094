// Package probe measures how long messages between two ranks take, by broadcasts in both
// directions.
package probe

import (
	"context"
	"encoding/binary"
	"fmt"
	goruntime "runtime"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/model/fit"
)

// Plan says what to measure.
type Plan struct {
	Sizes     []int         // bytes of messages, ascending
	Precision float64       // sufficient half width of an interval, as a fraction of the value
	Budget    time.Duration // begin no further batch after this time
}

// Comm is the part of a communicator of two ranks that measuring needs.
type Comm interface {
	// Bcast brings the content of buf at rank root to buf at the other rank.
	Bcast(ctx context.Context, buf []byte, root int) error
}

// Lead measures at rank 0, while rank 1 is in [Follow], and returns the times of each size. It
// leaves out sizes that the budget has not reached. It calls done once for each size that is known
// well enough, and returns the first error of done or of the communicator.
func Lead(ctx context.Context, comm Comm, plan *Plan, done func() error) ([]fit.Samples, error) {
	p := &prober{comm: comm, buf: make([]byte, slices.Max(plan.Sizes)), now: time.Now}
	return p.lead(ctx, plan, done)
}

// Follow does at rank 1 what rank 0 orders, until the measurement is over. plan is rank 0's plan.
func Follow(ctx context.Context, comm Comm, plan *Plan) error {
	p := &prober{comm: comm, buf: make([]byte, slices.Max(plan.Sizes))}
	return p.follow(ctx)
}

// prober measures by broadcasts between two ranks.
type prober struct {
	comm Comm
	buf  []byte
	now  func() time.Time
	tick float64 // nanoseconds that reading the clock takes
	head [orderBytes]byte
}

// The numbers of rounds.
const (
	batchRounds = 10   // rounds of each kind in a batch
	warmRounds  = 3    // rounds of each kind before a batch, which do not count
	mostRounds  = 1000 // largest number for a size, so that the report stays short
	leastRounds = 20   // least number for a reliable interval
)

// lead measures all sizes in sweeps until all are known well enough, so that changes during the
// measurement affect all sizes. Sweeps go up and down in turn: short messages then do not always
// follow the longest ones, which change caches and the system's estimate of a connection's rate.
// Sizes that the budget has not reached are left out. lead calls done once for each size that is
// known well enough.
func (p *prober) lead(ctx context.Context, t *Plan, done func() error) ([]fit.Samples, error) {
	p.calibrate()
	end := p.now().Add(t.Budget)
	all := make([]fit.Samples, len(t.Sizes))
	turn := make([]*fit.Samples, len(all))
	for i := range all {
		all[i].Bytes, turn[i] = t.Sizes[i], &all[i]
	}
	for known := map[*fit.Samples]bool{}; ; slices.Reverse(turn) {
		over, err := p.sweep(ctx, turn, func() bool { return p.now().After(end) && len(all[0].RoundTrip) > 0 })
		if err != nil {
			return nil, err
		}
		open := 0
		for _, s := range turn {
			switch is := enough(s, t.Precision); {
			case !is:
				open++
			case !known[s]:
				known[s] = true
				if err := done(); err != nil {
					return nil, err
				}
			}
		}
		if open == 0 || over {
			break
		}
	}
	all = slices.DeleteFunc(all, func(s fit.Samples) bool { return len(s.RoundTrip) == 0 })
	return all, p.order(ctx, order{})
}

// sweep measures each size once, except sizes that have mostRounds already. It reports whether over
// ended it early.
func (p *prober) sweep(ctx context.Context, all []*fit.Samples, over func() bool) (bool, error) {
	for _, s := range all {
		if over() {
			return true, nil
		}
		if len(s.RoundTrip) >= mostRounds {
			continue
		}
		if err := p.batch(ctx, s); err != nil {
			return false, err
		}
	}
	return false, nil
}

// enough reports whether a size is known well enough.
func enough(s *fit.Samples, precision float64) bool {
	if len(s.RoundTrip) < leastRounds {
		return false
	}
	size := s.Size()
	return size.Settled(precision, fit.Resolution) || len(s.RoundTrip) >= mostRounds
}

// calibrate measures how long it takes to read the clock.
func (p *prober) calibrate() {
	ticks := make([]float64, 101)
	for i := range ticks {
		before := p.now()
		ticks[i] = float64(p.now().Sub(before))
	}
	p.tick = fit.Median(ticks).Value
}

// since returns the nanoseconds since start, without the time that reading the clock takes.
func (p *prober) since(start time.Time) float64 {
	return max(float64(p.now().Sub(start))-p.tick, 0)
}

// batch adds rounds of each kind to the samples of a size.
func (p *prober) batch(ctx context.Context, s *fit.Samples) error {
	warm := fit.Samples{Bytes: s.Bytes}
	if err := p.rounds(ctx, &warm, warmRounds); err != nil {
		return err
	}
	return p.rounds(ctx, s, batchRounds)
}

func (p *prober) rounds(ctx context.Context, s *fit.Samples, n int) error {
	msg := p.buf[:s.Bytes]
	if err := p.order(ctx, order{s.Bytes, 1, n}); err != nil {
		return err
	}
	for range n {
		took, err := p.flood(ctx, msg, 1)
		if err != nil {
			return err
		}
		s.RoundTrip = append(s.RoundTrip, took)
	}
	if err := p.order(ctx, order{s.Bytes, fit.Burst, n}); err != nil {
		return err
	}
	for range n {
		took, err := p.flood(ctx, msg, fit.Burst)
		if err != nil {
			return err
		}
		s.Flood = append(s.Flood, took)
	}
	if err := p.order(ctx, order{s.Bytes, 1, n}); err != nil {
		return err
	}
	pause := wakeUp + time.Duration(2*fit.Median(slices.Clone(s.RoundTrip)).Value)
	for range n {
		send, receive, err := p.apart(ctx, msg, pause)
		if err != nil {
			return err
		}
		s.Send, s.Receive = append(s.Send, send), append(s.Receive, receive)
	}
	return nil
}

// flood sends n messages in a row and returns the time until the reply has come: PRTT(n, 0, m).
func (p *prober) flood(ctx context.Context, msg []byte, n int) (took float64, err error) {
	start := p.now()
	for range n {
		if err := p.comm.Bcast(ctx, msg, 0); err != nil {
			return 0, err
		}
	}
	if err := p.comm.Bcast(ctx, msg, 1); err != nil {
		return 0, err
	}
	return p.since(start), nil
}

// apart times each call by itself: first the call that sends, and, after a pause in which the reply
// must have come, the call that receives.
func (p *prober) apart(ctx context.Context, msg []byte, pause time.Duration) (send, receive float64, err error) {
	start := p.now()
	if err := p.comm.Bcast(ctx, msg, 0); err != nil {
		return 0, 0, err
	}
	send = p.since(start)
	for p.now().Sub(start) < pause { // a sleep would wake up late and on another core
		goruntime.Gosched() // rank 1 may be a goroutine of this process
	}
	start = p.now()
	if err := p.comm.Bcast(ctx, msg, 1); err != nil {
		return 0, 0, err
	}
	return send, p.since(start), nil
}

// wakeUp is the time that rank 1 may need to wake up, because it has received nothing for a while.
const wakeUp = 100 * time.Microsecond

// order tells rank 1 what to do in the next rounds. In each round it takes count messages of the
// given bytes and replies with one. An order without rounds is the last.
type order struct{ bytes, count, rounds int }

const orderBytes = 24

func (p *prober) order(ctx context.Context, o order) error {
	for i, v := range [...]int{o.bytes, o.count, o.rounds} {
		binary.BigEndian.PutUint64(p.head[8*i:], uint64(v))
	}
	return p.comm.Bcast(ctx, p.head[:], 0)
}

// follow follows the orders of rank 0 until the last one.
func (p *prober) follow(ctx context.Context) error {
	for {
		if err := p.comm.Bcast(ctx, p.head[:], 0); err != nil {
			return err
		}
		word := func(i int) uint64 { return binary.BigEndian.Uint64(p.head[8*i:]) }
		bytes, count, rounds := word(0), word(1), word(2)
		if bytes > uint64(len(p.buf)) {
			return fmt.Errorf("rank 0 has ordered messages of %d bytes, but the longest of rank 1 has %d", bytes, len(p.buf))
		}
		if rounds == 0 {
			return nil
		}
		for range rounds {
			if err := p.answer(ctx, p.buf[:bytes], count); err != nil {
				return err
			}
		}
	}
}

func (p *prober) answer(ctx context.Context, msg []byte, count uint64) error {
	for range count {
		if err := p.comm.Bcast(ctx, msg, 0); err != nil {
			return err
		}
	}
	return p.comm.Bcast(ctx, msg, 1)
}
