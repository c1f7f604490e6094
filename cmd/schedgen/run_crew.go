package main

import (
	"context"
	"math"
	"time"

	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
)

// crew are the ranks of a run, in processes or goroutines.
type crew struct {
	size   int
	events chan event
	stop   func() // tells all ranks to give up
	kill   func() // ends those that do not

	stopped func(rank int) bool // its process is stopped: it will not do what it is told
}

// event is a report of a rank, or its end.
type event struct {
	rank   int
	report report
	ended  bool
	err    error // of an end: how the process died
}

// goroutines starts ranks in this process, over a network in memory. wrap, if
// not nil, is laid around each rank's transport.
func goroutines(ctx context.Context, jobs []*job, all resources, b *board, wrap func(wire.Transport) wire.Transport) (*crew, error) {
	l := jobs[0].Link
	net, err := mem.New(len(jobs), mem.Options{Seed: l.Seed, Loss: l.Loss, Datagram: memDatagram})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(errCalledOff) }
	c := &crew{size: len(jobs), events: make(chan event), stop: stop, kill: stop, stopped: func(int) bool { return false }}
	all.counters = make(counters, len(jobs))
	positions := make([]*position, len(jobs))
	for rank := range jobs {
		positions[rank] = newPosition(rank)
	}
	b.open(func(rank int) { b.put(rank, new(positions[rank].report())) })
	for rank, j := range jobs {
		tr := wire.Transport(net[rank])
		if wrap != nil {
			tr = wrap(tr)
		}
		res := all
		res.position = positions[rank]
		res.open = func(context.Context, *job) (wire.Transport, error) { return tr, nil }
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

// memDatagram is the payload of a datagram between goroutines.
const memDatagram = 32 << 10

// grace is how long ranks have to end once they should.
const grace = 3 * time.Second // more than a rank takes to say goodbye

// overseer follows a crew until all ranks have ended.
type overseer struct {
	crew     *crew
	tally    *tally
	log      func(format string, args ...any)
	alive    map[int]bool
	finished map[int]bool // has told its outcome or its failure
	lost     map[int]bool // others take it for dead
	killed   bool
	failures []*failure
}

// oversee returns when all ranks have ended: nil if all have done their work.
// The end of ctx ends them, and so does the failure of one or the limit.
func oversee(ctx context.Context, c *crew, t *tally, limit time.Duration, log func(string, ...any)) error {
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
				stage = 1 // the others should notice by themselves
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

// hastens reports whether nothing will come of waiting. A process that is stopped does not stop when told to; once
// others take it for dead it need not be waited for to notice that they have failed, either. One that runs may have
// something to tell: where the network is cut each part takes the other for dead.
func (o *overseer) hastens(stage int) bool {
	return stage == 1 && o.all(o.isLost) && o.all(o.crew.stopped) || stage == 2 && o.all(o.crew.stopped)
}

// all reports whether a condition holds for all ranks that have not ended, of which there is one.
func (o *overseer) all(holds func(rank int) bool) bool {
	for rank := range o.alive {
		if !holds(rank) {
			return false
		}
	}
	return len(o.alive) > 0
}

// isLost reports whether others take a rank for dead that has not told its end.
func (o *overseer) isLost(rank int) bool { return o.lost[rank] && !o.finished[rank] }

// take notes what a rank tells.
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

// ended notes the end of a rank. One that has told its outcome must still end
// well, unless it was made to.
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

// abandon kills what is still alive; the second time there is nothing left to
// be done, and it returns false.
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
