package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/windows"
	"github.com/schedgen/schedgen/runtime/wire"
)

// lines say where one rank writes or awaits a barrier's signals, or the chunks of another
// collective.
type lines struct {
	known   bool
	posts   []post               // posts in this rank's own window; the index of a chunk's post gives its line
	awaited [flagTurns][]Awaited // for a barrier, by turn
	chunks  []Awaited            // for other collectives; Line is the index among the posts of the writer
	shelved int                  // lines that an operation with chunks uses, the same at all ranks that reach each other

	steps [flagTurns][]Step // the steps of the quick path, by turn; nil: there is none
}

// post is a slot that one rule puts to several ranks, by consecutive actions.
type post struct {
	slot  ir.Slot
	ranks []int     // all receivers
	sets  []ir.Slot // the slot that it sets at each receiver, if these may differ
	near  []int     // receivers that look at the line
	far   []int     // the other receivers
}

// line returns the line of signal s in a turn.
func line(turn uint64, s ir.Slot) int { return int(turn%flagTurns)*flagSlots + s.Index() }

// isFlag reports whether a slot has a line.
func isFlag(s ir.Slot) bool { return s.Kind() == ir.KindSignal && s.Index() < flagSlots }

// Flags makes the signals of a barrier's plan flags where possible, between ranks that reach each
// other; other signals go by frame. If together is set, ranks can read each other's windows, and a
// signal for several ranks stands once in the sender's own window. Either all ranks call Flags,
// with the places of one schedule, or no rank does.
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

// posts returns the posts to ranks that this rank reaches.
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

// await adds the lines where a signal arrives.
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

// post returns the post that actions begin with, or nil if there is none. The actions of one rule
// are consecutive.
func (g *lines) post(actions []ir.Action) *post {
	if i := g.place(actions); i >= 0 {
		return &g.posts[i]
	}
	return nil
}

// place returns the index of the post that actions begin with, or -1.
func (g *lines) place(actions []ir.Action) int {
	for i := range g.posts {
		if g.posts[i].begins(actions) {
			return i
		}
	}
	return -1
}

// begins reports whether actions begin with those of the post.
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
