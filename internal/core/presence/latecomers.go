package presence

import "slices"

// Latecomers holds the ranks that have not entered an operation that others are inside. A rank that
// is asked about an operation that it has not entered tells all ranks, down a binomial tree
// ([Roster.Children]). It tells them again when it enters. So a missed deadline names the late
// rank, whichever rank each rank waits for.
type Latecomers struct {
	seq   uint64 // the operation
	ranks []int  // first ranks that have not entered it
	own   uint64 // operation that this rank has said it has not entered; 0: none
}

// maxLate is how many late ranks are remembered.
const maxLate = 8

// Say records that this rank says that it has not entered operation seq. It returns false if this
// rank has said so before, about this operation or a later one.
func (l *Latecomers) Say(seq uint64) bool {
	if l.own >= seq {
		return false
	}
	l.own = seq
	return true
}

// Said returns the operation that this rank has said it has not entered, or 0.
func (l *Latecomers) Said() uint64 { return l.own }

// Enter records that this rank enters operation seq. ok reports whether this rank has said that it
// has not entered operation said, and must now tell others that it has.
func (l *Latecomers) Enter(seq uint64) (said uint64, ok bool) {
	if l.own == 0 || l.own > seq {
		return 0, false
	}
	said, l.own = l.own, 0
	return said, true
}

// Hear records that another rank has entered operation seq, or says that it has not.
func (l *Latecomers) Hear(rank int, seq uint64, entered bool) {
	if seq > l.seq {
		l.seq, l.ranks = seq, l.ranks[:0]
	}
	at := slices.Index(l.ranks, rank)
	switch {
	case seq != l.seq:
	case entered && at >= 0:
		l.ranks = slices.Delete(l.ranks, at, at+1)
	case !entered && at < 0 && len(l.ranks) < maxLate:
		l.ranks = append(l.ranks, rank)
	}
}

// In returns the first ranks that have said that they have not entered operation seq, or an earlier
// one, and have not entered it since. The list is valid until the next step.
func (l *Latecomers) In(seq uint64) []int {
	if l.seq == 0 || l.seq > seq {
		return nil
	}
	return l.ranks
}

// Normalize forgets statements about operations up to ended, which have ended here.
func (l *Latecomers) Normalize(ended uint64) {
	if l.seq <= ended {
		l.seq, l.ranks = 0, nil
	}
}
