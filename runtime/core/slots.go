package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core/lines"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Slots: from an arriving frame to the puts of the rules.

// buffer decides where the body of a slot's frame goes.
func (ops *operations) buffer(h *wire.Header) ([]byte, wire.Verdict) {
	if h.Seq > ops.seq {
		return ops.acceptEarly(h)
	}
	o := ops.lookup(h.Seq)
	if o == nil {
		if ops.agreed(h) && h.Slot.Kind() == ir.KindSignal { // a request of a rank that has fallen behind
			ops.sayOver(h.From, h.Seq, h.Print)
		}
		ops.totals.Stale++
		return nil, wire.Drop
	}
	if !ops.agrees(o, h) {
		return nil, wire.Drop
	}
	if h.Slot.Kind() == ir.KindSignal {
		if h.Len != 0 || !o.machine.Valid(h.Slot) {
			ops.fate.violation(h, "%v with %d bytes does not exist here", h.Slot, h.Len)
			return nil, wire.Drop
		}
		return nil, wire.Accept
	}
	if h.Slot.Kind() == ir.KindValue {
		return ops.bufferValues(o, h)
	}
	return ops.bufferChunk(o, h)
}

// acceptEarly takes signals of the next few operations. Anything else waits with its sender until
// the process has entered the operation.
func (ops *operations) acceptEarly(h *wire.Header) ([]byte, wire.Verdict) {
	if !ops.remembers(h.Slot) || h.Len != 0 || h.Seq > ops.seq+ahead {
		return nil, wire.Hold
	}
	return nil, wire.Accept
}

func (ops *operations) bufferChunk(o *op, h *wire.Header) ([]byte, wire.Verdict) {
	if h.Slot.Kind() != ir.KindChunk || !o.machine.Valid(h.Slot) {
		ops.fate.violation(h, "slot %v does not exist here", h.Slot)
		return nil, wire.Drop
	}
	if h.Arg > 0 {
		return ops.bufferRun(o, h)
	}
	if o.state != opActive || o.machine.Has(h.Slot) {
		return nil, wire.Drop
	}
	dst := o.chunk(h.Slot)
	if len(dst) != h.Len {
		ops.misfit(o, h, 1, len(dst))
		return nil, wire.Drop
	}
	return dst, wire.Accept
}

// bufferRun decides where the body of a frame of several chunks goes.
func (ops *operations) bufferRun(o *op, h *wire.Header) ([]byte, wire.Verdict) {
	first, n := h.Slot.Index(), int(h.Arg)+1
	if n < 0 || n > o.chunks-first || !o.machine.Valid(ir.Chunk(first+n-1)) {
		ops.fate.violation(h, "%d slots from %v on do not exist here", n, h.Slot)
		return nil, wire.Drop
	}
	missing := false
	for k := first; k < first+n && !missing; k++ {
		missing = !o.machine.Has(ir.Chunk(k))
	}
	if o.state != opActive || !missing {
		return nil, wire.Drop
	}
	if want := o.lengthFrom(first, n); want != h.Len {
		ops.misfit(o, h, n, want)
		return nil, wire.Drop
	}
	if dst, ok := o.chunksFrom(first, n); ok {
		return dst, wire.Accept
	}
	return ops.apart.buffer(h), wire.Accept
}

// part copies the chunks of a frame with several chunks to their places, unless they have been
// received there.
func (ops *operations) part(o *op, h *wire.Header, body []byte) {
	first, n := h.Slot.Index(), int(h.Arg)+1
	if _, there := o.chunksFrom(first, n); there {
		return
	}
	for k := first; k < first+n; k++ {
		body = body[copy(o.chunk(ir.Chunk(k)), body):]
	}
	ops.apart.drop(h)
}

// arrived takes a slot whose body is in its buffer.
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
	if h.Slot.Kind() == ir.KindValue {
		if o.state == opActive {
			ops.valuesArrived(o, h, body)
		}
		return
	}
	if h.Arg > 0 && o.state == opActive {
		ops.part(o, h, body)
	}
	for k := h.Slot.Index(); k <= h.Slot.Index()+int(h.Arg); k++ {
		s := ir.Chunk(k)
		ops.traceNew(EventArrived, o, s, h.From)
		if !o.machine.Has(s) {
			o.lost.TakePut(o.yields.On()) // the chain brings the message: it is not silent
		}
		ops.set(o, s)
	}
}

