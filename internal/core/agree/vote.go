package agree

// Vote is a rank's part of an agreement, and the combination of the votes of all ranks that take
// part.
type Vote struct {
	Flags      uint64 // combined by AND
	Generation uint32 // combined by maximum
	came       [maxCame]span
}

// neutral is the vote that leaves others unchanged.
var neutral = Vote{Flags: ^uint64(0), came: spansOf(nil, nil)}

func (v *Vote) join(other Vote) {
	v.Flags &= other.Flags
	v.Generation = max(v.Generation, other.Generation)
	for i := range v.came {
		v.came[i].join(other.came[i])
	}
}

// span says how many rootless messages of a rank have reached the remaining ranks: from least to
// most.
type span struct{ least, most uint64 }

// nobody is the span of no ranks.
var nobody = span{least: ^uint64(0)}

func (s *span) join(other span) {
	s.least, s.most = min(s.least, other.least), max(s.most, other.most)
}

// maxCame is the greatest number of gone ranks, the lowest first, whose messages votes count.
const maxCame = 4

// counted returns the ranks whose messages votes count.
func counted(gone Set) []int {
	ranks := gone.List()
	return ranks[:min(len(ranks), maxCame)]
}

// spansOf returns the spans of the gone ranks as one rank knows them.
func spansOf(gone Set, f Facts) (spans [maxCame]span) {
	for i := range spans {
		spans[i] = nobody
	}
	for i, rank := range counted(gone) {
		n := f.Came(rank)
		spans[i] = span{n, n}
	}
	return spans
}

// Came is how many rootless messages of a lost rank the remaining ranks have received: between
// Least and Most each. If Least equals Most, all have the same messages.
type Came struct {
	Rank        int
	Least, Most uint64
}

// Outcome is the result of an agreement: the same at all ranks.
type Outcome struct {
	Vote
	Gone []int // ranks that took no part, ascending: they are lost or have left
	Lost []int // the ranks of Gone that are lost
}
