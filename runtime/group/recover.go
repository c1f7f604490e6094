package group

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/runtime"
)

// unite brings all members of e to the same messages of earlier views, and begins e.
func (g *Group) unite(ctx context.Context, e *era) error {
	u := &union{g: g, e: e, reports: make([]report, len(e.view.Members)), missing: len(e.view.Members)}
	ends, err := u.collectAll(ctx)
	if err != nil {
		return err
	}
	e.pasts = g.history.adopt(e.view)
	if err := e.comm.Barrier(ctx); err != nil {
		return err
	}
	g.history.settle(e.view, ends)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.era, g.open = e, true
	g.stats.Views++
	g.stats.Recovered += u.useful
	g.wakeWaiters()
	return nil
}

// union is the beginning of an era: the members' reports, and the messages that are sent.
type union struct {
	g       *Group
	e       *era
	reports []report
	missing int    // reports that have not arrived
	came    uint64 // messages sent to members that lacked them
	useful  uint64 // messages of came that this member lacked
}

// collectAll returns how many messages there are of each origin, when this member has all of them.
func (u *union) collectAll(ctx context.Context) ([]count, error) {
	g, comm := u.g, u.e.comm
	own := report{said: true, fresh: g.history.fresh, counts: g.history.counts()}
	u.reports[u.e.rank], u.missing = own, u.missing-1
	if err := comm.Publish(ctx, appendCounts(nil, own.fresh, own.counts)); err != nil {
		return nil, err
	}
	for u.missing > 0 {
		if err := u.step(ctx); err != nil {
			return nil, err
		}
	}
	lacks, ends := gaps(u.reports)
	mine, theirs, err := u.share(lacks)
	if err != nil {
		return nil, err
	}
	sent := make(chan error, 1)
	go func() { sent <- send(ctx, comm, mine) }()
	for u.came < theirs && err == nil {
		err = u.step(ctx)
	}
	if sendErr := <-sent; err == nil { // both have the same error
		err = sendErr
	}
	return ends, err
}

// share returns the messages that this member must send, and how many others will send.
func (u *union) share(lacks []gap) (mine []recovered, theirs uint64, err error) {
	for _, lack := range lacks {
		if lack.holder != u.e.rank {
			theirs += lack.to - lack.from
			continue
		}
		copies, err := u.g.history.since(lack.origin, lack.from)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %w", errRecord, err)
		}
		for i, k := range copies {
			mine = append(mine, recovered{lack.origin, k.epoch, lack.from + uint64(i), k.data})
		}
	}
	return mine, theirs, nil
}

func send(ctx context.Context, comm *runtime.Comm, all []recovered) error {
	var record []byte
	for i := range all {
		record = appendRecover(record[:0], &all[i])
		if err := comm.Publish(ctx, record); err != nil {
			return err
		}
	}
	return nil
}

// step takes one message.
func (u *union) step(ctx context.Context) error {
	kind, from, body, err := u.e.next(ctx)
	if err != nil {
		return err
	}
	switch kind {
	case recordCounts:
		fresh, counts, err := readCounts(body)
		if err != nil {
			return fmt.Errorf("%w: rank %d: %w", errRecord, from, err)
		}
		return u.report(from, report{said: true, fresh: fresh, counts: counts})
	case recordRecover:
		return u.take(from, body)
	}
	return fmt.Errorf("%w: rank %d sends a record of kind %d at the beginning of a view", errRecord, from, kind)
}

// report takes the report of a rank.
func (u *union) report(rank int, r report) error {
	if u.reports[rank].said {
		return fmt.Errorf("%w: rank %d has reported twice", errRecord, rank)
	}
	u.reports[rank] = r
	u.missing--
	return nil
}

// take takes a message of an earlier view, if this member lacks it.
func (u *union) take(rank int, body []byte) error {
	r, err := readRecover(body)
	if err != nil {
		return fmt.Errorf("%w: rank %d: %w", errRecord, rank, err)
	}
	u.came++
	h := u.g.history
	if h.fresh {
		return nil
	}
	p := h.pastOf(r.origin)
	if r.seq > p.next {
		return fmt.Errorf("%w: rank %d sends message %d of %v in place of %d", errRecord, rank, r.seq, r.origin, p.next)
	}
	if r.seq == p.next {
		h.add(p, r.epoch, r.data)
		u.g.queue.push(Message{Origin: r.origin, Epoch: r.epoch, Seq: r.seq, Data: r.data})
		u.useful++
	}
	return nil
}
