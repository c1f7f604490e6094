package rendezvous

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	helloTime    = 5 * time.Second        // a connection that has not said hello by then is a stranger's
	farewellTime = time.Second            // bounds the telling of reasons when all is lost
	graceTime    = 200 * time.Millisecond // those who come when all is lost are told why for so long
	spareGuests  = 16                     // connections beyond the ranks' that are heard at once
)

// coordinator is rank 0 while the communicator is built.
type coordinator struct {
	cfg     *Config
	tab     *Meeting
	members []net.Conn // by rank, those that have arrived
	missing int
	refused error // what the last stranger did

	arrivals chan arrival
	reports  chan report
	done     chan struct{} // closed when nobody listens to the channels any more
	why      string        // the outcome, "" if it is good; valid when done is closed
	over     context.Context
	guests   chan struct{} // a token per connection that is being heard
	wg       sync.WaitGroup
}

// arrival is a connection that has said hello, or failed to.
type arrival struct {
	conn  net.Conn
	hello *hello
	err   error
}

// report is what a member says after it has prepared itself.
type report struct {
	rank int
	err  error
}

// coordinate waits for all ranks at ln, fills tab, and returns when all are
// prepared. An error is told to all ranks that have arrived.
func coordinate(ctx context.Context, cfg *Config, ln net.Listener, tab *Meeting) error {
	over, end := context.WithCancel(context.Background())
	c := &coordinator{
		cfg: cfg, tab: tab, members: make([]net.Conn, cfg.Size), missing: cfg.Size - 1,
		arrivals: make(chan arrival), reports: make(chan report), done: make(chan struct{}),
		over: over, guests: make(chan struct{}, cfg.Size+spareGuests),
	}
	c.wg.Go(func() { c.accept(ln) })
	err := c.gather(ctx)
	if err == nil {
		err = c.conclude(ctx)
	}
	c.why = reason(err)
	close(c.done)
	c.dismiss()
	if err != nil {
		cfg.Clock.AfterFunc(graceTime, end)
		<-over.Done()
	}
	end()
	ln.Close()
	c.wg.Wait()
	return err
}

func (c *coordinator) accept(ln net.Listener) {
	for {
		select {
		case c.guests <- struct{}{}:
		case <-c.over.Done():
			return
		}
		conn, err := ln.Accept()
		if err != nil {
			<-c.guests
			if errors.Is(err, net.ErrClosed) || !c.deliver(arrival{err: err}) {
				return
			}
			continue
		}
		c.wg.Go(func() { c.hear(conn); <-c.guests })
	}
}

func (c *coordinator) deliver(a arrival) bool {
	select {
	case c.arrivals <- a:
		return true
	case <-c.done:
		return false
	}
}

// hear reads a connection's hello, and then its report; who hangs up before
// that has no part in the communicator any more.
func (c *coordinator) hear(conn net.Conn) {
	conn.SetDeadline(time.Now().Add(helloTime))
	r := bufio.NewReader(io.LimitReader(conn, helloLimit))
	stop := context.AfterFunc(c.over, func() { conn.SetDeadline(longAgo) })
	h, err := readHello(r)
	if stop() {
		conn.SetDeadline(time.Time{})
	}
	switch {
	case c.deliver(arrival{conn, h, err}):
		if err == nil {
			c.listen(h.rank, r)
		}
	case err == nil:
		farewell(conn, cmp.Or(c.why, "all ranks have arrived without this one"))
	default:
		conn.Close()
	}
}

// listen waits for the report of a member.
func (c *coordinator) listen(rank int, r io.Reader) {
	why, err := readStatus(r)
	if err == nil && why != "" {
		err = errors.New(why)
	} else if err != nil {
		err = fmt.Errorf("it hung up: %w", err)
	}
	select {
	case c.reports <- report{rank, err}:
	case <-c.done:
	}
}

// helloLimit bounds what a member sends in all.
const helloLimit = 14 + 2*(2+maxText) + 2 + MaxBlob

// gather returns when all members have said hello.
func (c *coordinator) gather(ctx context.Context) error {
	for c.missing > 0 {
		select {
		case a := <-c.arrivals:
			if err := c.admit(a); err != nil {
				return err
			}
		case r := <-c.reports:
			return fmt.Errorf("rank %d has gone before all had arrived: %w", r.rank, r.err)
		case <-ctx.Done():
			return c.absence(context.Cause(ctx))
		}
	}
	return nil
}

