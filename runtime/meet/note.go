package meet

import (
	"encoding/binary"
	"fmt"
	"io"
)

// The messages of a rank to the rank above, after its hello:
//
//	come    ranks below it have come: count u32, and of each the rank u32, address, blob
//	gone    a rank below it, and all that are below that one, have gone: rank u32, status
//	ready   it and all ranks below it are prepared
//	quit    a rank waits no longer: rank u32, status
//	fault   there will be no communicator: status
//	alive   it lives, after it was told that another process has come as this rank
const (
	noteCome = iota + 1
	noteGone
	noteReady
	noteQuit
	noteFault
	noteAlive
)

// entry is what a rank publishes.
type entry struct {
	rank int
	addr string
	blob []byte
}

// note is one such message.
type note struct {
	kind byte
	come []entry
	rank int
	why  string
}

func appendCome(b []byte, come []entry) []byte {
	b = binary.BigEndian.AppendUint32(append(b, noteCome), uint32(len(come)))
	for i := range come {
		e := &come[i]
		b = binary.BigEndian.AppendUint32(b, uint32(e.rank))
		b = appendBytes(appendBytes(b, e.addr), e.blob)
	}
	return b
}

// appendOf appends a note of a kind with a rank and a status.
func appendOf(b []byte, kind byte, rank int, why string) []byte {
	return appendStatus(binary.BigEndian.AppendUint32(append(b, kind), uint32(rank)), why)
}

func appendFault(b []byte, why string) []byte { return appendStatus(append(b, noteFault), why) }

// readNote reads a note of the rank below, which speaks for itself and the ranks below it, among
// size ranks.
func readNote(r io.Reader, below, size int) (n note, err error) {
	var kind [1]byte
	if _, err := io.ReadFull(r, kind[:]); err != nil {
		return n, err
	}
	n.kind = kind[0]
	switch n.kind {
	case noteReady, noteAlive:
	case noteCome:
		n.come, err = readCome(r, below, size)
	case noteGone, noteQuit:
		if n.rank, err = readRank(r, below, size); err == nil {
			n.why, err = readStatus(r)
		}
	case noteFault:
		n.why, err = readStatus(r)
	default:
		err = fmt.Errorf("a note of kind %d", n.kind)
	}
	return n, err
}

func readUint32(r io.Reader) (uint32, error) {
	var b [4]byte
	_, err := io.ReadFull(r, b[:])
	return binary.BigEndian.Uint32(b[:]), err
}

func readRank(r io.Reader, below, size int) (int, error) {
	u, err := readUint32(r)
	if err == nil && (int64(u) >= int64(size) || !isBelow(int(u), below)) {
		err = fmt.Errorf("it speaks for rank %d", u)
	}
	return int(u), err
}

func readCome(r io.Reader, below, size int) (come []entry, err error) {
	n, err := readUint32(r)
	if err == nil && int64(n) > int64(size) {
		err = fmt.Errorf("%d ranks come at once", n)
	}
	for ; err == nil && n > 0; n-- {
		var e entry
		var addr []byte
		if e.rank, err = readRank(r, below, size); err == nil {
			addr, err = readBytes(r, maxText)
		}
		if err == nil {
			e.blob, err = readBytes(r, MaxBlob)
		}
		e.addr = string(addr)
		come = append(come, e)
	}
	return come, err
}
