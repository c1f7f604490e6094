package windows

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Has reports whether signals of s may be flags: it is a barrier without chunks and without
// repairs, which may come late, and each signal is put once, by another rank that waits for it.
func Has(s *ir.Schedule) bool {
	if !s.Synchronizes() || s.Chunks > 0 {
		return false
	}
	put := make([][]bool, len(s.Programs))
	for rank := range s.Programs {
		put[rank] = make([]bool, max(0, s.Programs[rank].Signals))
	}
	for from := range s.Programs {
		if p := &s.Programs[from]; Mends(p) || !once(p, put) {
			return false
		}
	}
	return true
}

// once notes what p puts, and reports whether that are signals that others wait for and that
// have not been put before.
func once(p *ir.Program, put [][]bool) (ok bool) {
	ok = true
	eachRun(p, func(run []ir.Action) {
		for _, a := range run {
			to, i := int(a.To), a.Slot.Index()
			if ok = ok && to >= 0 && to < len(put) && to != p.Rank && i < len(put[to]) && !put[to][i]; ok {
				put[to][i] = true
			}
		}
	})
	return ok
}

// Mends reports whether p has repairs.
func Mends(p *ir.Program) bool {
	return slices.ContainsFunc(p.Rules, func(r ir.Rule) bool { return r.IsRepair() })
}

// Of returns the places of a rank of so many, whose schedule [Has] some. program returns the programs of ranks, which must tell their
// rules apart; it is asked once for each. A rank for which it returns an empty one is left out. ok is
// false if one of them has repairs: nothing is a flag then.
func Of(rank, ranks int, program func(rank int) ir.Program) (places Places, ok bool) {
	for from := range ranks {
		p := program(from)
		if Mends(&p) {
			return Places{}, false
		}
		each(&p, func(signal int, to []ir.Action, posted bool) {
			if from == rank {
				places.put(signal, to, posted)
				return
			}
			for _, a := range to {
				if int(a.To) == rank {
					places.awaited(Await{signal, from, posted})
				}
			}
		})
	}
	places.sort()
	return places, true
}

// All returns the places of all ranks of s, which [Has] some.
func All(s *ir.Schedule) []Places {
	all := make([]Places, len(s.Programs))
	for from := range s.Programs {
		each(&s.Programs[from], func(signal int, to []ir.Action, posted bool) {
			all[from].put(signal, to, posted)
			for _, a := range to {
				all[a.To].awaited(Await{signal, from, posted})
			}
		})
	}
	for rank := range all {
		all[rank].sort()
	}
	return all
}

// put notes what the rank puts, if that is posted.
func (p *Places) put(signal int, to []ir.Action, posted bool) {
	if !posted {
		return
	}
	post := Post{Signal: signal}
	for _, a := range to {
		post.To = append(post.To, int(a.To))
	}
	p.Posts = append(p.Posts, post)
}

func (p *Places) awaited(a Await) { p.Awaits = append(p.Awaits, a) }

// sort puts what is awaited into its order.
func (p *Places) sort() {
	slices.SortFunc(p.Awaits, func(a, b Await) int { return cmp.Compare(a.Signal, b.Signal) })
}

// each visits the signals that p puts: with those that one rule puts one directly after the
// other, and whether they are posted. They are if there are several, unless another rule
// does the same with that signal: it has one line only in the window of its sender.
func each(p *ir.Program, visit func(signal int, to []ir.Action, posted bool)) {
	var times map[ir.Slot]int // signal -> how often several puts of it follow each other
	eachRun(p, func(run []ir.Action) {
		if len(run) > 1 {
			if times == nil {
				times = make(map[ir.Slot]int)
			}
			times[run[0].Slot]++
		}
	})
	eachRun(p, func(run []ir.Action) {
		visit(run[0].Slot.Index(), run, len(run) > 1 && times[run[0].Slot] == 1)
	})
}

// eachRun visits the puts of one signal that follow each other in a rule of p.
func eachRun(p *ir.Program, visit func(run []ir.Action)) {
	for _, r := range p.Rules {
		for rest := r.Do; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].Op == rest[0].Op && rest[n].Slot == rest[0].Slot {
				n++
			}
			if rest[0].Op == ir.Put && rest[0].Slot.Kind() == ir.KindSignal {
				visit(rest[:n])
			}
			rest = rest[n:]
		}
	}
}
