package core

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/flow"
	"github.com/schedgen/schedgen/internal/core/loss"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Package loss says which chunks multicasts have lost, whom to ask for them, and what to give to
// ranks that ask. Here the core tells it what arrives, and sends its answers.

// lossConfig returns the configuration of package loss for a core.
func lossConfig(cfg *Config) loss.Config {
	return loss.Config{Repair: cfg.Repair, Direct: cfg.Caps.Direct, Datagram: cfg.Caps.Datagram}
}

// A request is a body on LaneControl.
const _ = uint(wire.MaxControl - loss.MaxRequest)

// The Slot of a request says why the chunks are missing. A chunk that may be late also reaches the
// rank that is asked, unless it is lost.
const (
	wasPassed = ir.None  // the multicast has passed the chunks, or has stopped
	mayBeLate = ir.Enter // the sender has heard nothing of the multicast
)

// isAnswer is the Arg of a chunk that answers a request. Other datagrams are multicasts of the rank
// that holds the chunk.
const isAnswer = 1

// openLosses prepares for losses of o. Ranks do not ask for chunks if puts bring all chunks without
// waiting for the multicast.
func (ops *operations) openLosses(o *op) {
	m := loss.Message{Chunks: o.chunks, Bytes: o.bytes(), Root: o.root}
	if o.yields.On() || !o.plan.yields {
		m.Ask, m.Asked = o.plan.recovery.Ask, o.plan.recovers
	}
	o.lost.Open(m)
}

// tickLosses does all due work of o.
func (ops *operations) tickLosses(o *op, now Time) {
	ops.repair(o, now)
	if ops.loss.Look(&o.lost, now) {
		ops.follow(o, now)
		if ops.loss.ReportDue(&o.lost, now) && o.yields.ShouldReport(o.lost.Top(), true) {
			ops.tellLoosely(o, int(o.plan.recovery.ReportTo))
			o.lost.Reported(now)
		}
		ops.loss.Ask(&o.lost, now, o)
	}
	ops.loss.AskUnheard(&o.lost, now, o)
	ops.sendOutputs(o)
	ops.loss.Slow(o.pulse.Since(), now)
}

// follow makes later operations wait anew for the multicasts of the root of o, if its multicast has
// just been heard.
func (ops *operations) follow(o *op, now Time) {
	for seq := o.seq + 1; seq <= ops.seq && o.lost.LastHeard() == now; seq++ {
		if p := ops.lookup(seq); p != nil && p.root == o.root {
			if p.lost.LastHeard() > 0 {
				return // the others follow p
			}
			p.lost.Await()
		}
	}
}

// Lacks implements [loss.Facts].
func (o *op) Lacks(k int) bool { return o.state == opActive && !o.machine.Has(ir.Chunk(k)) }

// Pending implements [loss.Facts].
func (o *op) Pending(rule int32) bool { return o.machine.Pending(rule) }

// Unsent implements [loss.Facts].
func (o *op) Unsent() bool {
	return o.unsent > 0 || o.outbox.Has(flow.ByEntry) || o.outbox.Has(flow.ByRoom)
}

// sendOutputs sends what package loss has asked for in a step about o.
func (ops *operations) sendOutputs(o *op) {
	for _, out := range ops.loss.Outputs() {
		switch out.Do {
		case loss.AskParts:
			f := ops.fillRequest(o, &out)
			ops.queued = true
			ops.net.Datagram(out.To, f)
		case loss.AskChunks:
			f := ops.fillRequest(o, &out)
			if f.Slot = wasPassed; out.Request.Late {
				f.Slot = mayBeLate
			}
			ops.put(out.To, f)
		case loss.Give:
			ops.putSlot(o, ir.Chunk(out.Chunk), out.To)
		case loss.GiveParts:
			ops.giveParts(o, &out)
		case loss.TellAtWork:
			if r := &o.plan.recovery; r.Reports {
				ops.tellLoosely(o, int(r.ReportTo))
			}
		case loss.TellWhole:
			if r := &o.plan.recovery; r.Reports {
				ops.tellWhole(o, int(r.ReportTo))
			}
		}
	}
}

func (ops *operations) fillRequest(o *op, out *loss.Output) *wire.Frame {
	ops.trace(EventAsked, o.seq, ir.None, out.To)
	f := ops.fillWant(o, out.Request.Runs())
	f.Unsent = &out.Request.Unsent
	return f
}

// giveParts sends fragments of a chunk to a rank as one datagram frame.
func (ops *operations) giveParts(o *op, out *loss.Output) {
	f := ops.fill(o, ir.Chunk(out.Chunk), o.bytesOf(ir.Chunk(out.Chunk)))
	from, to := o.lost.Parts.Span(out.Chunk, out.Lo, out.Hi, len(f.Body))
	f.Arg, f.Offset, f.Body = isAnswer, from, f.Body[from:to]
	o.unsent++
	ops.queued = true
	ops.net.Datagram(out.To, f)
	f.Offset = 0
}

