package lines

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Ledger holds the lines that a rank uses now: the flags that it waits for, and the chunks that
// others still have to collect from its buffers.
type Ledger struct {
	begun  uint64 // number of barriers begun
	last   uint64 // operation number of the last barrier whose rules have begun
	inside uint64 // operation number of the barrier whose rules have begun and that has not ended; 0: none
	awaits Awaits

	used   uint64 // lines of all operations with chunks in windows that have begun
	passed uint64 // value of used when the others were last told what has ended here
	lent   []Lent
}

// Awaits holds the flags that a rank waits for.
type Awaits struct {
	Flags []Awaited // flags that have not arrived
	Over  uint64    // flag lines last used by an operation up to this number may be overwritten
}

// Lent is a chunk of this rank that others collect from its buffer.
type Lent struct {
	Line int
	Seq  uint64 // the operation
}

// BeginBarrier gives a barrier, which begins, its turn. If behind is set, its rules must not begin
// before an earlier barrier has ended: see Leave. Otherwise call Enter.
func (l *Ledger) BeginBarrier() (turn uint64, behind bool) {
	l.begun++
	return l.begun, l.inside != 0
}

// Enter awaits the flags of a barrier whose rules begin, operation seq.
func (l *Ledger) Enter(seq, turn, mark uint64, of *Layout) {
	l.awaits.Over, l.last, l.inside = l.last, seq, seq
	for _, at := range of.Flags[turn%Turns] {
		at.Seq, at.Mark = seq, mark
		l.awaits.Flags = append(l.awaits.Flags, at)
	}
}

// Leave ends a barrier, operation seq. It reports whether the rules of the next one may begin.
func (l *Ledger) Leave(seq uint64) bool {
	if l.inside != seq {
		return false
	}
	l.inside = 0
	return true
}

// BeginChunks gives an operation whose chunks go through windows its lines, and awaits its chunks.
func (l *Ledger) BeginChunks(seq, mark uint64, of *Layout) (turn uint64) {
	turn = l.used + 1
	l.used += uint64(of.Shelved)
	for _, at := range of.Chunks {
		at.Line, at.Seq, at.Mark = OfChunk(turn, at.Line), seq, mark
		l.awaits.Flags = append(l.awaits.Flags, at)
	}
	return turn
}

// NextTurn returns the turn that the next operation gets: a barrier, or an operation with chunks.
func (l *Ledger) NextTurn(barrier bool) uint64 {
	if barrier {
		return l.begun + 1
	}
	return l.used + 1
}

// Through records that operation seq, a barrier or an operation with chunks, has begun and ended
// with nothing else going on.
func (l *Ledger) Through(seq uint64, barrier bool, of *Layout) {
	if barrier {
		l.begun++
		l.awaits.Over, l.last = l.last, seq
		return
	}
	l.used += uint64(of.Shelved)
}

// Awaits returns the flags that this rank waits for. It changes with every step.
func (l *Ledger) Awaits() *Awaits { return &l.awaits }

// Take returns flag i of Awaits, which has arrived, and forgets it. The last flag takes its place.
func (l *Ledger) Take(i int) Awaited {
	a := &l.awaits
	at, last := a.Flags[i], len(a.Flags)-1
	a.Flags[i] = a.Flags[last]
	a.Flags = a.Flags[:last]
	return at
}

// End forgets the flags of operation seq that have not arrived, because it has ended.
func (l *Ledger) End(seq uint64) {
	if len(l.awaits.Flags) > 0 {
		l.awaits.Flags = slices.DeleteFunc(l.awaits.Flags, func(at Awaited) bool { return at.Seq == seq })
	}
}

// ShouldTell reports whether to tell the others up to which operation all have ended here: whenever
// a quarter of the lines have been used since the last time.
func (l *Ledger) ShouldTell() bool {
	if l.used-l.passed < wire.ChunkLines/4 {
		return false
	}
	l.passed = l.used
	return true
}

// Lend records that others collect a chunk of operation seq from its buffer.
func (l *Ledger) Lend(line int, seq uint64) { l.lent = append(l.lent, Lent{line, seq}) }

// Lent returns the chunks that others still have to collect. It changes with every step.
func (l *Ledger) Lent() []Lent { return l.lent }

// Collected records that all receivers have collected chunk i of Lent, and returns its operation.
func (l *Ledger) Collected(i int) (seq uint64) {
	seq = l.lent[i].Seq
	l.lent = slices.Delete(l.lent, i, i+1)
	return seq
}

// Normalize makes ledgers equal if they differ only in the order of the awaited flags.
func (l *Ledger) Normalize() {
	slices.SortFunc(l.awaits.Flags, func(a, b Awaited) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Seq, b.Seq))
	})
}

// Abandon forgets the awaited flags and the lent chunks, and returns the chunks. They are valid
// until the next step.
func (l *Ledger) Abandon() []Lent {
	lent := l.lent
	l.awaits.Flags, l.lent = nil, l.lent[:0]
	return lent
}
