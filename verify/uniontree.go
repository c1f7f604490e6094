package verify

// unionTree answers which numbers are in any of the sets lo … hi-1 of a list
// from unions made beforehand: node n is the union of nodes 2n and 2n+1, and
// the leaves are the sets.
type unionTree struct {
	leaves int // a power of two
	nodes  []runs
}

// newUnionTree reports false if the unions have more than limit runs.
func newUnionTree(sets []runs, limit int) (*unionTree, bool) {
	t := &unionTree{leaves: 1}
	for t.leaves < len(sets) {
		t.leaves *= 2
	}
	t.nodes = make([]runs, 2*t.leaves)
	copy(t.nodes[t.leaves:], sets)
	total := 0
	for n := t.leaves - 1; n > 0; n-- {
		t.nodes[n] = either(t.nodes[2*n], t.nodes[2*n+1])
		if total += len(t.nodes[n]); total > limit {
			return nil, false
		}
	}
	return t, true
}

// either returns the union of a and b, one of them where that is it.
func either(a, b runs) runs {
	switch {
	case a.includes(b):
		return a
	case b.includes(a):
		return b
	}
	return union(nil, a, b)
}

// union returns the union of the sets whose numbers are in which.
func (t *unionTree) union(which runs) runs {
	var all runs
	for _, r := range which {
		for lo, hi := int(r.lo)+t.leaves, int(r.hi)+t.leaves; lo < hi; lo, hi = lo/2, hi/2 {
			if lo&1 == 1 {
				all = either(all, t.nodes[lo])
				lo++
			}
			if hi&1 == 1 {
				hi--
				all = either(all, t.nodes[hi])
			}
		}
	}
	return all
}
