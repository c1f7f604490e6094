package core

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core/internal/bitset"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Answers take the same way as their requests: by put, which is reliable and adapts to the network,
// or by datagram, so that a lost one does not delay the others.

// debt holds the chunks and fragments that a rank has asked for and that this rank lacks too.
type debt struct {
	rank   int
	chunks bitset.Set // chunks asked for by put
	late   bitset.Set // those of chunks that may only be late
	parts  bitset.Set // fragments asked for by datagram; empty: none
}

// service holds the chunks that have been put to a rank. Puts are reliable: a chunk that has been
// put is on its way, however long it takes, and is never put again.
type service struct {
	rank   int
	chunks bitset.Set
}

// maxServed is the greatest number of ranks with a service. Other ranks may get a chunk as often as
// they ask for it.
const maxServed = 1024

// serviceOf returns the service of rank, or nil if there are too many.
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
	s.chunks = s.chunks.Cleared(chunks)
	return s
}

// once records that chunk k is put, and reports whether that is the first time.
func (s *service) once(k int) bool {
	if s == nil {
		return true
	}
	first := !s.chunks.Has(k)
	s.chunks.Add(k)
	return first
}

// maxDebtors is the greatest number of ranks with a debt; others ask again.
const maxDebtors = 16

// owes reports whether there are debts.
func (l *losses) owes() bool { return len(l.debts) > 0 }

// wanted answers a request that came by put.
func (rc *recovery) wanted(h *wire.Header, runs []byte) {
	o := rc.ops.lookup(h.Seq)
	if o == nil {
		rc.ops.learnEarly(h)
		return
	}
	if !rc.ops.agrees(o, h) {
		return
	}
	if _, ok := countRuns(runs, o.chunks); !ok || int(h.Arg) > o.chunks {
		rc.fate.violation(h, "request for chunks beyond the last of %d", o.chunks)
		return
	}
	rc.serve(o, h, runs, false)
}

// wantedLoosely answers a request that came by datagram. It returns false if h is no valid request.
func (rc *recovery) wantedLoosely(o *op, h *wire.Header, runs []byte) bool {
	if o.chunks == 0 || h.Len != len(runs) || int(h.Arg) > o.chunks {
		return false
	}
	rc.layout(o)
	n, ok := countRuns(runs, o.frags.count())
	if !ok || n > rc.looseParts() {
		return false
	}
	rc.serve(o, h, runs, true)
	return true
}

// serve gives a rank what it asks for: fragments if loose is set, else chunks. It also records that
// the rank is at work and has the chunks below h.Arg, so that the schedule's repairs for it can
// wait.
func (rc *recovery) serve(o *op, h *wire.Header, runs []byte, loose bool) {
	rank, late := h.From, h.Slot == mayBeLate
	if late && o.premature(rc.Rank) {
		return
	}
	rc.ops.learn(o, rank, int(h.Arg))
	rc.spare(o, rank, int(h.Arg) >= o.chunks)
	if len(runs) > 0 && !late {
		rc.noteLoss()
	}
	for ; len(runs) > 0; runs = runs[8:] {
		first, n := int(binary.BigEndian.Uint32(runs)), int(binary.BigEndian.Uint32(runs[4:]))
		if loose {
			rc.giveParts(o, first, first+n, rank)
			continue
		}
		for k := first; k < first+n; k++ {
			rc.give(o, k, rank, late)
		}
	}
}

// give puts chunk k to rank, now or when k has arrived.
func (rc *recovery) give(o *op, k, rank int, late bool) {
	switch {
	case o.state == opActive && !o.machine.Has(ir.Chunk(k)):
		if d := o.lost.debtTo(rank); d != nil {
			d.owe(k, o.chunks, late)
		}
	case o.canSend(): // otherwise the chunks are gone; other ranks repair
		rc.putOnce(o, k, rank)
	}
}

// giveParts sends the fragments of [lo, hi) to rank as datagrams, now or when they have arrived.
func (rc *recovery) giveParts(o *op, lo, hi, rank int) {
	for i := lo; i < hi; {
		k := o.frags.chunkOf(i)
		if !o.hasPart(k, i) {
			if d := o.lost.debtTo(rank); d != nil {
				d.parts = d.parts.Roomy(o.frags.count())
				d.parts.Add(i)
			}
			i++
			continue
		}
		first, end := i, min(hi, int(o.frags.first[k+1]))
		for i++; i < end && o.hasPart(k, i); {
			i++
		}
		rc.answer(o, k, first, i, rank)
	}
}

// hasPart reports whether fragment i of chunk k is here.
func (o *op) hasPart(k, i int) bool {
	return o.state != opActive || o.machine.Has(ir.Chunk(k)) || o.frags.has(i)
}

// answer sends the fragments of [lo, hi), all of chunk k, to rank as one datagram frame.
func (rc *recovery) answer(o *op, k, lo, hi, rank int) {
	if !o.canSend() {
		return // the chunks are gone; other ranks repair
	}
	f := rc.ops.fill(o, ir.Chunk(k))
	first := int(o.frags.first[k])
	f.Arg, f.Offset = isAnswer, (lo-first)*o.frags.size
	f.Body = f.Body[f.Offset:min((hi-first)*o.frags.size, len(f.Body))]
	o.unsent++
	rc.queued = true
	rc.net.Datagram(rank, f)
	f.Offset = 0
}

// putOnce puts chunk k to rank unless it has been put before.
func (rc *recovery) putOnce(o *op, k, rank int) {
	if o.lost.serviceOf(rank, o.chunks).once(k) {
		rc.ops.putSlot(o, ir.Chunk(k), rank)
	}
}

// debtTo returns the debt to rank, or nil if there are too many debts.
func (l *losses) debtTo(rank int) *debt {
	for i := range l.debts {
		if l.debts[i].rank == rank {
			return &l.debts[i]
		}
	}
	n := len(l.debts)
	switch {
	case n == maxDebtors:
		return nil
	case n < cap(l.debts):
		l.debts = l.debts[:n+1] // reuses the memory of an old debt
	default:
		l.debts = append(l.debts, debt{})
	}
	d := &l.debts[n]
	*d = debt{rank: rank, chunks: d.chunks[:0], late: d.late[:0], parts: d.parts[:0]}
	return d
}

// owe records that chunk k of chunks is asked for by put. If it is asked for twice, it may be late
// only if both requests say so.
func (d *debt) owe(k, chunks int, late bool) {
	owed := d.chunks.Has(k)
	d.chunks = d.chunks.Roomy(chunks)
	d.chunks.Add(k)
	if !late {
		d.late.Remove(k)
	} else if !owed {
		d.late = d.late.Roomy(chunks)
		d.late.Add(k)
	}
}

// repay sends chunk k, which has arrived, to the ranks that are owed it or fragments of it.
func (rc *recovery) repay(o *op, k int) {
	for n := range o.lost.debts {
		d := &o.lost.debts[n]
		if d.chunks.Remove(k) {
			d.late.Remove(k)
			rc.give(o, k, d.rank, false)
		}
		if len(d.parts) == 0 {
			continue
		}
		for i := int(o.frags.first[k]); i < int(o.frags.first[k+1]); i++ {
			if d.parts.Remove(i) {
				rc.giveParts(o, i, i+1, d.rank)
			}
		}
	}
}
