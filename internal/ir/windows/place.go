package windows

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Has reports whether signals of s may be flags. s must be a barrier without chunks and without
// repairs, because repairs may come late. No signal may be put twice, or by the rank that waits for
// it.
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

// once records the signals that p puts. It reports whether other ranks have these signals and none
// of them has been put before.
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

// Of returns the places of rank, in a schedule among the given number of ranks for which [Has] is
// true. program returns the program of a rank, with its rules kept apart as in the schedule. Of
// asks once for each program. It leaves a rank out if the program is empty. ok is false if a
// program has repairs: then no signal is a flag.
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

// All returns the places of all ranks of s, for which [Has] must be true.
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

// put records a signal that the rank puts, if it is posted.
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

// sort sorts the awaited signals.
func (p *Places) sort() {
	slices.SortStableFunc(p.Awaits, func(a, b Await) int { return cmp.Compare(a.Signal, b.Signal) })
}

// each visits the signals that p puts. For each it passes the puts of the signal that follow each
// other in one rule, and whether they are a post. They are a post if there are several of them and
// no other rule has several puts of the same signal. A second rule would need a second line in the
// window of the sender.
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

// eachRun visits each run of consecutive puts of one signal in a rule of p.
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
