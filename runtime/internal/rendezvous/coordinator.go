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
)

// coordinator is rank 0 while the communicator is built.
type coordinator struct {
	cfg     *Config
	tab     *Meeting
	members []net.Conn // by rank, those that have arrived
	missing int

	arrivals chan arrival
	reports  chan report
	done     chan struct{} // closed when nobody listens to the channels any more
	why      string        // the outcome, "" if it is good; valid when done is closed
	over     context.Context
	guests   guests
	wg       sync.WaitGroup
}

// arrival is a connection that has said hello, or the end of all arrivals.
type arrival struct {
	conn  net.Conn
	hello *hello
	err   error // of accepting connections
}

// report is what a member says after it has prepared itself, or when it waits no
// longer for the others.
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
		over: over, guests: guests{most: cfg.Size + spareGuests},
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
	} else {
		c.guests.close()
	}
	end()
	ln.Close()
	c.wg.Wait()
	tab.Refused, _ = c.guests.count()
	return err
}

func (c *coordinator) accept(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				c.deliver(arrival{err: err})
			}
			return
		}
		c.guests.enter(conn)
		c.wg.Go(func() { c.hear(conn) })
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
	stop := context.AfterFunc(c.over, func() { conn.SetDeadline(longAgo) })
	talk, r, h, err := c.greet(conn)
	if stop() {
		conn.SetDeadline(time.Time{})
	}
	if err == nil && h.job != c.cfg.Job {
		err = &jobError{h.rank, h.job, c.cfg.Job}
	}
	switch {
	case err != nil:
		c.turnAway(conn, talk, err)
	case !c.guests.leave(conn): // it has made room for another
	case c.deliver(arrival{conn: talk, hello: h}):
		c.listen(h.rank, r)
	default:
		farewell(talk, cmp.Or(c.why, "all ranks have arrived without this one"))
	}
}

// greet has a guest prove the key, if there is one, and reads its hello. What follows
// that is read from r, and written to talk.
func (c *coordinator) greet(conn net.Conn) (talk net.Conn, r io.Reader, h *hello, err error) {
	if talk, err = admitted(c.cfg, conn); err != nil {
		return conn, nil, nil, err
	}
	r = bufio.NewReader(io.LimitReader(talk, helloLimit))
	h, err = readHello(r)
	return talk, r, h, err
}

// turnAway refuses a guest. Who speaks as a rank does is told why; for as long as
// that takes it remains a guest.
func (c *coordinator) turnAway(conn, talk net.Conn, why error) {
	c.guests.refuse(conn, fmt.Errorf("%v: %w", conn.RemoteAddr(), why))
	if !errors.Is(why, errStranger) {
		farewell(talk, why.Error())
	}
	c.guests.leave(conn)
	conn.Close()
}

// listen waits for the report of a member.
func (c *coordinator) listen(rank int, r io.Reader) {
	why, err := readStatus(r)
	if err == nil && why != "" {
		err = errors.New(why)
	} else if err != nil {
		err = &goneError{err}
	}
	select {
	case c.reports <- report{rank, err}:
	case <-c.done:
	}
}

// helloLimit bounds what a member sends in all.
const helloLimit = 8 + 2 + MaxJob + 2*(2+maxText) + 2 + MaxBlob

// goneError says that a member's connection has ended without a word.
type goneError struct{ err error }

func (e *goneError) Error() string { return fmt.Sprintf("it hung up: %v", e.err) }

func (e *goneError) Unwrap() error { return e.err }

// gather returns when all members have said hello.
func (c *coordinator) gather(ctx context.Context) error {
	for c.missing > 0 {
		select {
		case a := <-c.arrivals:
			if err := c.admit(a); err != nil {
				return err
			}
		case r := <-c.reports:
			return c.absence(loss(r))
		case <-ctx.Done():
			return c.absence(context.Cause(ctx))
		}
	}
	return nil
}

// loss says why a member that has arrived waits no longer for the others.
func loss(r report) error {
	if errors.As(r.err, new(*goneError)) {
		return fmt.Errorf("rank %d has gone before all had arrived: %w", r.rank, r.err)
	}
	return fmt.Errorf("rank %d waits no longer: %w", r.rank, cmp.Or(r.err, errEarly))
}

var errEarly = errors.New("it was ready before it could be")

// absence says who is missing when the waiting ends, and whether others were there
// that are not wanted.
func (c *coordinator) absence(cause error) error {
	absent := c.others(func(rank int) bool { return c.members[rank] == nil })
	err := fmt.Errorf("%s: %w", notCome(absent), cause)
	switch n, last := c.guests.count(); {
	case n == 1 && last != nil:
		err = fmt.Errorf("%w (besides, a connection was refused: %w)", err, last)
	case last != nil:
		err = fmt.Errorf("%w (besides, %d connections were refused, one of them: %w)", err, n, last)
	case n > 0:
		err = fmt.Errorf("%w (besides, %d connections that said nothing were refused)", err, n)
	}
	return err
}

// admit takes one arrival in; a rank that does not fit is an error of all.
func (c *coordinator) admit(a arrival) error {
	switch {
	case a.conn == nil:
		return fmt.Errorf("accept the other ranks: %w", a.err)
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
	drawSeed(c.tab)
	if err := share(c.cfg, c.tab); err != nil {
		return err
	}
	msg := appendTable(nil, c.tab)
	stop := context.AfterFunc(ctx, func() { c.each(func(conn net.Conn) { conn.SetWriteDeadline(longAgo) }) })
	defer stop()
	c.each(func(conn net.Conn) {
		c.wg.Go(func() { conn.Write(msg) }) // a failure shows in what hear reads
	})
	if err := prepare(c.cfg, c.tab); err != nil {
		return err
	}
	return c.awaitReports(ctx)
}

// awaitReports returns when all members have prepared themselves.
func (c *coordinator) awaitReports(ctx context.Context) error {
	prepared := make([]bool, c.cfg.Size)
	for waiting := c.cfg.Size - 1; waiting > 0; waiting-- {
		select {
		case r := <-c.reports:
			if r.err != nil {
				return fmt.Errorf("rank %d: %w", r.rank, r.err)
			}
			prepared[r.rank] = true
		case <-ctx.Done():
			late := c.others(func(rank int) bool { return !prepared[rank] })
			return fmt.Errorf("wait for %s to be prepared: %w", RankList(late), context.Cause(ctx))
		}
	}
	return nil
}

// others returns the ranks but 0 of which is holds.
func (c *coordinator) others(is func(rank int) bool) (ranks []int) {
	for rank := 1; rank < c.cfg.Size; rank++ {
		if is(rank) {
			ranks = append(ranks, rank)
		}
	}
	return ranks
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
