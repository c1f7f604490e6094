package core

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// lines are where a barrier's signals stand, or a broadcast's chunks, as far as one rank
// writes or awaits them.
type lines struct {
	known   bool
	posts   []post               // what this rank puts that stands in its own window
	awaited [flagTurns][]Awaited // of a barrier, by turn
	chunks  []Awaited            // of a broadcast; the lines are chunks
}

// post is a slot that one rule puts to ranks, one behind the other.
type post struct {
	slot  ir.Slot
	ranks []int
}

// line returns where signal s stands in a turn.
func line(turn uint64, s ir.Slot) int { return int(turn%flagTurns)*flagSlots + s.Index() }

// isFlag reports whether a slot has a line.
func isFlag(s ir.Slot) bool { return s.Kind() == ir.KindSignal && s.Index() < flagSlots }

// Flags has the signals of a barrier's plan, or the chunks of a broadcast's, go by flag, of
// those ranks that reach each other. programs are those of the header's schedule. If together
// is set, what a rank puts to several stands in its window: programs must tell its rules apart.
// All ranks must call Flags, with the same, or none. It changes nothing for a plan with repairs,
// which may come late.
func (p *Plan) Flags(rank int, reaches func(rank int) bool, programs func(rank int) ir.Program, together bool) {
	if p.Chunks > 0 {
		p.shelve(rank, reaches, programs)
		return
	}
	own := programs(rank)
	from := slices.Repeat([]int{noWindow}, min(own.Signals, flagSlots))
	for other := range p.header.Ranks {
		if other == rank || !reaches(other) {
			continue
		}
		theirs := programs(other)
		if mends(&theirs) {
			return
		}
		var posts []post
		if together {
			posts = posted(&theirs, func(r int) bool { return r == rank || r != other && reaches(r) })
		}
		theirsTo(rank, &theirs, posts, from)
	}
	if mends(&own) {
		return
	}
	if together {
		p.lines.posts = posted(&own, reaches)
	}
	p.lines.lay(rank, from)
}

// noWindow is whose window a signal stands in that does not come by flag.
const noWindow = -1

// theirsTo notes in from, by signal, in whose window those stand that p puts to a rank.
func theirsTo(rank int, p *ir.Program, posts []post, from []int) {
	for _, r := range p.Rules {
		for _, a := range r.Do {
			if int(a.To) == rank && isFlag(a.Slot) && a.Slot.Index() < len(from) {
				from[a.Slot.Index()] = rank
			}
		}
	}
	for _, post := range posts {
		if slices.Contains(post.ranks, rank) && post.slot.Index() < len(from) {
			from[post.slot.Index()] = p.Rank
		}
	}
}

// mends reports whether p has repairs.
func mends(p *ir.Program) bool {
	return slices.ContainsFunc(p.Rules, func(r ir.Rule) bool { return r.IsRepair() })
}

// posted returns what p puts at once to two ranks or more, which all must reach each other. A
// signal of which there are several such puts has one line only, and is left out; so is one
// that is put to one of the ranks by itself too.
func posted(p *ir.Program, reaches func(rank int) bool) (posts []post) {
	for _, r := range p.Rules {
		for run := r.Do; len(run) > 0; {
			n := 1
			for n < len(run) && run[n].Slot == run[0].Slot {
				n++
			}
			if isFlag(run[0].Slot) {
				posts = append(posts, post{run[0].Slot, ranksOf(run[:n])})
			}
			run = run[n:]
		}
	}
	return slices.DeleteFunc(slices.Clone(posts), func(a post) bool {
		far := func(r int) bool { return !reaches(r) }
		other := func(b post) bool {
			both := func(r int) bool { return slices.Contains(a.ranks, r) }
			return b.slot == a.slot && &b.ranks[0] != &a.ranks[0] && (len(b.ranks) > 1 || slices.ContainsFunc(b.ranks, both))
		}
		return len(a.ranks) == 1 || slices.ContainsFunc(a.ranks, far) || slices.ContainsFunc(posts, other)
	})
}

func ranksOf(puts []ir.Action) (ranks []int) {
	for _, a := range puts {
		ranks = append(ranks, int(a.To))
	}
	return ranks
}

// post returns what the first of actions begins to put, and nil if that stands elsewhere. A rule's
// actions come one behind the other.
func (g *lines) post(actions []ir.Action) []int {
	for i := range g.posts {
		if p := &g.posts[i]; p.slot == actions[0].Slot && slices.Contains(p.ranks, int(actions[0].To)) {
			return p.ranks
		}
	}
	return nil
}

// lay gives the signals lines, in the windows of from, by signal.
func (g *lines) lay(rank int, from []int) {
	g.known = true
	for turn := range g.awaited {
		for k, of := range from {
			at := line(uint64(turn), ir.Signal(k))
			switch of {
			case noWindow:
				continue
			case rank:
			default:
				at += wire.FlagLines
			}
			g.awaited[turn] = append(g.awaited[turn], Awaited{Rank: of, Line: at, slot: ir.Signal(k)})
		}
	}
}
