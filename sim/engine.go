package sim

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/model/queue"
	"github.com/schedgen/schedgen/ir"
)

// engine is the event loop of all models.
type engine struct {
	program func(rank int) ir.Program // valid until the next call
	h       ir.Header
	row     ir.Collective // of h
	c       Config
	costs   costs
	seed    uint64

	ranks  []rank
	calls  []call
	store  store
	shapes shapes
	lists  pool
	casts  []cast // multicasts that have come to all ranks at once
	queue  queue.Queue[event]
	seq    uint64 // number of the next thing to come about
	fired  []int32
	set    []int32 // slots that a rank has from the beginning
	counts Counts
	path   *path   // nil: not requested
	net    *fabric // nil: costs has everything
	gate   gate

	adapted Time   // how long the root waits at most under Delay.Adaptive
	full    Time   // until when the switch is busy with what has come to it
	local   *local // nil: ranks only send and receive
}

// rank holds the state that each event of a rank needs, about one cache line: until when the rank
// is busy, and what waits there.
type rank struct {
	cpu, out, in Time  // when the CPU and the interface's two directions are free
	wake         key   // time of its event; never if it has none
	rules        list  // the sends that are left of rules that have fired
	inbox        list  // messages that have come and are not received
	node         int32 // its program in the store; 0: not there
	undone       int32 // number of slots for which its call waits
}

// call holds the state that only few events of a rank need.
type call struct {
	returns Time
	casts   int32 // how many multicasts of engine.casts it has dealt with
	signals int32 // number of its signals
	over    bool  // arriving messages no longer matter
}

// cast is a multicast that has come. It comes to all ranks at once, so one list serves all ranks.
// Each rank keeps its position in the list.
type cast struct {
	seq  uint64
	at   Time
	rank int32
	from int32
	slot int32
}

// held returns the chunks that a rank has when it enters, as [ir.Header.Held] does.
func (e *engine) held(r int) ir.Chunks {
	if e.row.Blocks == nil {
		return ir.Chunks{}
	}
	return ir.Chunks{Blocks: e.row.Held(e.h.Ranks, e.h.Root, r), Per: e.costs.per}
}

