package core

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/core/lines"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Slots: from an arriving frame to the puts of the rules.

// buffer decides where the body of a slot's frame goes.
func (ops *operations) buffer(h *wire.Header) ([]byte, wire.Verdict) {
	if h.Seq > ops.seq {
		return ops.acceptEarly(h)
	}
	o, ok := ops.about(h)
	if !ok {
		return nil, wire.Drop
	}
	if o == nil {
		if h.Slot.Kind() == ir.KindSignal { // a request of a rank that has fallen behind
			ops.sayOver(h.From, h.Seq, h.Print)
		}
		ops.totals.Stale++
		return nil, wire.Drop
	}
	if h.Slot.Kind() == ir.KindSignal {
		if h.Len != 0 || !o.machine.Valid(h.Slot) {
			ops.fate.violation(h, "%v with %d bytes does not exist here", h.Slot, h.Len)
			return nil, wire.Drop
		}
		return nil, wire.Accept
	}
	return ops.bufferBytes(o, h)
}

// acceptEarly takes signals of the next few operations. Anything else waits with its sender until
// the process has entered the operation.
func (ops *operations) acceptEarly(h *wire.Header) ([]byte, wire.Verdict) {
	if !ops.remembers(h.Slot) || h.Len != 0 || h.Seq > ops.seq+ahead {
		return nil, wire.Hold
	}
	return nil, wire.Accept
}

// bufferBytes decides where the body of a frame of chunks or partial results goes.
func (ops *operations) bufferBytes(o *op, h *wire.Header) ([]byte, wire.Verdict) {
	n := int(h.Arg) + 1
	if !o.exist(h.Slot, n) {
		ops.fate.violation(h, "%v does not exist here", slots{h.Slot, n})
		return nil, wire.Drop
	}
	if o.state != opActive || o.hasAll(h.Slot, n) {
		return nil, wire.Drop
	}
	dst, want := o.run(h.Slot, n)
	switch {
	case want != h.Len:
		ops.misfit(o, h, n, want)
		return nil, wire.Drop
	case dst == nil && want > 0:
		return ops.apart.buffer(h), wire.Accept
	}
	return dst, wire.Accept
}

// slots are n slots from the first on, in the words of errors.
type slots struct {
	first ir.Slot
	n     int
}

func (s slots) String() string {
	if s.n == 1 {
		return fmt.Sprintf("slot %v", s.first)
	}
	return fmt.Sprintf("a run of %d slots from %v on", s.n, s.first)
}

// exist reports whether this rank has n chunks or partial results from s on.
func (o *op) exist(s ir.Slot, n int) bool {
	count := 0
	switch s.Kind() {
	case ir.KindChunk:
		count = o.chunks
	case ir.KindValue:
		count = len(o.plan.places.cells.of)
	}
	return n > 0 && n <= count-s.Index() && o.machine.Valid(s) && (n == 1 || o.machine.Valid(s+ir.Slot(n-1)))
}

// hasAll reports whether n slots from s on are set.
func (o *op) hasAll(s ir.Slot, n int) bool {
	for i := range n {
		if !o.machine.Has(s + ir.Slot(i)) {
			return false
		}
	}
	return true
}

// spread copies the slots of a frame of several to their places, unless they have been received
// there.
func (ops *operations) spread(o *op, h *wire.Header, body []byte) {
	n := int(h.Arg) + 1
	if dst, bytes := o.run(h.Slot, n); dst != nil || bytes == 0 {
		return
	}
	for i := range n {
		body = body[copy(o.bytesOf(h.Slot+ir.Slot(i)), body):]
	}
	ops.apart.drop(h)
}

// arrived takes slots whose bytes are in their buffer.
func (ops *operations) arrived(h *wire.Header, body []byte) {
	if h.Seq > ops.seq {
		ops.earlies[h.Seq%Remembered].add(h)
		ops.trace(EventArrived, h.Seq, h.Slot, h.From)
		return
	}
	o := ops.lookup(h.Seq)
	if o == nil {
		ops.totals.Stale++
		return
	}
	if h.Slot.Kind() == ir.KindSignal {
		ops.traceNew(EventArrived, o, h.Slot, h.From)
		ops.set(o, h.Slot)
		return
	}
	if o.state != opActive {
		return
	}
	if h.Arg > 0 {
		ops.spread(o, h, body)
	}
	for i := range int(h.Arg) + 1 {
		s := h.Slot + ir.Slot(i)
		ops.traceNew(EventArrived, o, s, h.From)
		if s.Kind() == ir.KindChunk && !o.machine.Has(s) {
			o.lost.TakePut(o.yields.On()) // the chain brings the message: it is not silent
		}
		ops.set(o, s)
	}
}

// set sets a slot of o and carries out the rules that this triggers. Triggered folds set slots in
// turn.
func (ops *operations) set(o *op, s ir.Slot) {
	o.pulse.Stir()
	ops.setOne(o, s, o.chunks > 0 && o.empty() && o.settled())
	for i := 0; i < len(o.folds.made); i++ {
		ops.trace(EventFolded, o.seq, o.folds.made[i], -1)
		ops.setOne(o, o.folds.made[i], false)
	}
	o.folds.made = o.folds.made[:0]
	if o.yields.On() {
		ops.grown(o)
	}
	ops.resume()
}

