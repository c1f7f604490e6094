package crew

import (
	"context"
	"math"
	"time"

	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
)

// running is the set of ranks that were started, in processes or goroutines.
type running struct {
	size   int
	events chan event
	stop   func() // tells all ranks to give up
	kill   func() // kills the ranks that do not

	stopped func(rank int) bool // reports whether the process of a rank is stopped and so cannot react
}

// event is a report of a rank, or its end.
type event struct {
	rank   int
	report report
	ended  bool
	err    error // if ended is set: how the process died, or nil
}

// goroutines starts ranks in this process, over a network in memory. If wrap is not nil, it wraps
// the transport of each rank.
func goroutines(ctx context.Context, jobs []*Job, all Resources, b *Board, wrap func(wire.Transport) wire.Transport) (*running, error) {
	l := jobs[0].Link
	net, err := mem.New(len(jobs), mem.Options{Seed: l.Seed, Loss: l.Loss, Datagram: MemDatagram})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(errCalledOff) }
	c := &running{size: len(jobs), events: make(chan event), stop: stop, kill: stop, stopped: func(int) bool { return false }}
	all.counters = make(counters, len(jobs))
	positions := make([]*Position, len(jobs))
	for rank := range jobs {
		positions[rank] = NewPosition(rank)
	}
	b.open(func(rank int) { b.put(rank, new(positions[rank].Report())) })
	for rank, j := range jobs {
		tr := wire.Transport(net[rank])
		if wrap != nil {
			tr = wrap(tr)
		}
		res := all
		res.Position = positions[rank]
		res.Open = func(context.Context, *Job) (wire.Transport, error) { return tr, nil }
		go func() {
			err := work(ctx, j, res, func(r report) error {
				c.events <- event{rank: rank, report: r}
				return nil
			})
			b.end(rank)
			c.events <- event{rank: rank, ended: true, err: err}
		}()
	}
	return c, nil
}

// MemDatagram is the payload of a datagram between goroutines, in bytes.
const MemDatagram = 32 << 10

// grace is the time that ranks have to end when they are told to. It is longer than leaving a
// communicator takes.
const grace = 3 * time.Second

// overseer follows a crew until all ranks have ended.
type overseer struct {
	crew     *running
	tally    *Tally
	log      func(format string, args ...any)
	alive    map[int]bool
	finished map[int]bool // ranks that have reported their outcome or their failure
	lost     map[int]bool // ranks that others take for dead
	killed   bool
	failures []*failure
}

// oversee returns when all ranks have ended, and returns nil if all have done their work. It ends
// the ranks when ctx ends, when a rank fails and when the time limit is over.
func oversee(ctx context.Context, c *running, t *Tally, limit time.Duration, log func(string, ...any)) error {
	o := &overseer{crew: c, tally: t, log: log, alive: map[int]bool{}, finished: map[int]bool{}, lost: map[int]bool{}}
	for rank := range c.size {
		o.alive[rank] = true
	}
	timer := time.NewTimer(min(limit, math.MaxInt64-grace) + grace)
	defer timer.Stop()
	for stage, canceled := 0, ctx.Done(); len(o.alive) > 0; {
		select {
		case e := <-c.events:
			if o.take(e); stage == 0 && len(o.failures) > 0 {
				stage = 1 // the others should notice the failure by themselves
				timer.Reset(grace)
			}
			if !o.hastens(stage) {
				continue
			}
		case <-canceled:
			canceled = nil
		case <-timer.C:
		}
		if stage = max(stage, 1) + 1; stage == 2 {
			c.stop()
		}
		if (stage > 2 || o.all(c.stopped)) && !o.abandon() {
			break
		}
		timer.Reset(grace)
	}
	return o.end(ctx)
}

// hastens reports whether waiting longer is useless. A stopped process does not end when told to,
// and, once others take it for dead, it need not notice that they have failed. A running process
// may still have something to report: if the network is cut, each part takes the other for dead.
func (o *overseer) hastens(stage int) bool {
	return stage == 1 && o.all(o.isLost) && o.all(o.crew.stopped) || stage == 2 && o.all(o.crew.stopped)
}

// all reports whether there are ranks that have not ended and the condition holds for all of them.
func (o *overseer) all(holds func(rank int) bool) bool {
	for rank := range o.alive {
		if !holds(rank) {
			return false
		}
	}
	return len(o.alive) > 0
}

// isLost reports whether others take the rank for dead and it has not reported its end.
func (o *overseer) isLost(rank int) bool { return o.lost[rank] && !o.finished[rank] }

// take handles an event of a rank.
func (o *overseer) take(e event) {
	switch r := &e.report; {
	case e.ended:
		o.ended(e)
	case r.Failed != nil:
		o.finished[e.rank] = true
		o.failures = append(o.failures, r.Failed)
		for _, rank := range r.Failed.Lost {
			o.lost[rank] = true
		}
	case r.Done != nil:
		o.finished[e.rank] = true
		o.tally.finish(e.rank, r.Done)
	case r.Joined:
		if o.tally.join() {
			o.log("%d ranks connected", o.crew.size)
		}
	default:
		o.tally.add(e.rank, r)
	}
}

// ended handles the end of a rank. A rank that has reported its outcome must also end without an
// error, unless it was killed.
func (o *overseer) ended(e event) {
	delete(o.alive, e.rank)
	f := &failure{Rank: e.rank, Cause: causeDied, Text: "its process ended without a word"}
	switch {
	case o.finished[e.rank] && (o.killed || e.err == nil):
		return
	case o.killed:
		f.Cause, f.Text = causeMute, "did not answer and was killed"
	case e.err != nil:
		f.Text = "its process died: " + e.err.Error()
	}
	o.failures = append(o.failures, f)
}

// abandon kills the ranks that are still alive. It returns false if it has done so before.
func (o *overseer) abandon() bool {
	if o.killed {
		return false
	}
	o.killed = true
	o.crew.kill()
	return true
}

func (o *overseer) end(ctx context.Context) error {
	for rank := range o.alive {
		o.failures = append(o.failures, &failure{Rank: rank, Cause: causeMute, Text: "cannot be ended"})
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return rootCause(o.failures)
}
