package ir

import "strconv"

// Slot names one single-assignment place of a rank: the pseudo-slot Enter, a
// chunk of the message or a signal. The two top bits hold the kind, the rest
// the index, so that a slot is one machine word and slots compare with ==.
type Slot uint32

// Kind tells what a Slot is.
type Kind uint8

// The kinds of slots.
const (
	KindNone   Kind = iota // no slot at all (Rule.Unless of a rule that is no repair)
	KindEnter              // the local process has called the operation
	KindChunk              // fragment k of the message
	KindSignal             // a flag that lives at the rank that waits for it
)

const (
	kindShift = 30
	indexMask = 1<<kindShift - 1

	// MaxIndex is the largest index of a chunk or a signal.
	MaxIndex = indexMask
)

// The slots that have no index.
const (
	None  = Slot(0)
	Enter = Slot(uint32(KindEnter) << kindShift)
)

// Chunk returns the slot of chunk k, 0 ≤ k ≤ MaxIndex.
func Chunk(k int) Slot { return Slot(uint32(KindChunk)<<kindShift | uint32(k)&indexMask) }

// Signal returns the slot of signal j, 0 ≤ j ≤ MaxIndex, of the rank that
// waits for it.
func Signal(j int) Slot { return Slot(uint32(KindSignal)<<kindShift | uint32(j)&indexMask) }

// Kind returns the slot's kind.
func (s Slot) Kind() Kind { return Kind(s >> kindShift) }

// Index returns the number of a chunk or signal, 0 for other kinds.
func (s Slot) Index() int { return int(s & indexMask) }

// String returns the slot's canonical spelling: enter, c0, s3; "none" for None.
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
	default:
		return append(b, "none"...)
	}
	return strconv.AppendInt(b, int64(s.Index()), 10)
}
