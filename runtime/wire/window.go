package wire

// Line is one place of a window, on a cache line of its own. Package sync/atomic reads
// and writes Seq, which is written last; what else is in a line is read behind it.
type Line struct {
	Seq  uint64 // Flag.Seq
	Mark uint64 // Flag.Mark
	From uint64 // Flag.From
	_    [40]byte
}

// Flag is a signal that is written to a place that its receiver looks at (Bierbaum,
// Wassen, Lankes, Bemmerl: SCI Collectives, sections 4.1 and 4.2). It is never taken
// back: the number tells it from what was in its place before.
type Flag struct {
	Seq  uint64 // of the operation
	Mark uint64 // what that is: Header.Print << 32 | Header.Epoch
	From int    // the rank that has written it
}

// The places of a window.
const (
	FlagLines   = 128                   // the first of them are written by others
	PostLines   = 128                   // the rest by the window's rank
	WindowLines = FlagLines + PostLines // all
)

// Windows are the windows of a transport's ranks: memory in which flags stand. A flag costs
// its writer a store and its reader a load. Flags keep no order with frames. They are of the
// first communicator.
//
// A place is written again only when all who look at it have seen what it says; the
// transport does not know when that is. Package core says why it is so.
type Windows interface {
	// Window returns the WindowLines lines of a rank, nil if they cannot be read
	// here. The own ones always can. They are valid until Close.
	Window(rank int) []Line
	// Reaches reports whether Flag reaches a rank. This one it does not.
	Reaches(rank int) bool
	// Flag writes f to a place of a rank that it reaches, below FlagLines, and wakes
	// the rank if it waits.
	Flag(to, line int, f Flag)
	// Post writes f to a place of the own window, from FlagLines on, for ranks that
	// read it there, and wakes those of them that wait.
	Post(line int, to []int, f Flag)
}
