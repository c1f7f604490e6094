package core

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// The fixed limits of operations.
const (
	Remembered = 8    // operations remembered: the running one, early ones, and past ones that may be asked
	ahead      = 3    // operations a peer may be ahead with its signals
	maxEarly   = 1024 // signals of later operations remembered
	maxNamed   = 8    // slots that an error names
)

// operations are the calls of a rank: one at a time, numbered from 1.
type operations struct {
	*env
	fate    *failure
	members *membership
	rec     *recovery

	seq      uint64 // the last operation entered
	complete uint64 // the last operation returned from
	inside   bool   // the process is inside operation seq
	ring     [Remembered]op
	earlies  []early // signals of later operations
	joined   seqSet  // operations that the rank drawn for them has entered
	delay    Time    // the present delay of DelayAdaptive
	totals   Totals
}

// Totals counts what a core has done since it was made.
type Totals struct {
	Operations      uint64 // collective operations completed
	Stale           uint64 // frames and datagrams dropped: of past operations, or not fitting
	McastChunks     uint64 // chunks of broadcasts that came by multicast first
	PutChunks       uint64 // chunks of broadcasts that came by put first: from the chain, the tree or a repair
	LastMcastChunks int    // McastChunks of the last broadcast alone
	LastPutChunks   int    // PutChunks of the last broadcast alone
}

// early is a signal of an operation that this rank has not entered.
type early struct {
	seq   uint64
	slot  ir.Slot
	print uint32
	from  int
}

// running returns the operation that the process is inside, nil if none.
func (ops *operations) running() *op {
	if !ops.inside {
		return nil
	}
	return &ops.ring[ops.seq%Remembered]
}

// lookup returns the operation of a number; nil if it is not remembered (any
// more).
func (ops *operations) lookup(seq uint64) *op {
	o := &ops.ring[seq%Remembered]
	if o.state == opFree || o.seq != seq {
		return nil
	}
	return o
}

// vacant reports whether the place of the next operation may be taken: the last
// answers of the old one have been sent.
func (ops *operations) vacant() bool { return ops.ring[(ops.seq+1)%Remembered].unsent == 0 }

// begin enters the next operation: signals that came early count, and the root
// starts when its policy allows.
func (ops *operations) begin(k Kind, root int, p *Plan, buf []byte) {
	ops.seq++
	ops.fate.seq = ops.seq
	ops.inside = true
	o := &ops.ring[ops.seq%Remembered]
	o.begin(ops.seq, k, root, p, buf)
	ops.rec.open(o)
	ops.checkLeft()
	ops.closeGate(o)
	ops.announce(o)
	if !o.gate.closed {
		ops.set(o, ir.Enter)
	}
	ops.replay(o)
}

// end returns from the running operation.
func (ops *operations) end() {
	o := ops.running()
	ops.report(o)
	ops.rec.end(o)
	o.retire(o.plan.program.Keeps() || ops.rec.expects(o), ops.Retain/Remembered)
	ops.inside = false
	ops.complete = o.seq
	ops.totals.Operations++
	if o.kind == Bcast {
		ops.totals.McastChunks += uint64(o.lost.byMcast)
		ops.totals.PutChunks += uint64(o.lost.byPut)
		ops.totals.LastMcastChunks, ops.totals.LastPutChunks = o.lost.byMcast, o.lost.byPut
	}
}

// progress says where the running operation stands.
func (ops *operations) progress(e *OpError) {
	if o := ops.running(); o != nil {
		e.Fired, e.Rules = o.machine.Progress()
		e.Missing = o.machine.Missing(nil, maxNamed)
	}
}

// tick does what time makes due.
func (ops *operations) tick(now Time) {
	o := ops.running()
	if o == nil {
		return
	}
	if o.gate.tick(now) {
		ops.start(o)
	}
	ops.rec.tick(o, now)
	if ops.Size > 1 && o.pulse.tick(now, ops.Stall) {
		ops.probe(o)
	}
}

// probe asks the nearest rank after this one that has not left. Who has left does
// not answer, and could not be told from a rank that is dead, but for the goodbye
// that it has said to all that may ask it.
func (ops *operations) probe(o *op) {
	for distance := 1; distance < ops.Size; distance = farther(distance) {
		if to := (ops.Rank + distance) % ops.Size; !ops.members.hasLeft(to) {
			ops.control(to, wire.FrameProbe, o.seq, o.print, 0)
			return
		}
	}
}

// due returns when tick has something to do next.
func (ops *operations) due() Time {
	o := ops.running()
	if o == nil {
		return never
	}
	due := min(o.gate.due(), ops.rec.due(o))
	if ops.Size > 1 {
		due = min(due, o.pulse.due(ops.Stall))
	}
	return due
}

// timed reports whether something waits for a time that is to be met closely.
func (ops *operations) timed() bool {
	o := ops.running()
	return o != nil && (o.gate.closed || ops.rec.timed(o))
}

// checkLeft fails the core if a rank that has left is needed for the running
// operation.
func (ops *operations) checkLeft() {
	o := ops.running()
	if o == nil {
		return
	}
	if d, missing := ops.members.missing(o.seq); missing {
		ops.fate.broken(o.plan.Name, o.seq, &RankError{
			Rank: d.rank, Err: fmt.Errorf("%w: it closed its communicator after operation %d", ErrPeerLeft, d.last),
		})
	}
}

// lostAfterGoodbye is told that a rank is lost that has said goodbye. A goodbye
// may overtake what the rank has put before, and that is lost now: an operation
// of this rank that still runs, or is still to begin, may wait for it. A rank
// that only takes no connections any more has left as it said.
func (ops *operations) lostAfterGoodbye(rank int, err error) {
	if errors.Is(err, wire.ErrUnreachable) {
		return
	}
	if d := ops.members.departed(rank); ops.running() != nil && ops.seq <= d.last {
		ops.fate.lost(rank, err)
	} else {
		d.last = min(d.last, ops.complete)
	}
}

// agrees fails the core if the sender of a frame runs another operation under
// the same number.
func (ops *operations) agrees(o *op, h *wire.Header) bool {
	if h.Print == o.print {
		return true
	}
	ops.fate.disagree(o.plan.Name, h.Seq, h.From)
	return false
}
