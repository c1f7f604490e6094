package group

import (
	"encoding/binary"
	"fmt"

	"github.com/schedgen/schedgen/runtime/membership"
)

// recordKind is the kind of a record, which is a message of a view's communicator.
type recordKind uint8

const (
	recordData    recordKind = iota + 1 // a message: its number among the origin's, and the published bytes
	recordEnd                           // the sender publishes nothing more in this view; it says whether the sender leaves
	recordReady                         // the sender is at a safe point for collective operations
	recordCounts                        // how many messages the sender has of each origin, when a view begins
	recordRecover                       // a message of an earlier view, for members that lack it
)

// overhead is how many bytes the longest record with a message adds to it.
const overhead = 1 + 16 + 4 + 8

// appendData appends the record of a message.
func appendData(dst []byte, seq uint64, msg []byte) []byte {
	dst = append(dst, byte(recordData))
	dst = binary.BigEndian.AppendUint64(dst, seq)
	return append(dst, msg...)
}

func readData(body []byte) (seq uint64, msg []byte, err error) {
	if len(body) < 8 {
		return 0, nil, fmt.Errorf("message record of %d bytes", len(body))
	}
	return binary.BigEndian.Uint64(body), body[8:], nil
}

// appendEnd appends an end mark.
func appendEnd(dst []byte, leaves bool) []byte {
	dst = append(dst, byte(recordEnd))
	if leaves {
		dst = append(dst, 1)
	}
	return dst
}

func readEnd(body []byte) (leaves bool) { return len(body) > 0 && body[0] == 1 }

// recovered is a message of an earlier view.
type recovered struct {
	origin membership.ID
	epoch  uint32
	seq    uint64
	data   []byte
}

func appendRecover(dst []byte, r *recovered) []byte {
	dst = append(dst, byte(recordRecover))
	dst = append(dst, r.origin[:]...)
	dst = binary.BigEndian.AppendUint32(dst, r.epoch)
	dst = binary.BigEndian.AppendUint64(dst, r.seq)
	return append(dst, r.data...)
}

func readRecover(body []byte) (r recovered, err error) {
	if len(body) < overhead-1 {
		return r, fmt.Errorf("recovery record of %d bytes", len(body))
	}
	copy(r.origin[:], body)
	r.epoch = binary.BigEndian.Uint32(body[16:])
	r.seq = binary.BigEndian.Uint64(body[20:])
	r.data = body[28:]
	return r, nil
}

// count is how many messages of an origin a member has.
type count struct {
	origin membership.ID
	next   uint64
}

const countBytes = 16 + 8

// appendCounts appends the record of a member's counts. fresh says that the member is new and wants
// no older messages.
func appendCounts(dst []byte, fresh bool, counts []count) []byte {
	dst = append(dst, byte(recordCounts), 0)
	if fresh {
		dst[len(dst)-1] = 1
	}
	for _, c := range counts {
		dst = append(dst, c.origin[:]...)
		dst = binary.BigEndian.AppendUint64(dst, c.next)
	}
	return dst
}

func readCounts(body []byte) (fresh bool, counts []count, err error) {
	if len(body) < 1 || (len(body)-1)%countBytes != 0 {
		return false, nil, fmt.Errorf("record of counts of %d bytes", len(body))
	}
	for rest := body[1:]; len(rest) > 0; rest = rest[countBytes:] {
		c := count{next: binary.BigEndian.Uint64(rest[16:])}
		copy(c.origin[:], rest)
		counts = append(counts, c)
	}
	return body[0] != 0, counts, nil
}
