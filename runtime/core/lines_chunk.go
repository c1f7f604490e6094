package core

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// What a rank looks through when it compiles a schedule of many blocks is bounded.
const (
	mostShelving = 64      // ranks whose blocks stand in windows
	mostPut      = 1 << 20 // ranks, times chunks of the operation
)

// Shelve has the chunks and partial results of p stand in windows, where ranks reach each other, if
// every rank is put each of them at most once, and nothing else is sent. Where all ranks hold blocks
// it does so only if each puts its own, one by one: messages of several blocks, and blocks that are
// passed on, take longer that way than in frames. The same holds of messages of several partial
// results. programs are those of the schedule, the same
// at all ranks, with their rules in the same order: the line of a chunk follows from them. All ranks
// must call Shelve, or none.
func (p *Plan) Shelve(rank int, reaches func(rank int) bool, programs func(rank int) ir.Program) {
	switch many := p.places.blocks > 1; {
	case !many && p.Chunks > maxShelved, many && (p.header.Ranks > mostShelving || p.Chunks > mostPut/p.header.Ranks):
		return
	}
	var own []post
	var awaited []Awaited
	lines := 0
	put := make([]bool, p.header.Ranks*p.Chunks) // by receiver and chunk
	for other := range p.header.Ranks {
		theirs := programs(other)
		if !putsOnce(&theirs, put, p.Chunks) || !p.header.Rooted() && !p.folds && !putsOwn(&theirs, p.header.Held(other)) {
			return
		}
		if other == rank {
			own = laid(&theirs, reaches)
			lines = max(lines, len(own))
			continue
		}
		if !reaches(other) {
			continue
		}
		posts := laid(&theirs, func(r int) bool { return r == rank || r != other && reaches(r) })
		lines = max(lines, len(posts))
		for i, of := range posts {
			if k := slices.Index(of.ranks, rank); k >= 0 {
				awaited = append(awaited, Awaited{Rank: other, Line: i, slot: of.sets[k]})
			}
		}
	}
	if lines > maxShelved {
		return
	}
	p.lines.known, p.lines.posts, p.lines.chunks, p.lines.shelved = true, own, awaited, lines
	steps := p.quickChunks()
	p.lines.steps = [flagTurns][]Step{steps, steps}
}

// putsOnce notes what p puts, and reports whether it does so by rules that are no repairs, no signals,
// partial results one by one, and no chunk that was noted before. A partial result is put once in any
// case.
func putsOnce(p *ir.Program, put []bool, chunks int) bool {
	for i := range p.Rules {
		for _, a := range p.Rules[i].Do {
			if a.Op == ir.Fold || a.Op == ir.Put && a.As != ir.None && !a.Joins {
				continue
			}
			if a.Op != ir.Put || a.Slot.Kind() != ir.KindChunk || p.Rules[i].IsRepair() || a.As != ir.None {
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

// putsOwn reports whether p puts chunks one by one, and only those that the rank holds.
func putsOwn(p *ir.Program, held ir.Chunks) bool {
	for i := range p.Rules {
		for _, a := range p.Rules[i].Do {
			if a.Joins || !held.Has(a.Slot.Index()) {
				return false
			}
		}
	}
	return true
}

// laid returns what each rule of p puts to ranks that are reached, of every chunk what is put one
// behind the other. Each of these stands in a line, in the order in which they are returned.
func laid(p *ir.Program, reaches func(rank int) bool) (posts []post) {
	for i := range p.Rules {
		for run := p.Rules[i].Do; len(run) > 0; {
			n := 0
			for n < len(run) && run[n].Op == ir.Put && run[n].Slot == run[0].Slot && reaches(int(run[n].To)) {
				n++
			}
			if n > 0 {
				ranks := ranksOf(run[:n])
				posts = append(posts, post{slot: run[0].Slot, ranks: ranks, sets: setsOf(run[:n]), near: ranks})
			}
			run = run[max(1, n):]
		}
	}
	return posts
}

func ranksOf(puts []ir.Action) (ranks []int) {
	for _, a := range puts {
		ranks = append(ranks, int(a.To))
	}
	return ranks
}

func setsOf(puts []ir.Action) (slots []ir.Slot) {
	for _, a := range puts {
		slots = append(slots, a.Sets())
	}
	return slots
}