// setOne sets a slot of o and carries out the rules that this triggers. If answers is set, they
// answer a request.
func (ops *operations) setOne(o *op, s ir.Slot, answers bool) {
	owed := o.lost.Owes() && s.Kind() == ir.KindChunk && !o.machine.Has(s)
	do, arm := o.machine.Set(s)
	switch {
	case len(do) == 0:
	case answers:
		ops.answer(o, do)
	default:
		ops.act(o, do)
	}
	for _, repair := range arm {
		o.lost.Arm(o.plan.repairRule(repair))
	}
	if owed {
		ops.loss.Repay(&o.lost, s.Index(), o)
		ops.sendOutputs(o)
	}
}

// answer carries out actions of an operation without bytes that was settled before. They answer
// requests. Their chunks are told on LaneControl, because LaneOps may be held behind a put of a
// later operation; see over.go.
func (ops *operations) answer(o *op, actions []ir.Action) {
	for i, a := range actions {
		if a.Op != ir.Put || a.Slot.Kind() != ir.KindChunk {
			ops.act(o, actions[i:i+1])
			continue
		}
		ops.loss.Lost()
		ops.sayOver(int(a.To), o.seq, o.print)
	}
}

// act sends the frames of actions.
func (ops *operations) act(o *op, actions []ir.Action) {
	for n := 1; len(actions) > 0; actions = actions[n:] {
		n = 1
		switch a := &actions[0]; {
		case a.Op == ir.Fold:
			n = len(ir.MessageOf(actions))
			ops.fold(o, actions[:n])
		case a.Slot.Kind() == ir.KindChunk && !o.canSend():
			// The request came too late; other ranks repair.
		case o.plan.recovers && ops.hasGiven(o, *a):
			// A request has brought the chunk to this rank.
		case o.turn != 0 && lines.IsFlag(a.Slot):
			n = ops.raise(o, actions)
		case o.turn != 0 && ops.lay(o, actions, &n):
		case o.seq > ops.overlap.settled+1 && ops.awaitEntry(o, *a):
		case o.yields.On() && ops.yield(o, *a):
		case a.Op == ir.Put:
			n = ops.putJoined(o, actions)
		case !o.window.Postpone(&o.outbox, *a):
			ops.mcast(o, a.Slot)
		}
	}
}

// putSlot puts one slot.
func (ops *operations) putSlot(o *op, s ir.Slot, to int) {
	ops.putJoined(o, []ir.Action{{Op: ir.Put, Slot: s, To: int32(to)}})
}

// putJoined puts as many of the first actions of a message as go in one frame, and returns how
// many.
func (ops *operations) putJoined(o *op, message []ir.Action) (n int) {
	n, body := o.joined(message)
	s, to := message[0].Sets(), int(message[0].To)
	f := ops.fill(o, s, body)
	f.Arg = uint32(n - 1)
	o.unsent++
	if ops.loss.Doubles() {
		ops.double(o, to)
	}
	for i := range n {
		ops.trace(EventPut, o.seq, s+ir.Slot(i), to)
	}
	ops.put(to, f)
	return n
}

// shortBlock is the greatest length in bytes of a block that its receiver copies to its place; a
// longer block gets a frame of its own.
const shortBlock = 1 << 10

// joined returns how many of the first actions of a message go in one frame, and the frame's body.
// Their slots lie one behind the other here, and have consecutive numbers at the destination. If the
// destination wants one longer block and relays the next, they go in two frames, so that both are
// received in their places.
func (o *op) joined(message []ir.Action) (n int, body []byte) {
	if message[0].Slot.Kind() == ir.KindSignal || o.gone {
		return 1, nil
	}
	pl := &o.plan.places
	at := pl.of(message[0].Slot)
	lo, end := o.memory.bounds(at)
	for n = 1; n < len(message) && message[n].Joins; n++ {
		a, before := &message[n], &message[n-1]
		next := pl.of(a.Slot)
		from, to := o.memory.bounds(next)
		if a.Sets() != before.Sets()+1 || next.area != at.area || from != end || to-lo > wire.MaxBody {
			break
		}
		if o.n > shortBlock && a.As == ir.None {
			if theirs := pl.wantedBy(int(a.To)); theirs.Has(a.Slot.Index()) != theirs.Has(before.Slot.Index()) {
				break
			}
		}
		end = to
	}
	return n, o.memory.span(at.area, lo, end)
}

// fill sets the scratch frame to carry slot s of o, with its bytes.
func (ops *operations) fill(o *op, s ir.Slot, body []byte) *wire.Frame {
	f := &ops.frame
	f.Header = wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps} // a literal of all fields would be made elsewhere and copied
	f.Epoch, f.Seq, f.Slot, f.Print, f.From, f.Len = ops.Epoch, o.seq, s, o.print, ops.Rank, len(body)
	f.Body, f.Unsent = body, &o.unsent
	return f
}

// mcast multicasts a chunk, and repeats the last one of several. It leaves out multicasts that
// would be lost anyway; the effect is the same.
func (ops *operations) mcast(o *op, s ir.Slot) {
	if o.plan.manyCast && ops.peers.Config().Floods(o.bytes()) {
		return
	}
	f := ops.fill(o, s, o.bytesOf(s))
	ops.trace(EventMcast, o.seq, s, -1)
	for range 1 + o.lost.Repeats(s.Index()) {
		ops.queued = true
		o.unsent++
		ops.net.Mcast(f)
	}
}
