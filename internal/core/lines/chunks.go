package lines

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Limits on the work of a rank that compiles a schedule with many blocks.
const (
	maxRanks = 64      // ranks of operations whose blocks go through windows
	maxPuts  = 1 << 20 // ranks times chunks of the operation
)

// Chunks returns the lines of the chunks and partial results of a schedule at a rank, among ranks
// that reach each other. ok is false if they go by frame, because some rank gets one of them twice,
// or something else is sent. If all ranks hold blocks, each rank must put only its own blocks, one
// by one: messages of several blocks, relayed blocks, and messages of several partial results are
// faster in frames. programs are the programs of the schedule. They must be the same at all ranks,
// with rules in the same order, since the lines follow from them. folds says that there are partial
// results.
func Chunks(h *ir.Header, folds bool, rank int, reaches func(rank int) bool, programs func(rank int) ir.Program) (l Layout, ok bool) {
	switch many := h.Blocks() > 1; {
	case !many && h.Chunks > MaxChunks, many && (h.Ranks > maxRanks || h.Chunks > maxPuts/h.Ranks):
		return Layout{}, false
	}
	l.Known = true
	put := make([]bool, h.Ranks*h.Chunks) // by receiver and chunk
	for other := range h.Ranks {
		theirs := programs(other)
		if !putsOnce(&theirs, put, h.Chunks) || !h.Rooted() && !folds && !putsOwn(&theirs, h.Held(other)) {
			return Layout{}, false
		}
		if other == rank {
			l.Posts = laid(&theirs, reaches)
			l.Shelved = max(l.Shelved, len(l.Posts))
			continue
		}
		if !reaches(other) {
			continue
		}
		posts := laid(&theirs, func(r int) bool { return r == rank || r != other && reaches(r) })
		l.Shelved = max(l.Shelved, len(posts))
		for i, of := range posts {
			if k := slices.Index(of.Ranks, rank); k >= 0 {
				l.Chunks = append(l.Chunks, Awaited{Rank: other, Line: i, Slot: of.Sets[k]})
			}
		}
	}
	if l.Shelved > MaxChunks {
		return Layout{}, false
	}
	return l, true
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
func laid(p *ir.Program, reaches func(rank int) bool) (posts []Post) {
	for i := range p.Rules {
		for run := p.Rules[i].Do; len(run) > 0; {
			n := 0
			for n < len(run) && run[n].Op == ir.Put && run[n].Slot == run[0].Slot && reaches(int(run[n].To)) {
				n++
			}
			if n > 0 {
				ranks := ranksOf(run[:n])
				posts = append(posts, Post{Slot: run[0].Slot, Ranks: ranks, Sets: setsOf(run[:n]), Near: ranks})
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