// putOnce puts chunk k to rank unless it has been put before.
func (ops *operations) putOnce(o *op, k, rank int) {
	if first, _ := o.lost.Once(k, rank); first {
		ops.putSlot(o, ir.Chunk(k), rank)
	}
}

// hasGiven reports whether a rule is about to put a chunk that has been put to its rank, and records
// the put. It matters if the schedule says how to recover. Puts that yield and repairs look for
// themselves.
func (ops *operations) hasGiven(o *op, a ir.Action) bool {
	if ops.repairing || o.yields.On() || a.Op != ir.Put || a.Slot.Kind() != ir.KindChunk {
		return false
	}
	first, _ := o.lost.Once(a.Slot.Index(), int(a.To))
	return !first
}

// wanted answers a request that came by put.
func (ops *operations) wanted(o *op, h *wire.Header, runs []byte) {
	if o == nil {
		ops.learnEarly(h)
		return
	}
	if !ops.loss.Valid(&o.lost, runs, false) || int(h.Arg) > o.chunks {
		ops.fate.violation(h, "invalid request for chunks beyond the last of %d", o.chunks)
		return
	}
	ops.serve(o, h, runs, false)
}

// wantedLoosely answers a request that came by datagram. It returns false if h is no valid request.
func (ops *operations) wantedLoosely(o *op, h *wire.Header, runs []byte) bool {
	if o.chunks == 0 || h.Len != len(runs) || int(h.Arg) > o.chunks {
		return false
	}
	ops.layout(o)
	if !ops.loss.Valid(&o.lost, runs, true) {
		return false
	}
	ops.serve(o, h, runs, true)
	return true
}

// serve answers a rank's request: for fragments if parts is set, else for chunks. It also records
// that the rank is at work and has the chunks below h.Arg, so that the schedule's repairs for it
// can wait. A root that is asked for chunks that may be late does nothing if the request may have
// been made before its multicast left: parts of it are still leaving, or no tick has passed since
// the operation began.
func (ops *operations) serve(o *op, h *wire.Header, runs []byte, parts bool) {
	rank, late := h.From, h.Slot == mayBeLate
	if late && o.root == ops.Rank && (o.Unsent() || o.pulse.Since() == 0) {
		return
	}
	ops.learn(o, rank, int(h.Arg))
	o.lost.Spare(rank, int(h.Arg) >= o.chunks)
	if len(runs) > 0 && !late {
		ops.loss.Lost()
	}
	if o.canSend() { // otherwise the chunks are gone; other ranks repair
		ops.loss.Serve(&o.lost, rank, runs, parts, late, o)
		ops.sendOutputs(o)
	}
}

// datagram takes a datagram of o. It returns false if the datagram is invalid.
func (ops *operations) datagram(o *op, h *wire.Header, offset int, payload []byte) bool {
	switch {
	case h.Kind == wire.FrameWant:
		return ops.wantedLoosely(o, h, payload)
	case h.Kind == wire.FrameTaken:
		return len(payload) == 0 && o.window.On() && ops.takeReport(o, h)
	case h.Kind != wire.FrameSlot || !o.machine.Valid(h.Slot):
		return false
	case h.Slot.Kind() == ir.KindSignal && h.Len == 0:
		ops.traceNew(EventReceived, o, h.Slot, h.From)
		ops.set(o, h.Slot)
		return true
	case h.Slot.Kind() != ir.KindChunk || o.state != opActive || h.Arg != isAnswer && !o.castBy(h.From, h.Slot.Index()):
		return false
	}
	return ops.fragment(o, h, offset, payload)
}

// fragment takes a fragment of a chunk. It returns false if the fragment is invalid.
func (ops *operations) fragment(o *op, h *wire.Header, offset int, payload []byte) bool {
	ops.layout(o)
	dst, k := o.bytesOf(h.Slot), h.Slot.Index()
	if len(dst) != h.Len || !o.lost.Parts.Fits(len(dst), offset, len(payload)) {
		return false
	}
	answer := h.Arg == isAnswer
	if !answer {
		o.lost.Hear(k)
		if o.yields.ShouldReport(o.lost.Top(), false) {
			ops.tellLoosely(o, int(o.plan.recovery.ReportTo))
		}
		ops.flow(o, o.window.Reached(k+count(nearEnd(offset+len(payload), len(dst)))))
	}
	if o.machine.Has(h.Slot) {
		return true
	}
	copy(dst[offset:], payload)
	if ops.loss.TakePart(&o.lost, k, offset, answer) {
		ops.trace(EventReceived, o.seq, h.Slot, h.From)
		ops.set(o, h.Slot)
	}
	return true
}

