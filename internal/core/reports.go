package core

import (
	"github.com/schedgen/schedgen/internal/core/flow"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Ranks report how far a multicast has come, and how many chunks they have. Package flow decides
// what a rank does with reports and when it makes them; here the core sends and takes them.

// flowConfig returns the configuration of package flow for a core.
func flowConfig(cfg *Config) flow.Config {
	return flow.Config{
		Repair: cfg.Repair, Multicast: cfg.Caps.Multicast, Network: cfg.Caps.Local < cfg.Size,
		Room: cfg.Caps.Room, Datagram: cfg.Caps.Datagram, Ahead: Remembered,
	}
}

// openFlow prepares the window and the yielding puts of o.
func (ops *operations) openFlow(o *op) {
	m := flow.Message{
		Seq: o.seq, Print: o.print, Chunks: o.chunks, Bytes: o.bytes(), Longest: o.longest(),
		Root: o.root == ops.Rank, Yields: o.plan.yields, Recovery: &o.plan.recovery,
	}
	ops.peers.OpenYields(&o.yields, &m)
	ops.peers.OpenWindow(&o.window, &m, ops.takenBefore(o))
}

// takenBefore returns how many bytes of receivers' buffers the multicasts of open operations before
// o take.
func (ops *operations) takenBefore(o *op) (bytes int) {
	for seq := ops.complete + 1; seq < o.seq; seq++ {
		if p := ops.open(seq); p != nil {
			bytes += p.window.Taken()
		}
	}
	return bytes
}

// endFlow ends o at this rank: from now on its multicast need not come.
func (ops *operations) endFlow(o *op) {
	ops.flow(o, o.window.End())
	ops.unqueue()
}

// flow takes step s after new progress of the multicast of o.
func (ops *operations) flow(o *op, s flow.Step) {
	switch s {
	case flow.Report:
		ops.tellTaken(o)
	case flow.Release:
		ops.sendPostponed(o)
	case flow.Finish:
		o.window.Drop()
		o.outbox.Pop(flow.ByRoom, len(o.outbox.All(flow.ByRoom)))
		ops.unqueue()
	}
}

// sendPostponed sends the multicasts that are within the window now.
func (ops *operations) sendPostponed(o *op) {
	for {
		waiting := o.outbox.All(flow.ByRoom)
		if len(waiting) == 0 || !o.window.Within(waiting[0].Slot) {
			return
		}
		ops.mcast(o, waiting[0].Slot)
		o.outbox.Pop(flow.ByRoom, 1)
	}
}

// unqueue releases the multicasts that no longer need to wait for earlier operations.
func (ops *operations) unqueue() {
	for seq := ops.complete + 1; ops.peers.Queued() && seq <= ops.seq; seq++ {
		if o := ops.open(seq); o != nil && ops.peers.Fits(&o.window, ops.takenBefore(o)) {
			ops.sendPostponed(o)
		}
	}
}

// tickFlow gives up ranks that have not reported for too long.
func (ops *operations) tickFlow(o *op, now Time) {
	for {
		s, again := o.window.Tick(now, ops.Repair, o.unsent > 0, &o.yields, &o.outbox)
		if !again {
			break
		}
		ops.flow(o, s)
	}
	for i := range o.yields.Receivers() {
		rank := o.yields.Receiver(i)
		// While frames are still leaving, or multicasts wait for earlier operations' multicasts, no
		// rank can have received them.
		busy := o.window.Behind() || o.unsent > 0 || ops.lacksBefore(o, rank)
		if chunks := ops.peers.Tick(&o.yields, &o.outbox, i, now, busy); len(chunks) > 0 {
			for _, k := range chunks {
				ops.putOnce(o, k, rank)
			}
			ops.resume()
		}
	}
}

// lacksBefore reports whether puts of an operation before o wait for rank, which may then not have
// begun o.
func (ops *operations) lacksBefore(o *op, rank int) bool {
	for seq := ops.complete + 1; seq < o.seq; seq++ {
		if p := ops.open(seq); p != nil && p.yields.Lacks(rank) {
			return true
		}
	}
	return false
}

// yield makes a put wait, or leaves it out. It reports whether it has, or has put it instead.
func (ops *operations) yield(o *op, a ir.Action) bool {
	if a.Op != ir.Put || a.Slot.Kind() != ir.KindChunk {
		return false
	}
	d := o.yields.Decide(&o.outbox, a)
	if d == flow.PutOnce {
		ops.putOnce(o, a.Slot.Index(), int(a.To))
	}
	return d != flow.Put
}

// reported takes the report of a rank on how far the multicast has come there.
func (ops *operations) reported(o *op, h *wire.Header) {
	ops.peers.NoteReached(h.From, h.Seq, h.Print, int(h.Arg))
	if o == nil || !o.window.On() {
		return // too early or too late; openFlow takes the early ones
	}
	if !ops.takeReport(o, h) {
		ops.fate.violation(h, "it reports to a rank that does not expect it")
	}
}

// takeReport takes a report, and reports whether the sender reports to this rank.
func (ops *operations) takeReport(o *op, h *wire.Header) bool {
	s, ok := o.window.Take(h.From, int(h.Arg))
	ops.flow(o, s)
	return ok
}

// tellTaken reports progress to the parent. While losses are seen it also sends a datagram, since a
// lost put would delay all ranks until it is sent again. Within a host no put is lost, and
// datagrams would only take room in the parent's buffer.
func (ops *operations) tellTaken(o *op) {
	to, progress := o.window.Parent(), uint32(o.window.Progress())
	ops.control(to, wire.FrameTaken, o.seq, o.print, progress)
	if ops.loss.Losing() && ops.Caps.Local < ops.Size {
		ops.queued = true
		ops.net.Datagram(to, ops.fillControl(wire.FrameTaken, o.seq, o.print, progress))
	}
}

// learn records that rank has chunks 0 to have-1 of o.
func (ops *operations) learn(o *op, rank, have int) {
	if ops.peers.Learn(&o.yields, &o.outbox, rank, have) {
		ops.resume()
	}
}

// learnEarly records a report about an operation that this rank has not begun.
func (ops *operations) learnEarly(h *wire.Header) {
	if h.Seq <= ops.seq {
		ops.totals.Stale++
		return
	}
	ops.peers.NoteHave(h.From, h.Seq, h.Print, int(h.Arg))
}

// grown updates which chunks have arrived, and reports when all have.
func (ops *operations) grown(o *op) {
	have := o.yields.Have()
	for have < o.chunks && o.machine.Has(ir.Chunk(have)) {
		have++
	}
	if !o.yields.Grow(have) {
		return
	}
	to := int(o.plan.recovery.ReportTo)
	if ops.loss.Losing() {
		ops.tellLoosely(o, to)
	}
	ops.tellWhole(o, to)
}

// tellLoosely reports to rank to the chunks that have arrived here, by datagram if possible: the
// next report makes up for a lost one.
func (ops *operations) tellLoosely(o *op, to int) {
	f := ops.fillWant(o, nil)
	if !ops.Caps.Direct {
		ops.put(to, f)
		return
	}
	ops.queued = true
	ops.net.Datagram(to, f)
}

// tellWhole tells rank to, before the call returns, that nothing is missing here.
func (ops *operations) tellWhole(o *op, to int) {
	f := ops.fillWant(o, nil)
	f.Arg, f.Unsent = uint32(o.chunks), &o.unsent
	o.unsent++
	ops.put(to, f)
}

// fillWant sets the scratch frame to ask for the given runs, and to say what has arrived.
func (ops *operations) fillWant(o *op, runs []byte) *wire.Frame {
	ops.frame = wire.Frame{Header: wire.Header{
		Kind: wire.FrameWant, Lane: wire.LaneControl, Epoch: ops.Epoch, Seq: o.seq, Print: o.print,
		Arg: uint32(o.yields.Have()), Len: len(runs), From: ops.Rank,
	}, Body: runs}
	return &ops.frame
}
