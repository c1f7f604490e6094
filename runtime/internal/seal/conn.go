package seal

import (
	"io"
	"net"
	"slices"
	"sync"
)

// Conn is a connection whose two directions are sealed.
type Conn struct {
	net.Conn

	writing sync.Mutex // guards out and broken
	out     *Line
	broken  error // why a record was cut off

	reading sync.Mutex // guards what follows
	in      *Line
	buf     []byte // of the record that is being read
	rest    []byte // of the one before: has been opened and not been taken
}

// NewConn seals c.
func NewConn(c net.Conn, in, out *Line) *Conn { return &Conn{Conn: c, in: in, out: out} }

// Write sends b, in records. One that was cut off, by a deadline say, is the last: what follows would
// be read as its rest.
func (c *Conn) Write(b []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for n < len(b) && c.broken == nil {
		piece := b[n:min(n+RecordMax, len(b))]
		record := append(make([]byte, RecordHead, len(piece)+RecordOver), piece...)
		if _, c.broken = c.Conn.Write(c.out.Seal(record)); c.broken == nil {
			n += len(piece)
		}
	}
	return n, c.broken
}

// Read reads what has come and is authentic.
func (c *Conn) Read(b []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if len(c.rest) == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// next reads a record. What it has read of one when it is interrupted it keeps.
func (c *Conn) next() error {
	for {
		want, err := RecordLen(c.buf)
		if err != nil {
			return err
		}
		switch {
		case want == 0:
			want = RecordHead
		case want == len(c.buf):
			c.rest, err = c.in.Open(c.buf)
			c.buf = c.buf[:0] // overwritten by the next one, when this has been read
			return err
		}
		if err := c.fill(want); err != nil {
			return err
		}
	}
}

// fill reads until buf has want bytes.
func (c *Conn) fill(want int) error {
	have := len(c.buf)
	c.buf = slices.Grow(c.buf, want-have)
	n, err := io.ReadFull(c.Conn, c.buf[have:want])
	c.buf = c.buf[:have+n]
	if err == io.EOF && have > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// CloseWrite says that nothing more will be sent.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
