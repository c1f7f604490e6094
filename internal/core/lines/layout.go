package lines

import (
	"github.com/schedgen/schedgen/internal/ir/windows"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

const (
	Turns   = 2                      // barriers in a row that have lines of their own
	Signals = wire.FlagLines / Turns // signals of a barrier with lines; signals with greater numbers are put

	// MaxChunks is the greatest number of lines with chunks of an operation: two consecutive
	// operations share no lines.
	MaxChunks = wire.ChunkLines / 2
)

// Layout says where one rank writes or awaits a barrier's signals, or the chunks of another
// collective. The zero Layout has no lines: all goes by frame.
type Layout struct {
	Known   bool             // there may be lines
	Posts   []Post           // posts in this rank's own window; the index of a chunk's post gives its line
	Flags   [Turns][]Awaited // for a barrier: the flags that the rank waits for, by turn
	Chunks  []Awaited        // for other collectives; Line is the index among the posts of the writer
	Shelved int              // lines that an operation with chunks takes, the same at all ranks that reach each other
}

// Post is a slot that one rule puts to several ranks, by consecutive actions.
type Post struct {
	Slot  ir.Slot
	Ranks []int     // all receivers
	Sets  []ir.Slot // the slot that it sets at each receiver, if these may differ
	Near  []int     // receivers that look at the line
	Far   []int     // the other receivers
}

// Awaited is a flag and the line where it will arrive.
type Awaited struct {
	Rank int // rank whose window has the line
	Line int
	Seq  uint64  // operation number of the flag
	Mark uint64  // mark of the flag if all ranks have made the same call
	Slot ir.Slot // the slot that it sets here
}

// IsChunk reports whether a chunk or a partial result comes with the flag.
func (at *Awaited) IsChunk() bool { return at.Slot.Kind() != ir.KindSignal }

// OfSignal returns the line of signal s in a turn, in the window of the rank that waits for it. In
// the window of a sender that posts it, the line is that plus wire.FlagLines.
func OfSignal(turn uint64, s ir.Slot) int { return int(turn%Turns)*Signals + s.Index() }

// OfChunk returns the line of a chunk, given the turn of its operation and the index of its post at
// the writer.
func OfChunk(turn uint64, place int) int {
	return wire.ChunkLine + int((turn-1+uint64(place))%wire.ChunkLines)
}

// IsFlag reports whether a slot is a signal with a line.
func IsFlag(s ir.Slot) bool { return s.Kind() == ir.KindSignal && s.Index() < Signals }

// Barrier returns the lines of a barrier at a rank, between ranks that reach each other. If
// together is set, ranks can read each other's windows, and a signal for several ranks stands once
// in the sender's own window. places are the rank's places in the schedule, which is the same at
// all ranks.
func Barrier(rank int, reaches func(rank int) bool, together bool, places *windows.Places) Layout {
	l := Layout{Known: true}
	if together {
		l.Posts = posts(places, reaches)
	}
	for _, a := range places.Awaits {
		if a.Signal < Signals && reaches(a.From) {
			l.await(rank, a, together)
		}
	}
	return l
}

// posts returns the posts to ranks that this rank reaches.
func posts(places *windows.Places, reaches func(rank int) bool) (list []Post) {
	for _, all := range places.Posts {
		p := Post{Slot: ir.Signal(all.Signal), Ranks: all.To}
		for _, to := range all.To {
			if reaches(to) {
				p.Near = append(p.Near, to)
			} else {
				p.Far = append(p.Far, to)
			}
		}
		if IsFlag(p.Slot) && len(p.Near) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// await adds the lines where a signal arrives.
func (l *Layout) await(rank int, a windows.Await, together bool) {
	for turn := range l.Flags {
		at := Awaited{Rank: rank, Line: OfSignal(uint64(turn), ir.Signal(a.Signal)), Slot: ir.Signal(a.Signal)}
		if a.Posted && together {
			at.Rank = a.From
			at.Line += wire.FlagLines
		}
		l.Flags[turn] = append(l.Flags[turn], at)
	}
}

// Post returns the post that actions begin with, or nil if there is none. The actions of one rule
// are consecutive.
func (l *Layout) Post(actions []ir.Action) *Post {
	if i := l.Place(actions); i >= 0 {
		return &l.Posts[i]
	}
	return nil
}

// Place returns the index of the post that actions begin with, or -1.
func (l *Layout) Place(actions []ir.Action) int {
	for i := range l.Posts {
		if l.Posts[i].begins(actions) {
			return i
		}
	}
	return -1
}

// begins reports whether actions begin with the puts of the post.
func (p *Post) begins(actions []ir.Action) bool {
	if len(p.Ranks) > len(actions) {
		return false
	}
	for i, to := range p.Ranks {
		if a := &actions[i]; a.Slot != p.Slot || int(a.To) != to {
			return false
		}
	}
	return true
}
