package stream

import "github.com/schedgen/schedgen/internal/transport/seal"

// With a key, the bytes of a connection go in records of [seal.Line] in either direction, which
// know nothing about frames: everything to be written at a time goes into one record. That costs
// one more copy at each end. Bytes count only when their record is whole and authentic.

// sealedOut is the seal of this rank's half; without a key line is nil.
type sealedOut struct {
	line   *seal.Line
	record outRecord
}

// sealedIn is the seal of a peer's half; without a key line is nil.
type sealedIn struct {
	line   *seal.Line
	closed struct{ r, w int } // buf[r:w] is read and not opened; it follows the opened bytes
}

// outRecord is the record that is being written.
type outRecord struct {
	bytes []byte
	at    int // bytes that the system has taken
}

// left returns how many bytes the system has not taken.
func (r *outRecord) left() int { return len(r.bytes) - r.at }

// writeSealed seals the next bytes, unless a record is only partly written, and writes once.
func (t *Transport) writeSealed(o *outbound, room int) (n int, full bool, err error) {
	e, v := &o.sealed.record, &t.sender.iov
	if e.left() == 0 {
		o.gather(v, min(room, seal.RecordMax))
		b := v.appendTo(append(e.bytes[:0], make([]byte, seal.RecordHead)...), seal.RecordMax)
		v.reset()
		t.advance(o, len(b)-seal.RecordHead)
		e.bytes, e.at = o.sealed.line.Seal(b), 0
	}
	v.add(e.bytes[e.at:])
	n, err = v.write(o.fd)
	v.reset()
	e.at += n
	return n, e.left() > 0, err
}

// openNext opens the next record, if it is whole. Less than one record of a frame is left of the
// opened bytes; it moves in front of the new bytes.
func (t *Transport) openNext(c *inbound) (opened bool, err error) {
	s := &c.sealed.closed
	n, err := seal.RecordLen(c.buf[s.r:s.w])
	if err == nil && (n == 0 || n > s.w-s.r) {
		return false, nil
	}
	var b []byte
	if err == nil {
		b, err = c.sealed.line.Open(c.buf[s.r : s.r+n])
	}
	if err != nil {
		t.stats.Unauthenticated++
		return false, err
	}
	begin := s.r + seal.RecordHead
	left := c.w - c.r
	copy(c.buf[begin-left:], c.buf[c.r:c.w])
	c.r, c.w, s.r = begin-left, begin+len(b), s.r+n
	return true, nil
}

// makeRoom moves unused bytes to the beginning of the buffer, and enlarges the buffer for the next
// record if necessary.
func (c *inbound) makeRoom() {
	s := &c.sealed.closed
	left := copy(c.buf, c.buf[c.r:c.w])
	s.w = left + copy(c.buf[left:], c.buf[s.r:s.w])
	c.r, c.w, s.r = 0, left, left
	if n, err := seal.RecordLen(c.buf[s.r:s.w]); err == nil && n > len(c.buf)-s.r {
		c.buf = append(make([]byte, 0, sealedSize), c.buf[:s.w]...)[:sealedSize]
	}
}

// sealedSize is room for the rest of one record, and for another record.
const sealedSize = recordLen + seal.RecordOver + seal.RecordMax
