package core

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Shelve has the chunks of p stand in windows, where ranks reach each other, if every rank is put
// each of them at most once, and nothing else is sent. programs are those of the schedule: whether
// they tell their rules apart changes nothing. All ranks must call Shelve, or none.
func (p *Plan) Shelve(rank int, reaches func(rank int) bool, programs func(rank int) ir.Program) {
	if p.Chunks > maxShelved {
		return
	}
	var own []post
	var mine ir.Program
	var awaited []Awaited
	put := make([]bool, p.header.Ranks*p.Chunks) // by receiver and chunk
	for other := range p.header.Ranks {
		theirs := programs(other)
		if !putsOnce(&theirs, put, p.Chunks) {
			return
		}
		if other == rank {
			mine, own = theirs, laid(&theirs, reaches)
			continue
		}
		if !reaches(other) {
			continue
		}
		for _, of := range laid(&theirs, func(r int) bool { return r == rank || r != other && reaches(r) }) {
			if slices.Contains(of.ranks, rank) {
				awaited = append(awaited, Awaited{Rank: other, slot: of.slot})
			}
		}
	}
	p.lines.known, p.lines.posts, p.lines.chunks = true, own, awaited
	steps := p.quickChunk(rank, &mine)
	p.lines.steps = [flagTurns][]Step{steps, steps}
}

// putsOnce notes what p puts, and reports whether it does so by rules that are no repairs, only
// chunks, and none that was noted before.
func putsOnce(p *ir.Program, put []bool, chunks int) bool {
	for i := range p.Rules {
		for _, a := range p.Rules[i].Do {
			if a.Op != ir.Put || a.Slot.Kind() != ir.KindChunk || p.Rules[i].IsRepair() {
				return false
			}
			to := int(a.To)*chunks + a.Slot.Index()
			if put[to] {
				return false
			}
			put[to] = true
		}
	}
	return true
}

// laid returns what p puts to ranks that are reached, of every chunk what is put one behind the
// other. What rules put that are not one never begins with all of that, and is put by frames.
func laid(p *ir.Program, reaches func(rank int) bool) (posts []post) {
	var all []ir.Action
	for i := range p.Rules {
		all = append(all, p.Rules[i].Do...)
	}
	for run := all; len(run) > 0; {
		n := 0
		for n < len(run) && run[n].Slot == run[0].Slot && reaches(int(run[n].To)) {
			n++
		}
		known := slices.ContainsFunc(posts, func(of post) bool { return of.slot == run[0].Slot })
		if n > 0 && !known {
			ranks := ranksOf(run[:n])
			posts = append(posts, post{slot: run[0].Slot, ranks: ranks, near: ranks})
		}
		run = run[max(1, n):]
	}
	return posts
}

func ranksOf(puts []ir.Action) (ranks []int) {
	for _, a := range puts {
		ranks = append(ranks, int(a.To))
	}
	return ranks
}