func newEngine(p Programs, c *Config) (*engine, error) {
	e := &engine{program: p.Program, h: p.Header(), c: *c}
	// for an unknown name: the zero row, which has no blocks
	e.row, _ = ir.CollectiveNamed(e.h.Collective)
	if m, ok := p.(maker); ok {
		e.program = m.Maker()
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if e.h.Ranks < 1 || e.h.Ranks > ir.MaxRanks || e.h.Root < 0 || e.h.Root >= e.h.Ranks || e.h.Chunks < 0 || e.h.Chunks > ir.MaxChunks {
		return nil, fmt.Errorf("%d ranks, root %d, %d chunks: no schedule", e.h.Ranks, e.h.Root, e.h.Chunks)
	}
	blocks := e.h.Blocks()
	if blocks > 0 && e.h.Chunks%blocks != 0 {
		return nil, fmt.Errorf("%d chunks of %d blocks: no schedule", e.h.Chunks, blocks)
	}
	e.shapes.dense = blocks > 1
	if n := len(c.Arrival.At); n != 0 && n != e.h.Ranks {
		return nil, fmt.Errorf("%d times of arrival for %d ranks", n, e.h.Ranks)
	}
	var err error
	if e.costs, err = newCosts(p, c, &e.h); err != nil {
		return nil, err
	}
	if m, ok := c.Model.(wired); ok {
		if e.net, err = m.fabric(e.h.Ranks, c, &e.costs); err != nil {
			return nil, err
		}
	}
	if c.Path {
		e.path = &path{}
	}
	if g, ok := p.(*graph); ok {
		e.local = newLocal(g, e.h.Ranks)
	}
	e.ranks, e.calls = make([]rank, e.h.Ranks), make([]call, e.h.Ranks)
	return e, nil
}

// reset restores the initial state of e but keeps its memory.
func (e *engine) reset(seed uint64, enters []Time) {
	for r := range e.ranks {
		if n := e.ranks[r].node; n > 0 {
			e.store.drop(n)
		}
	}
	e.lists.clear()
	e.costs.bundles.clear()
	e.queue.Clear()
	e.casts = e.casts[:0]
	e.seq, e.counts, e.seed, e.full = 0, Counts{}, seed, 0
	e.gate = e.newGate(enters)
	if e.path != nil {
		e.path.reset(len(e.ranks))
	}
	if e.net != nil {
		e.net.reset()
	}
	if e.local != nil {
		e.local.reset()
	}
}

func (e *engine) simulate(seed uint64, enters []Time) error {
	e.reset(seed, enters)
	for r := range e.ranks {
		e.ranks[r], e.calls[r] = rank{cpu: enters[r], wake: never}, call{returns: Never}
	}
	if e.row.Rooted {
		e.ranks[e.h.Root].cpu += e.c.Delay.Fixed
	}
	for r := range e.ranks {
		if err := e.begin(r); err != nil {
			return err
		}
	}
	e.wait()
	for e.queue.Len() > 0 {
		x := e.queue.Pop()
		if x.At > maxSum || e.seq >= maxSeq {
			return fmt.Errorf("times exceed %d ns, or there are more than %d messages", int64(maxSum), int64(maxSeq))
		}
		k := key{Time(x.At), x.Tie >> (rankBits + kindBits)}
		if err := e.step(k, eventKind(x.Tie&(1<<kindBits-1)), int(x.Tie>>kindBits&(1<<rankBits-1)), x.Value); err != nil {
			return err
		}
	}
	return nil
}

// step handles an event, which is the first of all that are left.
func (e *engine) step(k key, kind eventKind, r int, x event) error {
	switch kind {
	case arrives:
		return e.arrive(k, r, x)
	case casts:
		e.counts.Events++
		e.casts = append(e.casts, cast{k.seq, k.at, int32(r), x.from, x.slot})
		for r := range e.ranks {
			if err := e.turn(r, k); err != nil {
				return err
			}
		}
		return nil
	case crosses:
		return e.hop(k, r, e.net.land(x))
	case branches:
		return e.spread(k, e.net.land(x))
	case expires:
		e.expire(k, r, x)
		return nil
	case opens:
		return e.timeout(k, r)
	}
	if e.ranks[r].wake != k {
		return nil // an earlier event has come in between
	}
	e.ranks[r].wake = never
	return e.turn(r, k)
}

// arrive handles a message that has come to a rank. The rank receives it at once if nothing is
// before it. Otherwise the message waits.
func (e *engine) arrive(k key, r int, x event) error {
	own := &e.ranks[r]
	e.counts.Events++
	if x.slot == 0 {
		e.gate.came = k.at
	}
	if own.inbox.first == 0 && own.rules.first == 0 && max(own.cpu, own.in) <= k.at && !e.castLeft(r) {
		if err := e.receive(r, k.at, entry{seq: k.seq, what: x.slot, from: x.from}); err != nil {
			return err
		}
		e.plan(r, k.at)
		return nil
	}
	e.lists.put(&own.inbox, entry{seq: k.seq, what: x.slot, from: x.from})
	return e.turn(r, k)
}

// turn lets a rank do what it can do now, or plans when it can.
func (e *engine) turn(r int, now key) error {
	next, does := e.next(r, now.at)
	if next == now {
		if err := e.act(r, now.at, does); err != nil {
			return err
		}
	}
	e.plan(r, now.at)
	return nil
}

// act begins the next send or work of a rank, or the receive of the message that has waited
// longest.
func (e *engine) act(r int, now Time, does Op) error {
	switch does {
	case Send:
		return e.send(r, now)
	case Work:
		e.work(r, now)
		return nil
	}
	own := &e.ranks[r]
	x, mcast := e.oldest(r)
	if mcast {
		e.calls[r].casts++
	} else {
		e.lists.dropFirst(&own.inbox)
	}
	return e.receive(r, now, x)
}

// plan ensures that the rank has an event for the next thing that it can do.
func (e *engine) plan(r int, now Time) {
	own := &e.ranks[r]
	if next, _ := e.next(r, now); next.before(own.wake) {
		own.wake = next
		e.push(next, wakes, r, event{})
	}
}

// next returns when, from now on, a rank can begin something, with its number, and what that is.
func (e *engine) next(r int, now Time) (next key, does Op) {
	own := &e.ranks[r]
	next = never
	if own.rules.first > 0 {
		next = key{max(now, own.cpu, own.out), e.lists.at(own.rules.first).seq}
		does = Send
	}
	if e.works(r) {
		if k := (key{max(now, own.cpu), e.lists.at(e.local.work[r].first).seq}); k.before(next) {
			next, does = k, Work
		}
	}
	if own.inbox.first == 0 && !e.castLeft(r) {
		return next, does
	}
	if x, _ := e.oldest(r); x.seq != none {
		if k := (key{max(now, own.cpu, own.in), x.seq}); k.before(next) {
			return k, Receive
		}
	}
	return next, does
}

// castLeft reports whether a multicast has come that a rank has neither received nor missed.
func (e *engine) castLeft(r int) bool {
	return len(e.casts) > 0 && int(e.calls[r].casts) < len(e.casts)
}

// none is a number that no message has.
const none = 1<<64 - 1

// oldest returns the message that has waited longest at a rank, and whether it is a multicast. The
// message has the number none if there is none.
func (e *engine) oldest(r int) (x entry, mcast bool) {
	x.seq = none
	if first := e.ranks[r].inbox.first; first > 0 {
		x = *e.lists.at(first)
	}
	for e.castLeft(r) && e.misses(&e.casts[e.calls[r].casts], r) {
		e.calls[r].casts++
	}
	if e.castLeft(r) {
		if c := &e.casts[e.calls[r].casts]; c.seq < x.seq {
			return entry{seq: c.seq, what: c.slot, from: c.from}, true
		}
	}
	return x, false
}

// numbers reserves the next n numbers and returns the first.
func (e *engine) numbers(n int32) uint64 {
	e.seq += uint64(n)
	return e.seq - uint64(n)
}

func (e *engine) result() *Result {
	r := &Result{Enters: e.gate.enters, Returns: make([]Time, len(e.ranks)), Counts: e.counts}
	for i := range e.calls {
		r.Returns[i] = e.calls[i].returns
	}
	r.Makespan = slices.Max(r.Returns)
	if slices.Contains(r.Returns, Never) {
		r.Makespan = Never
	}
	if e.path != nil {
		r.Path = e.critical(r.Enters, r.Returns)
	}
	if e.net != nil {
		e.c.Model.(wired).loads(e.net, r)
	}
	return r
}
