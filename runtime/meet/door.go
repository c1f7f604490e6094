package meet

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"time"
)

const (
	helloTime    = 5 * time.Second        // a connection that has not said hello by then is a stranger's
	farewellTime = time.Second            // greatest time for telling reasons after a failure
	graceTime    = 200 * time.Millisecond // after a failure, ranks that come within this time are told why
)

// longAgo, as a deadline, ends a blocked read or write at once.
var longAgo = time.Unix(1, 0)

// helloLimit is the greatest length of a hello after its opening, before it is sealed.
const helloLimit = 8 + 2 + MaxJob + 2*(2+maxText) + 2 + MaxBlob

// open lets the ranks below come in at ln.
func (n *node) open(ln net.Listener) {
	n.door = ln
	n.wg.Go(func() { n.accept(ln) })
}

func (n *node) accept(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) { // shut sets a deadline
				n.post(func() error { return fmt.Errorf("accept the other ranks: %w", err) })
			}
			return
		}
		watchOver(conn)
		n.guests.enter(conn)
		n.wg.Go(func() { n.hear(conn) })
	}
}

// hear reads a connection's hello, and then its further messages.
func (n *node) hear(conn net.Conn) {
	conn.SetDeadline(time.Now().Add(helloTime))
	stop := context.AfterFunc(n.over, func() { conn.SetDeadline(longAgo) })
	talk, later := n.forLater(conn)
	if later {
		stop()
		return
	}
	g, err := n.greet(talk)
	if stop() {
		conn.SetDeadline(time.Time{})
	}
	switch {
	case err != nil:
		n.turnAway(conn, g.talk, err)
	case !n.guests.leave(conn): // it has made room for another
	default:
		g.most.N = math.MaxInt64
		n.admit(g.talk, g.hello, g.r)
	}
}

// greeted is a guest after its hello.
type greeted struct {
	talk  net.Conn // for writing
	most  io.LimitedReader
	r     *bufio.Reader // for reading, limited by most
	hello *hello
}

// greet makes a guest prove the key, if there is one, and reads its hello. Also with an error, it
// returns the connection for the answer.
func (n *node) greet(conn net.Conn) (*greeted, error) {
	talk, err := admitted(n.cfg, conn)
	if err != nil {
		return &greeted{talk: conn}, err
	}
	g := &greeted{talk: talk, most: io.LimitedReader{R: talk, N: helloLimit}}
	g.r = bufio.NewReader(&g.most)
	g.hello, err = readHello(g.r)
	if err == nil && g.hello.job != n.cfg.Job {
		err = &jobError{g.hello.rank, g.hello.job, n.cfg.Rank, n.cfg.Job}
	}
	return g, err
}

// turnAway refuses a guest. It tells a guest that speaks the protocol why; the guest counts as one
// until that is done.
func (n *node) turnAway(conn, talk net.Conn, why error) {
	n.guests.refuse(conn, fmt.Errorf("%v: %w", conn.RemoteAddr(), why))
	if !errors.Is(why, errStranger) {
		farewell(talk, why.Error())
	}
	n.guests.leave(conn)
	conn.Close()
}

// farewell sends a last status. It reads what is left, so that closing does not reset the
// connection and destroy the status on its way.
func farewell(conn net.Conn, why string) {
	conn.SetDeadline(time.Now().Add(farewellTime))
	if _, err := conn.Write(appendStatus(nil, why)); err == nil {
		closeWrite(conn)
		io.Copy(io.Discard, io.LimitReader(conn, 1<<16))
	}
}

// admit lets a rank in and reads its messages until it hangs up.
func (n *node) admit(conn net.Conn, h *hello, r io.Reader) {
	l := newLink(conn)
	n.wg.Go(l.write)
	defer l.hangUp()
	a := &arrival{link: l, hello: h, heard: make(chan struct{})}
	if !n.post(func() error { return n.arrive(a) }) {
		l.finish(appendStatus(nil, cmp.Or(n.why, errTooLate.Error())), farewellTime)
	}
	select {
	case <-a.heard:
	case <-n.closed:
	}
	for {
		said, err := readNote(r, h.rank, n.cfg.Size)
		if err != nil {
			n.post(func() error { return n.left(l, h.rank, err) })
			return
		}
		n.post(func() error { return n.noted(l, h.rank, &said) })
	}
}

var errTooLate = errors.New("all ranks have arrived without this one")
