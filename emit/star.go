package emit

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// star is a group of transfers of one round and class that share one end, the hub. The hub is a
// rank that sends to several, or a rank to which several send. A single transfer is a star with one
// leaf.
type star struct {
	class  class
	hub    int
	out    bool // the hub sends
	leaves []leaf
}

// leaf is the other end of some transfers, and their cargo.
type leaf struct {
	rank  int
	cargo cargo
}

// span returns the lowest and highest rank of the star.
func (s *star) span() (lo, hi int) {
	return min(s.hub, s.leaves[0].rank), max(s.hub, s.leaves[len(s.leaves)-1].rank)
}

// label spells the cargo of the star. If leaves differ, it spells all slots of all of them.
func (s *star) label() string {
	if s.uniform() {
		return s.leaves[0].cargo.label()
	}
	var all []ir.Slot
	for _, l := range s.leaves {
		all = append(all, l.cargo.slots()...)
	}
	return slotList(set(all))
}

// uniform reports whether every leaf has the same cargo.
func (s *star) uniform() bool {
	for _, l := range s.leaves[1:] {
		if !l.cargo.equal(s.leaves[0].cargo) {
			return false
		}
	}
	return true
}

// stars groups the transfers of one round, which are sorted as in a run.
func stars(round []transfer, ranks int) []star {
	var out []star
	for len(round) > 0 {
		n := 1
		for n < len(round) && round[n].class == round[0].class {
			n++
		}
		out = append(out, starsOfClass(edges(round[:n], ranks))...)
		round = round[n:]
	}
	return out
}

// edge is everything that one rank sends another in one round and class.
type edge struct {
	class    class
	from, to int
	cargo    cargo
}

// edges merges sorted transfers of one class. A multicast becomes an edge to every other rank.
func edges(trs []transfer, ranks int) []edge {
	var out []edge
	for _, t := range trs {
		if n := len(out) - 1; n >= 0 && out[n].from == t.from && out[n].to == t.to {
			out[n].cargo = append(out[n].cargo, t.message)
			continue
		}
		out = append(out, edge{t.class, t.from, t.to, cargo{t.message}})
	}
	return expand(out, ranks)
}

func expand(es []edge, ranks int) []edge {
	var out []edge
	for _, e := range es {
		if e.to != everyone {
			out = append(out, e)
			continue
		}
		for to := range ranks {
			if to != e.from {
				out = append(out, edge{e.class, e.from, to, e.cargo})
			}
		}
	}
	return out
}

// starsOfClass assigns each edge to the end with more edges, or to the sender if both have the same
// number.
func starsOfClass(es []edge) []star {
	out, in := map[int]int{}, map[int]int{}
	for _, e := range es {
		out[e.from]++
		in[e.to]++
	}
	type key struct {
		hub int
		out bool
	}
	at := map[key]int{}
	var all []star
	for _, e := range es {
		k, other := key{e.from, true}, e.to
		if in[e.to] > out[e.from] {
			k, other = key{e.to, false}, e.from
		}
		if _, ok := at[k]; !ok {
			at[k] = len(all)
			all = append(all, star{class: e.class, hub: k.hub, out: k.out})
		}
		s := &all[at[k]]
		s.leaves = append(s.leaves, leaf{other, e.cargo})
	}
	sortStars(all)
	return all
}

// sortStars sorts stars by place, and the leaves of each by rank.
func sortStars(all []star) {
	for _, s := range all {
		slices.SortFunc(s.leaves, func(a, b leaf) int { return a.rank - b.rank })
	}
	slices.SortStableFunc(all, func(a, b star) int {
		aLo, aHi := a.span()
		bLo, bHi := b.span()
		return cmp.Or(aLo-bLo, aHi-bHi, a.hub-b.hub)
	})
}

// sends reports whether the rank, one of the star's, sends in it.
func (s *star) sends(rank int) bool { return s.out == (rank == s.hub) }

// pack distributes stars over lines, first fit. Stars on a line overlap at most in an end. With
// sameLabel, they also carry the same slots.
func pack(all []star, sameLabel bool) [][]star {
	var lines [][]star
next:
	for _, s := range all {
		for i := range lines {
			if fits(lines[i], &s, sameLabel) {
				lines[i] = append(lines[i], s)
				continue next
			}
		}
		lines = append(lines, []star{s})
	}
	return lines
}

func fits(line []star, s *star, sameLabel bool) bool {
	for i := range line {
		if clash(&line[i], s) {
			return false
		}
		if sameLabel && (line[i].class != s.class || line[i].label() != s.label()) {
			return false
		}
	}
	return true
}

// clash reports whether two stars cannot be on one line. That is so if they overlap, or if they
// touch at a rank that sends in both. In that case the line would not show which of the other ranks
// belong to which star.
func clash(a, b *star) bool {
	aLo, aHi := a.span()
	bLo, bHi := b.span()
	switch {
	case aHi == bLo:
		return a.sends(aHi) && b.sends(aHi)
	case bHi == aLo:
		return a.sends(aLo) && b.sends(aLo)
	}
	return aLo < bHi && bLo < aHi
}
