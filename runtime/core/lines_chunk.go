package core

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Limits on the work of a rank that compiles a schedule with many blocks.
const (
	mostShelving = 64      // ranks of operations whose blocks go through windows
	mostPut      = 1 << 20 // ranks times chunks of the operation
)

// Shelve moves the chunks and partial results of p into windows, among ranks that reach each other,
// if every rank is put each of them at most once and nothing else is sent. If all ranks hold
// blocks, each rank must put only its own blocks, one by one: messages of several blocks, relayed
// blocks, and messages of several partial results are faster in frames. programs are the programs
// of the schedule. They must be the same at all ranks, with rules in the same order, since the
// lines follow from them. Either all ranks call Shelve, or no rank does.
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

// putsOnce records the puts of p. It reports whether p puts only by rules that are no repairs, puts
// no signals, puts partial results one by one, and puts no chunk that was recorded before. A
// partial result is always put only once.
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

// putsOwn reports whether p puts chunks one by one, and only chunks that the rank holds.
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

// laid returns the posts of p to ranks that are reached: for each rule and chunk, the consecutive
// puts. Each post has a line, in the order of the result.
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
