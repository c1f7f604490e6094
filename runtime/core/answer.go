package core

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Answers go the way the request has come: by put, which is reliable and
// adapts to what the network takes, or as datagrams, which nothing holds up
// when one of them is lost.

// debt is chunks that a rank has asked for and that are missing here as well.
type debt struct {
	rank   int
	loose  bool // has been asked for by datagrams alone
	chunks []uint64
}

// service is what has been put to a rank. Puts are reliable: what has been put
// once is on its way, however long it takes, and is never put again.
type service struct {
	rank   int
	chunks []uint64
}

// maxServed is how many ranks are kept track of so; others may get a chunk as
// often as they ask for it.
const maxServed = 1024

// serviceOf returns what has been put to rank, nil if that is not kept track of.
func (l *losses) serviceOf(rank, chunks int) *service {
	for i := range l.served {
		if l.served[i].rank == rank {
			return &l.served[i]
		}
	}
	n := len(l.served)
	switch {
	case n == maxServed:
		return nil
	case n < cap(l.served):
		l.served = l.served[:n+1]
	default:
		l.served = append(l.served, service{})
	}
	s := &l.served[n]
	s.rank = rank
	s.chunks = cleared(s.chunks, (chunks+63)/64)
	return s
}

// once notes that chunk k is put, and reports whether that is for the first
// time.
func (s *service) once(k int) bool {
	if s == nil {
		return true
	}
	bit := uint64(1) << (k % 64)
	first := s.chunks[k/64]&bit == 0
	s.chunks[k/64] |= bit
	return first
}

// maxDebtors is how many ranks chunks are owed to; others ask again.
const maxDebtors = 16

// owes reports whether chunks are owed to anybody.
func (l *losses) owes() bool { return len(l.debts) > 0 }

// wanted answers a request that was put.
func (rc *recovery) wanted(h *wire.Header, runs []byte) {
	o := rc.ops.lookup(h.Seq)
	if o == nil {
		rc.ops.totals.Stale++
		return
	}
	if !rc.ops.agrees(o, h) {
		return
	}
	if _, ok := countRuns(runs, o.chunks); !ok {
		rc.fate.violation(h, "request for chunks beyond the last of %d", o.chunks)
		return
	}
	rc.serve(o, h.From, runs, false)
}

// wantedLoosely answers a request that came as a datagram, and reports
// whether it is one.
func (rc *recovery) wantedLoosely(o *op, h *wire.Header, runs []byte) bool {
	n, ok := countRuns(runs, o.chunks)
	if !ok || h.Len != len(runs) || n > o.looseChunks() {
		return false
	}
	rc.serve(o, h.From, runs, true)
	return true
}

// serve gives rank the chunks that it asks for. It also tells that rank is at
// work: what the schedule would put to it, it asks for by itself. A request for
// nothing says that it has all.
func (rc *recovery) serve(o *op, rank int, runs []byte, loose bool) {
	rc.spare(o, rank, len(runs) == 0)
	if len(runs) > 0 {
		rc.noteLoss()
	}
	for ; len(runs) > 0; runs = runs[8:] {
		first, n := int(binary.BigEndian.Uint32(runs)), int(binary.BigEndian.Uint32(runs[4:]))
		for k := first; k < first+n; k++ {
			rc.give(o, k, rank, loose)
		}
	}
}

// give sends chunk k to rank, now or when it is here.
func (rc *recovery) give(o *op, k, rank int, loose bool) {
	switch here := o.state != opActive || o.machine.Has(ir.Chunk(k)); {
	case !here:
		rc.owe(o, k, rank, loose)
	case !o.holds():
		// The request came too late for what is kept; others repair.
	case loose:
		rc.answer(o, ir.Chunk(k), rank)
	default:
		rc.putOnce(o, k, rank)
	}
}

// putOnce puts chunk k to rank unless that has been done.
func (rc *recovery) putOnce(o *op, k, rank int) {
	if o.lost.serviceOf(rank, o.chunks).once(k) {
		rc.ops.putSlot(o, ir.Chunk(k), rank)
	}
}

// answer sends a chunk as datagrams to one rank.
func (rc *recovery) answer(o *op, s ir.Slot, rank int) {
	f := rc.ops.fill(o, s)
	f.Arg = isAnswer
	o.unsent++
	rc.queued = true
	rc.net.Datagram(rank, f)
}

func (rc *recovery) owe(o *op, k, rank int, loose bool) {
	bit := uint64(1) << (k % 64)
	for i := range o.lost.debts {
		if d := &o.lost.debts[i]; d.rank == rank {
			d.chunks[k/64] |= bit
			d.loose = d.loose && loose
			return
		}
	}
	if len(o.lost.debts) < maxDebtors {
		d := o.lost.debtor()
		d.rank, d.loose = rank, loose
		d.chunks = cleared(d.chunks, (o.chunks+63)/64)
		d.chunks[k/64] |= bit
	}
}

// debtor returns a new last debt, with the memory of an old one.
func (l *losses) debtor() *debt {
	if n := len(l.debts); n < cap(l.debts) {
		l.debts = l.debts[:n+1]
	} else {
		l.debts = append(l.debts, debt{})
	}
	return &l.debts[len(l.debts)-1]
}

// settle sends chunk k, which has come, to those that it is owed to.
func (rc *recovery) settle(o *op, k int) {
	for i := range o.lost.debts {
		d := &o.lost.debts[i]
		if bit := uint64(1) << (k % 64); d.chunks[k/64]&bit != 0 {
			d.chunks[k/64] &^= bit
			rc.give(o, k, d.rank, d.loose)
		}
	}
}

// TCP resends a lost frame, but not before it has noticed, and no later frame
// tells it of the loss of a signal, which is the last for a while. Signals are
// small, and slots are set once: while losses are seen, a signal goes as a
// datagram beside its put, and whichever comes first counts.

// lossMemory is for how many operations a loss makes others be expected.
const lossMemory = 16

// noteLoss remembers that the network loses frames.
func (rc *recovery) noteLoss() {
	if rc.Caps.Direct {
		rc.lossy = rc.ops.seq + lossMemory
	}
}

// double sends the signal of the scratch frame, which is about to be put, as a
// datagram.
func (rc *recovery) double(seq uint64, to int) {
	if seq > rc.lossy || rc.frame.Slot.Kind() != ir.KindSignal {
		return
	}
	unsent := rc.frame.Unsent
	rc.frame.Unsent = nil // it has no body
	rc.net.Datagram(to, &rc.frame)
	rc.frame.Unsent = unsent
	rc.doubled++
}
