package meet

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// attend says hello on conn and waits for the outcome.
func (c *climber) attend(conn net.Conn) error {
	l := newLink(conn)
	c.n.wg.Go(l.write)
	defer l.hangUp()
	addr, err := c.listen(conn)
	if err != nil {
		return err
	}
	defer c.watch(l)()
	c.n.post(func() error { c.n.attach(l, c.hello(addr, c.n.cfg.Blob), addr); return nil })
	r := bufio.NewReader(conn)
	err = c.hear(conn, r)
	if errors.As(err, new(*verdict)) {
		l.finish([]byte{noteAlive}, farewellTime)
		<-l.written
	}
	c.n.post(func() error { c.n.up = nil; return nil })
	return err
}

// hear waits for the table and for the message that all are prepared.
func (c *climber) hear(conn net.Conn, r *bufio.Reader) error {
	if err := c.first(r); err != nil {
		return err
	}
	cfg := c.n.cfg
	tab, err := cfg.decode(r, cfg.Size)
	if err == nil && hostIn(tab.Addrs[0]) == "" { // the other ranks' addresses have hosts already
		tab.Addrs[0], err = fillHost(tab.Addrs[0], conn.RemoteAddr())
	}
	if err != nil {
		if c.ctx.Err() != nil {
			return c.late()
		}
		return &brokenError{fmt.Errorf("read the table of all ranks: %w", err)}
	}
	if err := share(cfg, tab); err != nil {
		return &brokenError{err}
	}
	c.n.post(func() error { c.n.tab = tab; return nil })
	return c.verdict(r)
}

// attach begins to represent this rank and those below it at the rank above.
func (n *node) attach(l *link, hello []byte, addr string) {
	n.up = l
	l.send(hello)
	n.roster.come[n.cfg.Rank] = entry{n.cfg.Rank, addr, n.cfg.Blob}
	var others []entry
	for _, e := range n.roster.all() {
		if e.rank != n.cfg.Rank {
			others = append(others, e)
		}
	}
	if len(others) > 0 {
		l.send(appendCome(nil, others))
	}
}

// listen opens the listener of this rank, at the local address of conn.
func (c *climber) listen(conn net.Conn) (addr string, err error) {
	bind := cmp.Or(c.n.cfg.Bind, hostOf(conn.LocalAddr()))
	if c.data != nil && c.bind != bind && c.n.cfg.Share == nil {
		c.data.Close()
		c.data = nil
	}
	if c.data == nil {
		c.bind = bind
		if c.data, _, err = openData(c.ctx, c.n.cfg, bind); err != nil {
			return "", &brokenError{err}
		}
	}
	return publicAddr(c.data)
}

// hello returns this rank's hello. When it asks the way, the hello does not contain its blob.
func (c *climber) hello(addr string, blob []byte) []byte {
	cfg := c.n.cfg
	h := hello{rank: cfg.Rank, size: cfg.Size, job: cfg.Job, addr: addr, blob: blob}
	if cfg.Doors == nil && c.n.door != nil {
		h.door, _ = publicAddr(c.n.door) // it was valid before
	}
	return appendHello(nil, &h)
}

// watch sends, when ctx ends, that this rank waits no longer, and limits the time for the answer.
func (c *climber) watch(l *link) (stop func() bool) {
	return context.AfterFunc(c.ctx, func() {
		l.send(appendOf(nil, noteQuit, c.n.cfg.Rank, cmp.Or(context.Cause(c.ctx).Error(), "its time is over")))
		l.conn.SetReadDeadline(time.Now().Add(farewellTime))
	})
}

// first reads the first message of the rank above if it is a verdict; otherwise it leaves the
// message unread.
func (c *climber) first(r *bufio.Reader) error {
	if _, err := r.Peek(1); err != nil {
		if c.ctx.Err() != nil {
			return c.late()
		}
		return fmt.Errorf("%w: %w", errUnheard, err)
	}
	return c.verdict(r)
}

// verdict reads a status.
func (c *climber) verdict(r io.Reader) error {
	why, err := readStatus(r)
	switch {
	case err == nil && why == "":
		return nil
	case err == nil && c.ctx.Err() == nil:
		return &verdict{why}
	case err == nil:
		return fmt.Errorf("%w: %w", context.Cause(c.ctx), &verdict{why})
	case c.ctx.Err() != nil:
		return c.late()
	}
	return &brokenError{fmt.Errorf("%s hung up: %w", c.who(), err)}
}

// late returns the error of a rank whose time is over.
func (c *climber) late() error {
	return &brokenError{fmt.Errorf("wait for the other ranks: %w", context.Cause(c.ctx))}
}
