package ir

import "strconv"

// Slot names one single-assignment place of a rank: the pseudo-slot Enter, a chunk of the
// operation, a signal, a partial result, or a part of the rank's own contribution. The three top
// bits hold the kind, and the others hold the index. So a slot takes four bytes, and slots compare
// with ==.
type Slot uint32

// Kind is the kind of a Slot.
type Kind uint8

// The kinds of slots.
const (
	KindNone   Kind = iota // no slot, as in Rule.Unless of a plain rule
	KindEnter              // the local process has called the operation
	KindChunk              // c<k>: chunk k of the operation
	KindSignal             // s<j>: a flag of the rank that waits for it
	KindValue              // v<i>: a partial result of this rank
	KindInput              // x<k>: part k of this rank's own contribution, which is read-only
)

const (
	kindShift = 29
	indexMask = 1<<kindShift - 1

	// MaxIndex is the largest index of a slot.
	MaxIndex = indexMask
)

// The slots that have no index.
const (
	None  = Slot(0)
	Enter = Slot(uint32(KindEnter) << kindShift)
)

// Chunk returns the slot of chunk k, 0 ≤ k ≤ MaxIndex.
func Chunk(k int) Slot { return Slot(uint32(KindChunk)<<kindShift | uint32(k)&indexMask) }

// Signal returns the slot of signal j, 0 ≤ j ≤ MaxIndex, of the rank that waits for it.
func Signal(j int) Slot { return Slot(uint32(KindSignal)<<kindShift | uint32(j)&indexMask) }

// Value returns the slot of partial result i, 0 ≤ i ≤ MaxIndex, of the rank that has it.
func Value(i int) Slot { return Slot(uint32(KindValue)<<kindShift | uint32(i)&indexMask) }

// Input returns the slot of part k, 0 ≤ k ≤ MaxIndex, of a rank's own contribution. Contributions
// are there from enter on, so no rule waits for them.
func Input(k int) Slot { return Slot(uint32(KindInput)<<kindShift | uint32(k)&indexMask) }

// Kind returns the slot's kind.
func (s Slot) Kind() Kind { return Kind(s >> kindShift) }

// Index returns the slot's number among the slots of its kind. It is 0 for Enter and None.
func (s Slot) Index() int { return int(s & indexMask) }

// String returns the slot's canonical spelling, such as enter, c0, s3, v1 or x2. It returns "none"
// for None.
func (s Slot) String() string { return string(appendSlot(nil, s)) }

// appendSlot appends the slot's canonical spelling to b.
func appendSlot(b []byte, s Slot) []byte {
	switch s.Kind() {
	case KindEnter:
		return append(b, "enter"...)
	case KindChunk:
		b = append(b, 'c')
	case KindSignal:
		b = append(b, 's')
	case KindValue:
		b = append(b, 'v')
	case KindInput:
		b = append(b, 'x')
	default:
		return append(b, "none"...)
	}
	return strconv.AppendInt(b, int64(s.Index()), 10)
}
