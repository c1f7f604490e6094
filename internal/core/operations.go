package core

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/core/flow"
	"github.com/schedgen/schedgen/internal/core/loss"
	"github.com/schedgen/schedgen/internal/core/mismatch"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// The fixed limits of operations.
const (
	MaxOpen    = 4           // operations open at once: see overlap.go
	Remembered = 2 * MaxOpen // operations remembered: the open ones, and past ones that others may ask about
	ahead      = MaxOpen - 1 // how many operations a peer may be ahead with its signals
	maxNamed   = 8           // slots that an error names
)

// operations are the calls of a rank, numbered from 1 in the order in which they begin. Up to
// MaxOpen are open at once, and they end in any order.
type operations struct {
	*env
	fate    *failure
	members *presence.Roster

	seq       uint64 // last operation entered
	complete  uint64 // all operations up to this one have ended
	print     uint32 // fingerprint of the last operation entered; 0: none
	ring      [Remembered]op
	earlies   [Remembered]earlies // signals of later operations
	joined    seqSet              // operations that their drawn rank has entered
	overlap   overlap
	ledger    ledger
	peers     flow.Peers
	loss      loss.Recovery
	repairing bool `state:"scratch"` // a repair is being carried out
	absent    presence.Latecomers
	refusal   refusal
	apart     bodies           `state:"scratch"` // buffers for frames whose chunks go to several places, by sender
	askers    []int            `state:"ignored"` // ranks that may ask this rank for chunks of a barrier, ascending
	asked     *Plan            `state:"fixed"`   // the last plan whose answers are in askers
	history   mismatch.History `state:"ignored"`
	spare     [][]byte         `state:"scratch"` // memory for partial results
	folding   bool             `state:"ignored"` // there may be long folds to do
	delay     Time             // the greatest delay of DelayAdaptive now
	missed    int              // the share of drawn ranks that multicasts have missed: see stage.go
	totals    Totals           `state:"ignored"`
}

// Totals counts what a core has done since it was made.
type Totals struct {
	Operations      uint64 // collective operations completed
	Stale           uint64 // frames and datagrams dropped: of past operations, or invalid
	McastChunks     uint64 // chunks of blocks that arrived by multicast first
	PutChunks       uint64 // chunks of blocks that arrived by put first: by the algorithm or a repair
	LastMcastChunks int    // McastChunks of the last operation that moved blocks
	OtherStage      uint64 // broadcasts for which the root has chosen the other second stage
	LastPutChunks   int    // PutChunks of the last operation that moved blocks
}

// open returns operation seq if it is open, else nil.
func (ops *operations) open(seq uint64) *op {
	if o := &ops.ring[seq%Remembered]; o.state == opActive && o.seq == seq {
		return o
	}
	return nil
}

// oldest returns the oldest open operation, or nil.
func (ops *operations) oldest() *op { return ops.open(ops.complete + 1) }

// lookup returns operation seq, or nil if it has not begun or is forgotten.
func (ops *operations) lookup(seq uint64) *op {
	o := &ops.ring[seq%Remembered]
	if o.state == opFree || o.seq != seq {
		return nil
	}
	return o
}

// vacant reports whether the next operation may begin: fewer than MaxOpen are open, and all answers
// of the operation whose place it takes have been sent.
func (ops *operations) vacant() bool {
	return ops.seq-ops.complete < MaxOpen && ops.ring[(ops.seq+1)%Remembered].unsent == 0
}

// begin enters the next operation. It takes the signals that arrived early, and starts the root
// when the policy allows.
func (ops *operations) begin(p *Plan, mem Buffers) {
	ops.print = ops.next(p, mem.key())
	ops.seq++
	ops.fate.seq = ops.seq
	o := &ops.ring[ops.seq%Remembered]
	o.begin(ops.seq, ops.print, p, mem)
	if p.places.folds {
		o.openFolds(ops.foldMemory())
	}
	ops.history.Note(o.seq, o.print, o.plan.print(o.key), o.plan, o.key)
	ops.mayBeAsked(p)
	ops.loss.Begin(o.seq)
	ops.openFlow(o)
	ops.openLosses(o)
	ops.chooseStage(o)
	if a, parted := ops.members.Parted(ops.seq, ops.print); parted {
		ops.disagree(ops.seq, a.Rank, a.Print)
	} else {
		ops.checkLeft()
	}
	ops.overlap.settled = max(ops.overlap.settled, ops.complete)
	ops.clearCalls(o)
	ops.closeGate(o)
	ops.openLines(o)
	ops.announce(o)
	ops.sayPresent()
	if !o.gate.closed && !o.gate.behind {
		ops.set(o, ir.Enter)
	}
	ops.note(o) // others read the note only when nothing else is left to do
	ops.replay(o)
}

