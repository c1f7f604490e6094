package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/windows"
	"github.com/schedgen/schedgen/runtime/wire"
)

// lines are where a barrier's signals stand, or the chunks of another collective, as far as one rank
// writes or awaits them.
type lines struct {
	known   bool
	posts   []post               // what this rank puts that stands in its own window; a chunk's place here is its line's
	awaited [flagTurns][]Awaited // of a barrier, by turn
	chunks  []Awaited            // of other collectives; Line is the place among the posts of its writer
	shelved int                  // lines that an operation with chunks takes, the same at all ranks that reach each other

	steps [flagTurns][]Step // of operations that the rank may go through at once, by turn; nil: it may not
}

// post is a slot that one rule puts to ranks, one behind the other.
type post struct {
	slot  ir.Slot
	ranks []int     // all
	sets  []ir.Slot // what it is at each of them, if that may be something else
	near  []int     // those that look at the line
	far   []int     // the others
}

// line returns where signal s stands in a turn.
func line(turn uint64, s ir.Slot) int { return int(turn%flagTurns)*flagSlots + s.Index() }

// isFlag reports whether a slot has a line.
func isFlag(s ir.Slot) bool { return s.Kind() == ir.KindSignal && s.Index() < flagSlots }

// Flags has the signals of a barrier's plan go by flag where they may stand, at a rank of those
// that reach each other; to and from others they go by frame. If together is set, ranks can read each
// other's windows, and signals that a rank puts to several stand once in its own. All ranks must
// call Flags, with the places of one schedule, or none.
func (p *Plan) Flags(rank int, reaches func(rank int) bool, together bool, places *windows.Places) {
	p.lines = lines{known: true}
	if together {
		p.lines.posts = posts(places, reaches)
	}
	for _, a := range places.Awaits {
		if a.Signal < flagSlots && reaches(a.From) {
			p.lines.await(rank, a, together)
		}
	}
	p.lines.steps = p.quickFlags(reaches)
}

// posts returns those that go to ranks that this one reaches.
func posts(places *windows.Places, reaches func(rank int) bool) (list []post) {
	for _, all := range places.Posts {
		p := post{slot: ir.Signal(all.Signal), ranks: all.To}
		for _, to := range all.To {
			if reaches(to) {
				p.near = append(p.near, to)
			} else {
				p.far = append(p.far, to)
			}
		}
		if isFlag(p.slot) && len(p.near) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// await adds the line in which a signal stands.
func (g *lines) await(rank int, a windows.Await, together bool) {
	for turn := range g.awaited {
		at := Awaited{Rank: rank, Line: line(uint64(turn), ir.Signal(a.Signal)), slot: ir.Signal(a.Signal)}
		if a.Posted && together {
			at.Rank = a.From
			at.Line += wire.FlagLines
		}
		g.awaited[turn] = append(g.awaited[turn], at)
	}
}

// post returns the one that actions begin with, and nil if they begin with something else. A
// rule's actions come one behind the other.
func (g *lines) post(actions []ir.Action) *post {
	if i := g.place(actions); i >= 0 {
		return &g.posts[i]
	}
	return nil
}

// place returns which of the posts actions begin with, -1 if they begin with something else.
func (g *lines) place(actions []ir.Action) int {
	for i := range g.posts {
		if g.posts[i].begins(actions) {
			return i
		}
	}
	return -1
}

// begins reports whether the first of actions are those of the post.
func (p *post) begins(actions []ir.Action) bool {
	if len(p.ranks) > len(actions) {
		return false
	}
	for i, to := range p.ranks {
		if a := &actions[i]; a.Slot != p.slot || int(a.To) != to {
			return false
		}
	}
	return true
}
