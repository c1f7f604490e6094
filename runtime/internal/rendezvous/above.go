package rendezvous

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/clock"
)

const (
	firstPause = 5 * time.Millisecond
	lastPause  = 250 * time.Millisecond
	dialLimit  = 3 * time.Second
)

// climber connects a rank with the one above, again and again until the outcome of
// all is known or ctx ends.
type climber struct {
	n    *node
	ctx  context.Context
	net  Network
	bind string       // of data
	data net.Listener // where this rank accepts connections afterwards
	to   int          // the rank that is, or was, to be reached
	last error        // why it was not
}

// ending is how the climb has ended.
type ending struct{ err error }

// climb returns when the outcome is posted.
func (c *climber) climb() {
	err := c.try()
	c.n.post(func() error {
		c.n.end, c.n.going = &ending{err}, err == nil
		return err
	})
}

// errUnheard: the rank above has hung up before it has said anything. It may have had
// to make room for others, or be started again.
var errUnheard = errors.New("it hung up")

func (c *climber) try() error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := c.once()
		if err == nil || c.final(err) {
			return err
		}
		if c.last == nil || c.ctx.Err() == nil && !timedOut(err) {
			c.last = err // others may only say that ctx has ended, before it does itself
		}
		if late := clock.Sleep(c.ctx, c.n.cfg.Clock, pause); late != nil {
			return fmt.Errorf("%s: %w (%w)", c.absence(), c.last, late)
		}
	}
}

// absence says who is missing.
func (c *climber) absence() string {
	if errors.Is(c.last, errUnheard) {
		return RankList([]int{c.to}) + " has gone and has not come again"
	}
	return notCome([]int{c.to})
}

// final reports whether trying again is of no use.
func (c *climber) final(err error) bool {
	return errors.As(err, new(*verdict)) || errors.As(err, new(*brokenError)) || errors.As(err, new(*LoopbackError)) || hopeless(err)
}

// brokenError: the rank above has gone when it was too late to come again, or says
// what none would.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

// once goes to the rank above and hears the outcome there.
func (c *climber) once() error {
	cfg := c.n.cfg
	up := above(cfg.Rank)
	if cfg.Doors != nil {
		return c.visit(up, cfg.Doors(up))
	}
	conn, err := c.reach(0, cfg.Coordinator)
	if err != nil {
		return err
	}
	if hasBelow(cfg.Rank, cfg.Size) && c.n.door == nil {
		if err := c.openDoor(conn); err != nil {
			conn.Close()
			return err
		}
	}
	if up == 0 {
		return c.attend(conn)
	}
	door, err := c.ask(conn)
	if err != nil {
		return err
	}
	return c.visit(up, door)
}

func (c *climber) visit(rank int, addr string) error {
	conn, err := c.reach(rank, addr)
	if err != nil {
		return err
	}
	return c.attend(conn)
}

func (c *climber) reach(rank int, addr string) (net.Conn, error) {
	c.to = rank
	conn, err := c.net.Dial(c.ctx, addr)
	if err == nil {
		watchOver(conn)
		return conn, nil
	}
	return nil, fmt.Errorf("reach %s at %s: %w", c.who(), addr, err)
}

// who is the rank that is to be reached, or was.
func (c *climber) who() string {
	if c.to == 0 {
		return "the coordinator"
	}
	return fmt.Sprintf("rank %d", c.to)
}

// openDoor has ranks below come in at the address that conn is from.
func (c *climber) openDoor(conn net.Conn) error {
	ln, _, err := listenAt(c.ctx, c.net, cmp.Or(c.n.cfg.Bind, hostOf(conn.LocalAddr())))
	if err != nil {
		return &brokenError{err}
	}
	opened := make(chan struct{})
	if !c.n.post(func() error { c.n.open(ln); close(opened); return nil }) {
		ln.Close()
		return context.Canceled
	}
	<-opened
	return nil
}

// listen opens where this rank accepts connections, at the address that conn is from.
func (c *climber) listen(conn net.Conn) (addr string, err error) {
	bind := cmp.Or(c.n.cfg.Bind, hostOf(conn.LocalAddr()))
	if c.data != nil && c.bind != bind {
		c.data.Close()
		c.data = nil
	}
	if c.data == nil {
		c.bind = bind
		if c.data, _, err = listenAt(c.ctx, c.net, bind); err != nil {
			return "", &brokenError{err}
		}
	}
	return publicAddr(c.data)
}

// hello is what this rank says of itself. The way is asked for without what it
// publishes.
func (c *climber) hello(addr string, blob []byte) []byte {
	cfg := c.n.cfg
	h := hello{rank: cfg.Rank, size: cfg.Size, job: cfg.Job, addr: addr, blob: blob}
	if cfg.Doors == nil && c.n.door != nil {
		h.door, _ = publicAddr(c.n.door) // it was asked before
	}
	return appendHello(nil, &h)
}

// ask asks rank 0 where the rank above waits. It may have to wait for that.
func (c *climber) ask(conn net.Conn) (door string, err error) {
	l := newLink(conn)
	c.n.wg.Go(l.write)
	defer l.hangUp()
	defer c.watch(l)()
	l.send(c.hello("", nil))
	r := bufio.NewReader(conn)
	if err := c.first(r); err != nil {
		return "", err
	}
	b, err := readBytes(r, maxText)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnheard, err)
	}
	return string(b), nil
}

// watch says when ctx ends that this rank waits no longer; the answer has a bounded time.
func (c *climber) watch(l *link) (stop func() bool) {
	return context.AfterFunc(c.ctx, func() {
		l.send(appendOf(nil, noteQuit, c.n.cfg.Rank, cmp.Or(context.Cause(c.ctx).Error(), "its time is over")))
		l.conn.SetReadDeadline(time.Now().Add(farewellTime))
	})
}

// first reads the first word of a rank above; what is no verdict is left to be read.
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

// late says that this rank's time is over.
func (c *climber) late() error {
	return &brokenError{fmt.Errorf("wait for the other ranks: %w", context.Cause(c.ctx))}
}

// attend says hello on conn and hears the outcome.
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

// hear waits for the table and for the word that all are prepared.
func (c *climber) hear(conn net.Conn, r *bufio.Reader) error {
	if err := c.first(r); err != nil {
		return err
	}
	cfg := c.n.cfg
	tab, err := cfg.decode(r, cfg.Size)
	if err == nil && hostIn(tab.Addrs[0]) == "" { // the others have hosts already
		tab.Addrs[0], err = fillHost(tab.Addrs[0], conn.RemoteAddr())
	}
	if err != nil {
		if c.ctx.Err() != nil {
			return c.late()
		}
		return &brokenError{fmt.Errorf("read the table of all ranks: %w", err)}
	}
	c.n.post(func() error { c.n.tab = tab; return nil })
	return c.verdict(r)
}

// attach begins to stand for this rank and those below it at the rank above.
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

// hopeless reports whether a dial has failed for a reason of this host alone, which
// does not pass: it is out of descriptors, or its loopback interface is down.
func hopeless(err error) bool {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return true
	}
	var op *net.OpError
	if !errors.As(err, &op) {
		return false
	}
	to, ok := op.Addr.(*net.TCPAddr)
	return ok && to.IP.IsLoopback() && (errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EADDRNOTAVAIL))
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// verdict is why the coordinator says that there is no communicator.
type verdict struct{ why string }

func (v *verdict) Error() string { return "the coordinator says: " + v.why }
