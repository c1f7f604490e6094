package explore

import (
	"encoding/binary"
	"slices"
)

// append appends the encoding of w to dst: first the budgets and the fault, one byte each, then
// everything else.
func (w *world) append(dst []byte) []byte { return w.appendWith(dst, appendList) }

// appendOnce is like append, but encodes a message that waits several times in one lane only once.
func (w *world) appendOnce(dst []byte) []byte {
	return w.appendWith(dst, func(dst []byte, lane []uint32) []byte {
		var once []uint32
		for _, n := range lane {
			if !slices.Contains(once, n) {
				once = append(once, n)
			}
		}
		return appendList(dst, once)
	})
}

func (w *world) appendWith(dst []byte, appendLane func([]byte, []uint32) []byte) []byte {
	dst = append(dst, w.losses, w.doubles, w.early, w.fault)
	dst = binary.AppendUvarint(dst, w.links)
	for _, id := range w.ranks {
		dst = binary.AppendUvarint(dst, uint64(id))
	}
	for _, lane := range w.lanes {
		dst = appendLane(dst, lane)
	}
	dst = appendList(dst, w.grams)
	dst = appendList(dst, w.flags)
	return appendList(dst, w.notes)
}

// budgets is the number of bytes at the start of an encoding that hold budgets: losses, doubles and
// early. The fault follows them.
const budgets = 3

func appendList(dst []byte, list []uint32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, n := range list {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst
}

// read sets w to the state that append has encoded in src, and returns the rest of src.
func (w *world) read(src []byte) []byte {
	w.losses, w.doubles, w.early, w.fault = src[0], src[1], src[2], src[3]
	src = src[4:]
	w.links, src = number(src)
	for i := range w.ranks {
		var id uint64
		id, src = number(src)
		w.ranks[i] = uint32(id)
	}
	for i := range w.lanes {
		w.lanes[i], src = list(w.lanes[i], src)
	}
	w.grams, src = list(w.grams, src)
	w.flags, src = list(w.flags, src)
	w.notes, src = list(w.notes, src)
	return src
}

func number(src []byte) (uint64, []byte) {
	n, used := binary.Uvarint(src)
	return n, src[used:]
}

func list(dst []uint32, src []byte) ([]uint32, []byte) {
	length, src := number(src)
	dst = dst[:0]
	for range length {
		var n uint64
		n, src = number(src)
		dst = append(dst, uint32(n))
	}
	return dst, src
}
