package stream

import "github.com/schedgen/schedgen/runtime/internal/seal"

// With a key the bytes of a connection, in either direction, go in the records of
// [seal.Line], which know nothing of frames: as much as is to be written at a time goes
// into one. It is copied once more at each end than without a key. What is read counts only
// when its record is whole and authentic.

// sealed is the two directions of a connection, as this rank sees them; without a key
// both are nil.
type sealed struct {
	out, in *seal.Line
	record  []byte // that is being written
	at      int    // bytes of it that the system has taken
}

// left returns how many bytes the system has not taken.
func (e *sealed) left() int { return len(e.record) - e.at }

func (e *sealed) drop() { e.record, e.at = nil, 0 }

// once returns how r goes over the wire where nothing else does.
func (e *sealed) once(r record) []byte {
	if e.out == nil {
		return r[:]
	}
	return e.out.Seal(append(make([]byte, seal.RecordHead, recordLen+seal.RecordOver), r[:]...))
}

// backLen returns how many bytes come back on a connection.
func (e *sealed) backLen() int {
	if e.in == nil {
		return recordLen
	}
	return recordLen + seal.RecordOver
}

// writeSealed seals what is to be written next, unless a record has not been written to
// its end, and writes once.
func (t *Transport) writeSealed(o *outbound, room int) (n int, full bool, err error) {
	e, v := &o.sealed, &t.sender.iov
	if e.left() == 0 {
		o.gather(v, min(room, seal.RecordMax))
		b := v.appendTo(append(e.record[:0], make([]byte, seal.RecordHead)...), seal.RecordMax)
		v.reset()
		t.advance(o, len(b)-seal.RecordHead)
		e.record, e.at = e.out.Seal(b), 0
	}
	v.add(e.record[e.at:])
	n, err = v.write(o.fd)
	v.reset()
	e.at += n
	return n, e.left() > 0, err
}

// openBack returns the record that has come back on a connection.
func (t *Transport) openBack(o *outbound) ([]byte, error) {
	b := o.back[:o.nback]
	if o.sealed.in == nil {
		return b, nil
	}
	r, err := o.sealed.in.Open(b)
	if err != nil {
		t.stats.Unauthenticated++
	}
	return r, err
}

// openNext opens the next record of what was read, if it is whole. Less than a record of
// ours is left of what is open: it is moved before what follows it.
func (t *Transport) openNext(c *inbound) (opened bool, err error) {
	n, err := seal.RecordLen(c.buf[c.s:c.e])
	if err == nil && (n == 0 || n > c.e-c.s) {
		return false, nil
	}
	var b []byte
	if err == nil {
		b, err = c.sealed.in.Open(c.buf[c.s : c.s+n])
	}
	if err != nil {
		t.stats.Unauthenticated++
		return false, err
	}
	begin := c.s + seal.RecordHead
	left := c.w - c.r
	copy(c.buf[begin-left:], c.buf[c.r:c.w])
	c.r, c.w, c.s = begin-left, begin+len(b), c.s+n
	return true, nil
}

// makeRoom moves what was read to the beginning of the buffer, which becomes as long as
// the record that is next needs it.
func (c *inbound) makeRoom() {
	left := copy(c.buf, c.buf[c.r:c.w])
	c.e = left + copy(c.buf[left:], c.buf[c.s:c.e])
	c.r, c.w, c.s = 0, left, left
	if n, err := seal.RecordLen(c.buf[c.s:c.e]); err == nil && n > len(c.buf)-c.s {
		c.buf = append(make([]byte, 0, sealedSize), c.buf[:c.e]...)[:sealedSize]
	}
}

// sealedSize is room for what is left of one record, and for another one.
const sealedSize = recordLen + seal.RecordOver + seal.RecordMax