// end ends an open operation.
func (ops *operations) end(o *op) {
	ops.report(o)
	ops.loss.End(&o.lost)
	ops.endFlow(o)
	ops.foldDone(o)
	o.retire(o.plan.program.Keeps() || ops.expects(o), ops.Retain/Remembered)
	for ops.complete < ops.seq && ops.oldest() == nil {
		ops.complete++
	}
	ops.totals.Operations++
	if o.turn != 0 {
		ops.endLines(o)
	}
	if o.plan.places.blocks > 0 {
		ops.totals.McastChunks += uint64(o.lost.ByMcast)
		ops.totals.PutChunks += uint64(o.lost.ByPut)
		ops.totals.LastMcastChunks, ops.totals.LastPutChunks = o.lost.ByMcast, o.lost.ByPut
	}
}

// progress fills in how far operation e.Seq came.
func (ops *operations) progress(e *OpError) {
	if o := ops.open(e.Seq); o != nil {
		e.Fired, e.Rules = o.machine.Progress()
		e.Missing = o.machine.Missing()
		e.Missing = e.Missing[:min(len(e.Missing), maxNamed)]
		e.Whole = o.plan.places.blocks > 0 && o.whole()
	}
}

// tick does all due work. It reports whether this rank waits for so long that others must show
// signs of life.
func (ops *operations) tick(now Time) (waits bool) {
	for seq := ops.complete + 1; seq <= ops.seq; seq++ {
		o := ops.open(seq)
		if o == nil {
			continue
		}
		o.pulse.Look(now)
		if o.gate.tick(now) {
			ops.start(o)
		}
		ops.tickFlow(o, now)
		ops.tickLosses(o, now)
	}
	ops.repeatDoubles(now)
	ops.tickRefusal(now)
	if o := ops.oldest(); o != nil && ops.Size > 1 {
		if o.pulse.Tick(now, ops.Stall) {
			ops.probe(o.seq, o.print, o.pulse.Reach(ops.Size))
		}
		waits = o.pulse.Probes() > 0
	}
	return waits
}

// probe asks the nearest following rank that has not left about operation seq with the given
// fingerprint. Like a dead rank, a rank that has left would not answer, but it has said goodbye to
// all ranks that may ask it. reach is how many ranks may pass the question on.
func (ops *operations) probe(seq uint64, fingerprint uint32, reach uint32) {
	for distance := 1; distance < ops.Size; distance = presence.Farther(distance) {
		if to := (ops.Rank + distance) % ops.Size; !ops.members.Gone(to) {
			ops.control(to, wire.FrameProbe, seq, fingerprint, reach)
			return
		}
	}
}

// timed reports whether a timer needs precision.
func (ops *operations) timed() bool {
	for seq := ops.complete + 1; seq <= ops.seq; seq++ {
		if o := ops.open(seq); o != nil && (o.gate.closed || o.window.On() || o.outbox.Has(flow.ByReport) || o.lost.Timed()) {
			return true
		}
	}
	return false
}

// checkLeft fails the core if an open operation needs a rank that has left.
func (ops *operations) checkLeft() {
	for seq := ops.complete + 1; seq <= ops.seq; seq++ {
		o := ops.open(seq)
		if o == nil {
			continue
		}
		if a, missing := ops.members.Missing(seq); missing {
			ops.fate.broken(o.plan.Name, seq, &RankError{
				Rank: a.Rank, Err: fmt.Errorf("%w: it closed its communicator after operation %d", ErrPeerLeft, a.Last),
			})
		}
	}
}

// next returns the fingerprint of the next operation, if it runs under p with blocks of n bytes, or
// with lengths whose key is n. The fingerprint covers all earlier operations too. So after
// different calls, ranks never agree on a fingerprint again, and any later frame between them shows
// the mismatch. A root that waits for no rank may have returned from the call that differed.
func (ops *operations) next(p *Plan, n int) uint32 { return mismatch.Following(ops.print, p.print(n)) }

// agrees fails the core, and returns false, if the sender of a frame runs another operation under
// the same number, or has run another operation before.
func (ops *operations) agrees(o *op, h *wire.Header) bool {
	return h.Print == o.print || ops.agreesByStage(o, h)
}

// agreesByStage is agrees for a frame whose fingerprint is not that of o.
func (ops *operations) agreesByStage(o *op, h *wire.Header) bool {
	if ops.follows(o, h) {
		return true
	}
	ops.disagree(o.seq, h.From, h.Print)
	return false
}

// agreed fails the core, and returns false, if the sender of a frame has run something else under
// the number of an operation that has begun here, as far back as this rank remembers.
func (ops *operations) agreed(h *wire.Header) bool {
	if mine, ok := ops.history.Past(h.Seq); ok && !sameCall(mine, h.Print) {
		ops.disagree(h.Seq, h.From, h.Print)
		return false
	}
	return true
}

// about returns the operation of a frame, or nil if it has not begun or is forgotten. It fails the
// core, and ok is false, if the sender runs something else under that number.
func (ops *operations) about(h *wire.Header) (o *op, ok bool) {
	if o = ops.lookup(h.Seq); o != nil {
		return o, ops.agrees(o, h)
	}
	return nil, ops.agreed(h)
}

// disagree fails the core because another rank has the fingerprint theirs for operation seq.
func (ops *operations) disagree(seq uint64, other int, theirs uint32) {
	ops.fate.clash(overOperation, seq, ops.describe(seq, 0), ops.history.Before(seq), other, ops.history.Own(seq, theirs))
}
