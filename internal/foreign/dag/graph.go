// Package dag represents schedules that other programs have made. A [Graph] has each rank's sends,
// receives and local work, and says which operations must end before which others start. Readers of
// foreign files build graphs, and package verify proves them.
//
// The functions of this package pair sends with receives and put all operations in an order. If
// that fails they return a [*Fault], a counterexample with ranks, names and lines.
package dag

import (
	"cmp"
	"fmt"
)

// Kind is the kind of an operation.
type Kind uint8

// The kinds of operations.
const (
	Local Kind = iota // work that no other rank sees
	Send              // ends without waiting: messages are buffered
	Recv              // ends when its message has arrived
)

// Op is one operation of a rank.
type Op struct {
	Kind    Kind    // Local, Send or Recv
	StartOf int32   // Local: if this is the start of an operation, 1 plus the index of that operation; else 0
	CPU     int32   // the CPU of its rank that it uses
	NIC     int32   // Send, Recv: the network interface of its rank that it uses
	Peer    int     // Send, Recv: the other rank
	Tag     int     // Send, Recv: a send matches a receive with the same tag
	Size    int     // in Graph.Unit, its message, or what a Local folds if the file says so
	Time    int     // Local: nanoseconds of CPU time; proofs do not depend on it
	Name    string  // its name in the file; may be empty
	Line    int     // its place in the file: a line, or what Graph.Place names
	After   []int32 // indices of the operations of the same rank that end before this one starts
	Move
}

// Move says what an operation does to the memory cells of its rank. It is zero if the file does not
// say so.
//
// An operation with Mix folds. A Local with Mix folds the cells that it reads onto the cells that
// it writes. A Recv with Mix folds the cells that it reads with its message. If that Recv writes
// nothing, the Send behind it sends the result: that Send has Mix too and reads nothing.
type Move struct {
	Read  Span // the cells that a Send sends and a Local copies
	Write Span // the cells that a Recv or a Local writes
	Mix   bool // the operation folds
}

// Span is Len consecutive cells from cell From on. A Len of 0 is no cell.
type Span struct {
	From int // the first cell
	Len  int // number of cells
}

// Graph is the operations of all ranks. Op.After holds the indices of operations of the same rank
// that end before the operation starts.
type Graph struct {
	Ranks [][]Op // by rank, in the order of the file
	Cells *Cells // nil: the file does not say what its messages carry
	Unit  string // the unit of Op.Size, such as "bytes"
	Place string // what Op.Line counts, such as "node"; "": lines
	As    string // the collective that the file claims to do, such as "bcast"; "": it does not say
	// Message is the size that the file gives for one block, such as the message of a broadcast. It
	// is 0 if the file gives none.
	Message int

	// Apart is the same schedule with the input and the output of each rank apart, if the file says
	// that it works both so and in place. This graph is then in place. nil: there is one reading.
	Apart *Graph
}

// Cells describes the memory of every rank: where a rank's own blocks are at first, and where the
// blocks that it wants must be at the end. In both places the blocks follow each other without a
// gap.
type Cells struct {
	// Input holds, by rank, the blocks that the rank holds. In a broadcast it holds the blocks that
	// the rank would hold as the root.
	Input  []Span
	Result []Span // by rank: the blocks that it wants

	// Spell returns the file's name for a cell of a rank.
	Spell func(rank, cell int) string
}

// Ref names operation I of a rank.
type Ref struct {
	Rank int
	I    int // index in Graph.Ranks[Rank]
}

// Fault is the error of a graph that cannot run to its end, or whose result depends on timing.
type Fault struct {
	Ranks []int  // the ranks concerned, first the one that goes wrong first
	Text  string // the fault in words
}

// Error returns the text.
func (f *Fault) Error() string { return f.Text }

func faultf(ranks []int, format string, args ...any) *Fault {
	return &Fault{Ranks: ranks, Text: fmt.Sprintf(format, args...)}
}

// Start returns the index of the start of operation i of a rank, and whether the operation has one.
// A reader cuts off the start of an operation if other operations wait for that start.
func Start(ops []Op, i int) (start int, cut bool) {
	if a := ops[i].After; len(a) == 1 && int(ops[a[0]].StartOf) == i+1 {
		return int(a[0]), true
	}
	return 0, false
}

// Before returns the indices of the operations that must end before operation i of a rank starts.
// The start of operation i itself is not among them.
func Before(ops []Op, i int) []int32 {
	if start, cut := Start(ops, i); cut {
		return ops[start].After
	}
	return ops[i].After
}

// TellOp describes an operation for people: "recv a (line 3)".
func (g *Graph) TellOp(r Ref) string {
	o := &g.Ranks[r.Rank][r.I]
	word := [...]string{Local: "work", Send: "send", Recv: "recv"}[o.Kind]
	if o.Name != "" {
		word += " " + o.Name
	}
	return fmt.Sprintf("%s (%s %d)", word, cmp.Or(g.Place, "line"), o.Line)
}

// Tell describes an operation and its rank for people: "rank 2: recv a (line 3)".
func (g *Graph) Tell(r Ref) string {
	return fmt.Sprintf("rank %d: %s", r.Rank, g.TellOp(r))
}