func (c *coordinator) absence(cause error) error {
	var absent []int
	for rank := 1; rank < len(c.members); rank++ {
		if c.members[rank] == nil {
			absent = append(absent, rank)
		}
	}
	err := fmt.Errorf("wait for %s: %w", RankList(absent), cause)
	if c.refused != nil {
		err = fmt.Errorf("%w (besides, a connection was refused: %w)", err, c.refused)
	}
	return err
}

// admit takes one arrival in. Strangers are turned away; a rank that does not
// fit is an error of all.
func (c *coordinator) admit(a arrival) error {
	var version *versionError
	switch {
	case a.conn == nil:
		return fmt.Errorf("accept the other ranks: %w", a.err)
	case errors.As(a.err, &version):
		return c.refuse(a.conn, fmt.Errorf("a rank at %v does not fit: %w", a.conn.RemoteAddr(), a.err))
	case a.err != nil:
		c.refused = fmt.Errorf("%v: %w", a.conn.RemoteAddr(), a.err)
		a.conn.Close()
		return nil
	case a.hello.size != c.cfg.Size:
		return c.refuse(a.conn, fmt.Errorf("rank %d at %v was told that there are %d ranks, rank 0 that there are %d",
			a.hello.rank, a.conn.RemoteAddr(), a.hello.size, c.cfg.Size))
	case a.hello.rank == 0 || c.members[a.hello.rank] != nil:
		return c.refuse(a.conn, fmt.Errorf("rank %d has arrived twice, the second time from %v", a.hello.rank, a.conn.RemoteAddr()))
	}
	return c.enroll(a)
}

func (c *coordinator) enroll(a arrival) error {
	addr, err := fillHost(a.hello.addr, a.conn.RemoteAddr())
	if err != nil {
		return c.refuse(a.conn, fmt.Errorf("rank %d listens at an address that is none: %w", a.hello.rank, err))
	}
	c.members[a.hello.rank] = a.conn
	c.tab.Addrs[a.hello.rank], c.tab.Blobs[a.hello.rank] = addr, a.hello.blob
	c.missing--
	return nil
}

// refuse tells the guilty; its hear may still be reading its connection.
func (c *coordinator) refuse(conn net.Conn, err error) error {
	c.wg.Go(func() { farewell(conn, err.Error()) })
	return err
}

// conclude hands the table out and waits until everybody is prepared.
func (c *coordinator) conclude(ctx context.Context) error {
	msg := appendTable(nil, c.tab)
	stop := context.AfterFunc(ctx, func() { c.each(func(conn net.Conn) { conn.SetWriteDeadline(longAgo) }) })
	defer stop()
	c.each(func(conn net.Conn) {
		c.wg.Go(func() { conn.Write(msg) }) // a failure shows in what hear reads
	})
	if err := prepare(c.cfg, c.tab); err != nil {
		return err
	}
	for waiting := c.cfg.Size - 1; waiting > 0; waiting-- {
		select {
		case r := <-c.reports:
			if r.err != nil {
				return fmt.Errorf("rank %d: %w", r.rank, r.err)
			}
		case <-ctx.Done():
			return fmt.Errorf("wait until all ranks are prepared: %w", context.Cause(ctx))
		}
	}
	return nil
}

// each calls f for the connections of all members that have arrived.
func (c *coordinator) each(f func(net.Conn)) {
	for _, conn := range c.members {
		if conn != nil {
			f(conn)
		}
	}
}

// dismiss tells every member that has arrived the outcome, and hangs up.
func (c *coordinator) dismiss() {
	c.each(func(conn net.Conn) { c.wg.Go(func() { farewell(conn, c.why) }) })
}

// farewell sends a last status. It reads what is left, so that closing does
// not reset the connection and destroy the status on its way.
func farewell(conn net.Conn, why string) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(farewellTime))
	if _, err := conn.Write(appendStatus(nil, why)); err == nil {
		drain(conn)
	}
}

// drain says that nothing more will be sent, and reads until the peer says so.
func drain(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	conn.SetReadDeadline(time.Now().Add(farewellTime))
	io.Copy(io.Discard, io.LimitReader(conn, 1<<16))
}
