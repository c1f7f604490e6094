package loss

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/internal/core/internal/bitset"
)

// Answers take the same way as their requests: by put, which is reliable and adapts to the network,
// or by datagram, so that a lost one does not delay the others.

// debt holds the chunks and fragments that a rank has asked for and that this rank lacks too.
type debt struct {
	rank   int
	chunks bitset.Set // chunks asked for by put
	late   bitset.Set // the subset of chunks that may only be late
	parts  bitset.Set // fragments asked for by datagram; no words: none
}

// service holds the chunks that have been put to a rank. Puts are reliable: a chunk that has been
// put is on its way, however long it takes, and is never put again.
type service struct {
	rank   int
	chunks bitset.Set
}

const (
	maxDebtors = 16   // greatest number of ranks with a debt; others ask again
	maxServed  = 1024 // greatest number of ranks with a service; others may get a chunk as often as they ask for it
)

// serviceOf returns the service of rank, or nil if there are too many.
func (l *Losses) serviceOf(rank int) *service {
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
	s.chunks = s.chunks.Cleared(l.chunks)
	return s
}

// Once records that chunk k is put to rank, and reports whether that is the first time. known is
// false if there are too many ranks to know.
func (l *Losses) Once(k, rank int) (first, known bool) {
	s := l.serviceOf(rank)
	if s == nil {
		return true, false
	}
	first = !s.chunks.Has(k)
	s.chunks.Add(k)
	return first, true
}

// Owes reports whether there may be debts.
func (l *Losses) Owes() bool { return len(l.debts) > 0 }

// Valid reports whether runs are a request for chunks of l, or for fragments if parts is set. For
// fragments l must be laid out.
func (r *Recovery) Valid(l *Losses, runs []byte, parts bool) bool {
	if !parts {
		_, ok := countRuns(runs, l.chunks)
		return ok
	}
	n, ok := countRuns(runs, l.Parts.count())
	return ok && n <= r.partsAtOnce()
}

// Serve sends rank the runs that it asks for. They are runs of fragments if parts is true, and runs
// of chunks otherwise. If this rank does not have all of them yet, it owes rank the others. late
// says that the chunks may only be late. The runs must be Valid, and this rank must have the bytes
// of the chunks that have arrived.
func (r *Recovery) Serve(l *Losses, rank int, runs []byte, parts, late bool, f Facts) {
	for ; len(runs) > 0; runs = runs[8:] {
		first, n := int(binary.BigEndian.Uint32(runs)), int(binary.BigEndian.Uint32(runs[4:]))
		if parts {
			r.giveParts(l, first, first+n, rank, f)
			continue
		}
		for k := first; k < first+n; k++ {
			r.give(l, k, rank, late, f)
		}
	}
}

// give puts chunk k to rank, now or when k has arrived.
func (r *Recovery) give(l *Losses, k, rank int, late bool, f Facts) {
	if f.Lacks(k) {
		if d := l.debtTo(rank); d != nil {
			d.owe(k, l.chunks, late)
		}
		return
	}
	if first, _ := l.Once(k, rank); first {
		r.out = append(r.out, Output{Do: Give, To: rank, Chunk: k})
	}
}

// giveParts sends the fragments of [lo, hi) to rank as datagrams, now or when they have arrived.
func (r *Recovery) giveParts(l *Losses, lo, hi, rank int, f Facts) {
	for i := lo; i < hi; {
		k := l.Parts.chunkOf(i)
		lacks := f.Lacks(k)
		if lacks && !l.Parts.has(i) {
			if d := l.debtTo(rank); d != nil {
				d.parts = d.parts.Roomy(l.Parts.count())
				d.parts.Add(i)
			}
			i++
			continue
		}
		first, end := i, min(hi, int(l.Parts.first[k+1]))
		for i++; i < end && (!lacks || l.Parts.has(i)); {
			i++
		}
		r.out = append(r.out, Output{Do: GiveParts, To: rank, Chunk: k, Lo: first, Hi: i})
	}
}

// debtTo returns the debt to rank, or nil if there are too many debts.
func (l *Losses) debtTo(rank int) *debt {
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
		l.debts = l.debts[:n+1] // uses the memory of an old debt again
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

// Repay gives chunk k, which has arrived, to the ranks that are owed it or fragments of it.
func (r *Recovery) Repay(l *Losses, k int, f Facts) {
	for n := range l.debts {
		d := &l.debts[n]
		if d.chunks.Remove(k) {
			d.late.Remove(k)
			r.give(l, k, d.rank, false, f)
		}
		if len(d.parts) == 0 {
			continue
		}
		for i := int(l.Parts.first[k]); i < int(l.Parts.first[k+1]); i++ {
			if d.parts.Remove(i) {
				r.giveParts(l, i, i+1, d.rank, f)
			}
		}
	}
}

// excuse forgets that chunk k, which has arrived by datagram, is owed to ranks that may get it
// late: they hear the multicast too, or ask for the parts of it that they have lost.
func (l *Losses) excuse(k int) {
	for i := range l.debts {
		if d := &l.debts[i]; d.late.Remove(k) {
			d.chunks.Remove(k)
		}
	}
}
