package synth

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/network"
)

// path is nodes, on which a number of trees may go.
type path struct {
	nodes  []int32
	amount int64
}

// paths undoes the splits: it returns, for each arc between ranks, the ways in the network behind it.
func (f *fabric) paths() [][]path {
	left := make(map[pair]int64)
	for i, a := range f.n.Arcs {
		left[pair{int32(a.From), int32(a.To)}] += f.whole.caps[i]
	}
	joints := make(map[pair][]joint, len(f.joints))
	for k, j := range f.joints {
		joints[k] = slices.Clone(j)
	}
	// take returns ways for an amount of the arc a→b. It takes the newest joint first, because a
	// joint is made of older ones.
	var take func(a, b int32, amount int64) []path
	take = func(a, b int32, amount int64) (out []path) {
		k := pair{a, b}
		for amount > 0 && len(joints[k]) > 0 {
			last := &joints[k][len(joints[k])-1]
			m, via := min(amount, last.amount), last.via
			if last.amount -= m; last.amount == 0 {
				joints[k] = joints[k][:len(joints[k])-1]
			}
			amount -= m
			x, y := take(a, via, m), take(via, b, m)
			for i, j := 0, 0; i < len(x) && j < len(y); {
				m := min(x[i].amount, y[j].amount)
				out = append(out, path{slices.Concat(x[i].nodes, y[j].nodes[1:]), m})
				if x[i].amount -= m; x[i].amount == 0 {
					i++
				}
				if y[j].amount -= m; y[j].amount == 0 {
					j++
				}
			}
		}
		if amount > 0 {
			if left[k] -= amount; left[k] < 0 {
				panic(fmt.Sprintf("synth: %d trees too many from node %d to node %d", -left[k], a, b))
			}
			out = append(out, path{[]int32{a, b}, amount})
		}
		return out
	}
	all := make([][]path, len(f.caps))
	for e := range f.caps {
		all[e] = take(f.from[e], f.to[e], f.caps[e])
	}
	return all
}

// Detours says how much goes on ways that are not the network's own routes. Such messages take the
// network's routes nevertheless, and may meet others there.
type Detours struct {
	Paths, OfPaths int   // ways between ranks
	Trees, OfTrees int64 // the trees on them, counted once for each pair of ranks
}

// detours counts the ways that are longer than the routes of the network.
func (f *fabric) detours(router *network.Router) (d Detours) {
	var route []int
	for e, paths := range f.paths() {
		var err error
		if route, err = router.Route(route[:0], int(f.from[e]), int(f.to[e])); err != nil {
			panic(fmt.Sprintf("synth: %v, and an arc does", err))
		}
		for _, p := range paths {
			d.OfPaths++
			d.OfTrees += p.amount
			if len(p.nodes)-1 > len(route) {
				d.Paths++
				d.Trees += p.amount
			}
		}
	}
	return d
}