// nearEnd reports whether byte end of a chunk of n bytes counts as its last. A window may be one
// chunk: if the root waited for a lost last fragment, or for the report of the last fragment, the
// link would idle.
func nearEnd(end, n int) bool { return end >= n-n/4 }

// layout numbers the fragments of o, unless they have numbers.
func (ops *operations) layout(o *op) {
	if o.lost.Parts.LaidOut() {
		return
	}
	o.lost.Parts.Layout(ops.Caps.Datagram, o.chunks, func(k int) int {
		lo, hi := o.memory.bounds(o.plan.places.of(ir.Chunk(k)))
		return hi - lo
	})
}

// repairRule describes a repair rule of the plan.
func (p *Plan) repairRule(rule int32) loss.Rule {
	after, _ := p.program.Repair(rule)
	first := p.program.Actions(rule)[0]
	return loss.Rule{Number: rule, After: after, Chunks: first.Slot.Kind() == ir.KindChunk, To: int(first.To)}
}

// repair carries out the repairs of o that are due and still wanted.
func (ops *operations) repair(o *op, now Time) {
	for at := 0; ; {
		job, ok := ops.loss.NextRepair(&o.lost, at, now, o)
		if !ok {
			return
		}
		more := ops.carryOut(o, job)
		ops.loss.Repaired(&o.lost, job, now, more, o.empty())
		at = job.Next()
	}
}

// carryOut carries out a repair, without chunks that have been put to their rank before. It reports
// whether chunks are left to put.
func (ops *operations) carryOut(o *op, job loss.Job) (more bool) {
	actions, most := o.plan.program.Actions(job.Rule), job.Most
	ops.trace(EventRepair, o.seq, actions[0].Slot, int(actions[0].To))
	ops.repairing = true
	defer func() { ops.repairing = false }()
	for i, a := range actions {
		if a.Op == ir.Put && a.Slot.Kind() == ir.KindChunk {
			if most == 0 {
				return true
			}
			if !ops.firstPut(o, a) {
				continue
			}
			most--
		}
		ops.act(o, actions[i:i+1])
	}
	return false
}

// firstPut reports whether a chunk is put to its rank for the first time. If that is not known, it
// returns false for a rank that may not have entered: the repair is made again.
func (ops *operations) firstPut(o *op, a ir.Action) bool {
	first, known := o.lost.Once(a.Slot.Index(), int(a.To))
	if !known {
		return ops.settledBefore(o) || o.entries.known.Has(int(a.To))
	}
	return first
}

// expects reports whether other ranks are likely to ask for chunks of o. If puts yield, they do
// not: a rank returns only when the ranks that it puts to have all chunks, or when it has put all.
func (ops *operations) expects(o *op) bool {
	return o.plan.recovers && !o.plan.yields && ops.loss.Losing()
}

// double also sends the slot of the scratch frame, which is about to be put for o, as a datagram,
// if it is a signal to be doubled. A repair repeats its puts itself.
func (ops *operations) double(o *op, to int) {
	slot := ops.frame.Slot
	if slot.Kind() != ir.KindSignal || ops.repairing {
		return
	}
	if p := o.plan; p.recovers && !slices.Contains(p.recovery.Twice, ir.PutTo(slot, to)) {
		return
	}
	unsent := ops.frame.Unsent
	ops.frame.Unsent = nil // it has no body
	ops.net.Datagram(to, &ops.frame)
	ops.frame.Unsent = unsent
	ops.loss.Double(loss.Double{Seq: o.seq, Slot: slot, Print: o.print, To: to})
}

// repeatDoubles repeats the doubled signals that are due, except signals to ranks that have left
// and signals of operations that this rank has forgotten.
func (ops *operations) repeatDoubles(now Time) {
	if !ops.loss.Repeating() {
		return
	}
	useless := func(seq uint64, to int) bool { return ops.complete >= seq+Remembered || ops.members.Gone(to) }
	for _, d := range ops.loss.Repeat(now, useless) {
		ops.frame = wire.Frame{Header: wire.Header{
			Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: ops.Epoch, Seq: d.Seq, Slot: d.Slot, Print: d.Print, From: ops.Rank,
		}}
		ops.queued = true
		ops.net.Datagram(d.To, &ops.frame)
	}
}

// confirm tells the sender of h that it need not repeat a signal, if the signal belongs to an
// operation that has ended here.
func (ops *operations) confirm(h *wire.Header) {
	if h.Kind != wire.FrameSlot || h.Slot.Kind() != ir.KindSignal || h.Seq > ops.complete || ops.fate.err != nil {
		return
	}
	f := ops.fillControl(wire.FrameAlive, h.Seq, h.Print, 0)
	f.Slot = h.Slot
	ops.queued = true
	ops.net.Datagram(h.From, f)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