// set sets a slot of o and carries out the rules that this triggers. Triggered folds set slots in
// turn.
func (ops *operations) set(o *op, s ir.Slot) {
	o.pulse.Stir()
	ops.setOne(o, s)
	for i := 0; i < len(o.folds.made); i++ {
		ops.trace(EventFolded, o.seq, o.folds.made[i], -1)
		ops.setOne(o, o.folds.made[i])
	}
	o.folds.made = o.folds.made[:0]
	if o.yields.On() {
		ops.grown(o)
	}
	ops.resume()
}

func (ops *operations) setOne(o *op, s ir.Slot) {
	owed := o.lost.Owes() && s.Kind() == ir.KindChunk && !o.machine.Has(s)
	do, arm := o.machine.Set(s)
	if len(do) > 0 {
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

// act sends the frames of actions.
func (ops *operations) act(o *op, actions []ir.Action) {
	for n := 1; len(actions) > 0; actions = actions[n:] {
		n = 1
		switch a := actions[0]; {
		case a.Op == ir.Fold:
			n = len(ir.MessageOf(actions))
			ops.fold(o, actions[:n])
		case a.Slot.Kind() == ir.KindChunk && !o.canSend():
			// The request came too late; other ranks repair.
		case ops.hasGiven(o, a):
			// A request has brought the chunk to this rank.
		case o.turn != 0 && lines.IsFlag(a.Slot):
			n = ops.raise(o, actions)
		case o.turn != 0 && ops.lay(o, actions, &n):
		case a.Op == ir.Put && a.Slot.Kind() == ir.KindChunk && ops.over(o, o.seq):
			ops.loss.Lost()
			ops.sayOver(int(a.To), o.seq, o.print)
		case o.seq > ops.overlap.settled+1 && ops.wait(o, a):
		case a.As != ir.None:
			n = ops.putValues(o, actions)
		case o.yields.On() && ops.yield(o, a):
		case a.Op == ir.Put && n < len(actions) && actions[n].Joins:
			n = o.plan.places.countInFrame(actions, o.n)
			ops.putRun(o, a.Slot, n, int(a.To))
		case a.Op == ir.Put:
			ops.putSlot(o, a.Slot, int(a.To))
		case o.window.Postpone(a.Slot):
			o.unsent++ // the call must not return before it is sent
		default:
			ops.mcast(o, a.Slot)
		}
	}
}

func (ops *operations) putSlot(o *op, s ir.Slot, to int) {
	f := ops.fill(o, s)
	o.unsent++
	ops.double(o, to)
	ops.trace(EventPut, o.seq, s, to)
	ops.put(to, f)
}

// putRun puts n chunks, from s on, in one frame.
func (ops *operations) putRun(o *op, s ir.Slot, n, to int) {
	f := ops.fill(o, s)
	if n > 1 {
		f.Body, _ = o.chunksFrom(s.Index(), n)
		f.Len, f.Arg = len(f.Body), uint32(n-1)
	}
	o.unsent++
	ops.double(o, to)
	for k := range n {
		ops.trace(EventPut, o.seq, ir.Chunk(s.Index()+k), to)
	}
	ops.put(to, f)
}

// fill sets the scratch frame to carry slot s of o.
func (ops *operations) fill(o *op, s ir.Slot) *wire.Frame {
	f := &ops.frame
	f.Header = wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: ops.Epoch, Seq: o.seq, Slot: s, Print: o.print, From: ops.Rank}
	f.Body = nil
	if s.Kind() == ir.KindChunk {
		f.Body = o.chunk(s)
		f.Len = len(f.Body)
	}
	f.Unsent = &o.unsent
	return f
}

// mcast multicasts a chunk, and repeats the last one of several. It leaves out multicasts that
// would be lost anyway; the effect is the same.
func (ops *operations) mcast(o *op, s ir.Slot) {
	if o.plan.manyCast && ops.peers.Config().Floods(o.bytes()) {
		return
	}
	f := ops.fill(o, s)
	ops.trace(EventMcast, o.seq, s, -1)
	for range 1 + o.lost.Repeats(s.Index()) {
		ops.queued = true
		o.unsent++
		ops.net.Mcast(f)
	}
}
