package emit

import (
	"cmp"
	"fmt"
	"slices"
)

// pickPart chooses a rank and its partners: the ranks that it sends to or receives from. If there
// are too many partners, it chooses some of every round and direction.
func (t *run) pickPart(rank, most int) pick {
	groups := t.peers(rank)
	chosen, peers := map[int]bool{rank: true}, map[int]bool{}
	for i := 0; ; i++ {
		left := false
		for _, g := range groups {
			if i >= len(g) {
				continue
			}
			left, peers[g[i]] = true, true
			if len(chosen) < most {
				chosen[g[i]] = true
			}
		}
		if !left {
			break
		}
	}
	why := fmt.Sprintf("rank %d and its partners", rank)
	if n := len(peers); n >= len(chosen) {
		why = fmt.Sprintf("rank %d and %d of its %s", rank, len(chosen)-1, count(n, "partner"))
	}
	return pick{sortedKeys(chosen), rank, why}
}

// peers returns the partners of a rank by round: first the ranks that it sends to, then the ranks
// that it receives from, each by distance.
func (t *run) peers(rank int) [][]int {
	sent, got := make([][]int, t.last), make([][]int, t.last)
	t.moves(func(tr transfer) {
		switch {
		case tr.from == rank && tr.to == everyone:
			for to := range t.Programs {
				if to != rank {
					sent[tr.round-1] = append(sent[tr.round-1], to)
				}
			}
		case tr.from == rank:
			sent[tr.round-1] = append(sent[tr.round-1], tr.to)
		case tr.to == rank || tr.to == everyone:
			got[tr.round-1] = append(got[tr.round-1], tr.from)
		}
	})
	var out [][]int
	for round := range sent {
		out = append(out, t.byDistance(rank, sent[round]), t.byDistance(rank, got[round]))
	}
	return out
}

// byDistance sorts ranks by their distance from a rank on the ring.
func (t *run) byDistance(rank int, others []int) []int {
	n := len(t.Programs)
	far := func(other int) int { return min((other-rank+n)%n, (rank-other+n)%n) }
	slices.SortFunc(others, func(a, b int) int { return cmp.Or(far(a)-far(b), a-b) })
	return slices.Compact(others)
}

func sortedKeys(set map[int]bool) []int {
	var out []int
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
