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

	reading sync.Mutex // guards the fields below
	in      *Line
	buf     []byte // of the record that is being read
	rest    []byte // opened bytes of the last record that have not been taken
}

// NewConn returns c with both directions sealed.
func NewConn(c net.Conn, in, out *Line) *Conn { return &Conn{Conn: c, in: in, out: out} }

// Write sends b in records. If a record is cut off, for example by a deadline, it is the last one:
// later bytes would be read as its rest.
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

// Read returns authentic bytes that have arrived.
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

// next reads a record. If it is interrupted, it keeps what it has read.
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
			c.buf = c.buf[:0] // the next record overwrites it after this one has been read
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
