// Package dag is the neutral form of schedules that others have made: for each
// rank sends, receives and local work, and which must end before which starts.
// Readers of other programs' files make it; package verify proves it.
//
// The functions here pair sends with receives and order all operations; what
// stands in their way is a [*Fault], a counterexample with ranks, names and
// lines.
package dag

import "fmt"

// Kind tells what an operation does.
type Kind uint8

// The kinds of operations.
const (
	Local Kind = iota // work that no other rank sees
	Send              // ends by itself: messages are buffered
	Recv              // ends when its message has come
)

// Op is one operation of a rank.
type Op struct {
	Kind    Kind
	StartOf int32  // Local: the index, counted from 1, of the operation whose start this is; 0: of none
	CPU     int32  // which of its rank's CPUs it takes
	NIC     int32  // Send, Recv: which of its rank's network interfaces
	Peer    int    // Send, Recv: the other rank
	Tag     int    // Send, Recv: messages between two ranks match by it
	Size    int    // Send, Recv: in the file's unit
	Time    int    // Local: for so many nanoseconds it takes the CPU; what is proved does not depend on it
	Name    string // how the file calls it; may be empty
	Line    int    // of the file
	After   []int32
	Move
}

// Move says what an operation does to the cells of its rank's memory, where the
// file says it.
//
// With Mix it folds: a Local folds what it reads onto what stands where it writes, and a Recv folds
// what it reads with the message that has come. A Recv that writes nothing leaves the result to the
// Send behind it, which has Mix too and reads nothing.
type Move struct {
	Read  Span // what a Send sends and a Local copies
	Write Span // where a Recv or a Local puts it
	Mix   bool
}

// Span is a run of cells. Len 0: none.
type Span struct{ From, Len int }

// Graph is the operations of all ranks. Op.After holds indices of the same
// rank's operations that end before it starts.
type Graph struct {
	Ranks   [][]Op
	Cells   *Cells // nil: the file does not say what its messages carry
	Unit    string // of Op.Size, such as "bytes"
	As      string // the collective that the file says it does, "bcast"; "": it does not say
	Message int    // Size of one block, such as the message of a broadcast, as the file says; 0: it does not
}

// Cells is the memory of every rank: where its own blocks are at first, and where the blocks that it
// wants shall be at the end, one behind the other.
type Cells struct {
	Input  []Span // by rank: the blocks that it holds; of a broadcast those that it would, were it the root
	Result []Span // by rank: the blocks that it wants

	// Spell tells how the file calls a cell of a rank.
	Spell func(rank, cell int) string
}

// Ref names one operation: the I-th of a rank.
type Ref struct{ Rank, I int }

// Fault is the error of a graph that cannot run to its end, or whose run
// depends on timing.
type Fault struct {
	Ranks []int // concerned, the one that goes wrong first
	Text  string
}

// Error returns the text.
func (f *Fault) Error() string { return f.Text }

func faultf(ranks []int, format string, args ...any) *Fault {
	return &Fault{Ranks: ranks, Text: fmt.Sprintf(format, args...)}
}

// Start returns the index of the start of operation i of a rank, which its reader has
// cut off because others wait for it, and whether there is one.
func Start(ops []Op, i int) (start int, cut bool) {
	if a := ops[i].After; len(a) == 1 && int(ops[a[0]].StartOf) == i+1 {
		return int(a[0]), true
	}
	return 0, false
}

// Before returns the operations that must end before operation i of a rank starts, its
// own start left out.
func Before(ops []Op, i int) []int32 {
	if start, cut := Start(ops, i); cut {
		return ops[start].After
	}
	return ops[i].After
}

// Tell spells an operation for people: "recv a (line 3)".
func (o *Op) Tell() string {
	word := [...]string{Local: "work", Send: "send", Recv: "recv"}[o.Kind]
	if o.Name != "" {
		word += " " + o.Name
	}
	return fmt.Sprintf("%s (line %d)", word, o.Line)
}

// Tell spells an operation with its rank: "rank 2: recv a (line 3)".
func (g *Graph) Tell(r Ref) string {
	return fmt.Sprintf("rank %d: %s", r.Rank, g.Ranks[r.Rank][r.I].Tell())
}
