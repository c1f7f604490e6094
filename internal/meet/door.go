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
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

// spareStrangers is how many connections beyond the ranks' may be at the door at once.
const spareStrangers = 64

// helloLimit is the greatest length of a hello after its opening, before it is sealed.
const helloLimit = 8 + 2 + MaxJob + 2 + MaxTransport + 2*(2+contact.MaxText) + 2 + MaxBlob

// listenAtDoor opens the door where the others come in, or takes the listener of the configuration.
func listenAtDoor(ctx context.Context, cfg *Config) (net.Listener, error) {
	if cfg.Listener != nil {
		return cfg.Listener, nil
	}
	l, err := cfg.Network.Listen(ctx, cfg.Coordinator)
	if err != nil {
		return nil, fmt.Errorf("wait for the other ranks: %w", err)
	}
	return l, nil
}

// listenForLater opens the listener for connections after the meeting, at host bind. addr is its
// address for other ranks.
func listenForLater(ctx context.Context, cfg *Config, bind string) (l net.Listener, addr string, err error) {
	if cfg.Share != nil {
		addr, err = publicAddr(cfg.Listener)
		return cfg.Listener, addr, err
	}
	if l, err = cfg.Network.Listen(ctx, net.JoinHostPort(bind, "0")); err == nil {
		if addr, err = publicAddr(l); err == nil {
			return l, addr, nil
		}
		l.Close()
	}
	return nil, "", fmt.Errorf("accept connections: %w", err)
}

// openDoor lets guests come in at ln.
func (h *host) openDoor(ln net.Listener) {
	h.door = ln
	h.wg.Go(func() { h.accept(ln) })
}

func (h *host) accept(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		switch {
		case errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded): // closeDoor sets a deadline
			return
		case err != nil:
			h.post(func() error { return &faultError{0, fmt.Errorf("accept the other ranks: %w", err)} })
			if clock.Sleep(h.hellosOver, h.cfg.Clock, contact.FirstPause) != nil {
				return
			}
			continue // ranks that are still to come hear the reason when some have hung up
		}
		contact.WatchOver(conn)
		h.strangers.Enter(conn)
		h.wg.Go(func() { h.receive(conn) })
	}
}

// closeDoor stops accepting, and waits for all goroutines of the meeting. A shared listener stays
// open.
func (h *host) closeDoor() error {
	if h.cfg.Share != nil {
		return contact.StopAccepting(h.door, h.wg.Wait)
	}
	h.door.Close()
	h.wg.Wait()
	return nil
}

// receive reads a connection's hello, and then its further messages.
func (h *host) receive(conn net.Conn) {
	conn.SetDeadline(time.Now().Add(contact.HelloTime))
	stop := context.AfterFunc(h.hellosOver, func() { conn.SetDeadline(contact.LongAgo) })
	talk, later := h.keepForLater(conn)
	if later {
		stop()
		return
	}
	g, err := h.greet(talk)
	if stop() {
		conn.SetDeadline(time.Time{})
	}
	switch {
	case err != nil:
		h.turnAway(conn, g.talk, err)
	case !h.strangers.Leave(conn): // it has made room for another
	default:
		g.most.N = math.MaxInt64
		h.serve(g)
	}
}

// greeted is a connection after its hello.
type greeted struct {
	talk  net.Conn // for writing
	most  io.LimitedReader
	r     *bufio.Reader // for reading, limited by most
	hello *hello
}

// greet makes a guest prove the key, if there is one, and reads its hello. Also with an error, it
// returns the connection for the answer.
func (h *host) greet(conn net.Conn) (*greeted, error) {
	talk, err := h.cfg.credentials.Admit(conn)
	if err != nil {
		return &greeted{talk: conn}, h.excuse(conn, err)
	}
	g := &greeted{talk: talk, most: io.LimitedReader{R: talk, N: helloLimit}}
	g.r = bufio.NewReader(&g.most)
	g.hello, err = readHello(g.r)
	if err == nil && g.hello.job != h.cfg.Job {
		err = &jobError{g.hello.rank, g.hello.job, h.cfg.Job}
	}
	return g, err
}

// excuse adds to the reason why a guest is not admitted the fault of this rank or of the guest, if one
// of them has no key. It may be unable to read it. There is no proof, so the fault fails no other
// rank, and is only told.
func (h *host) excuse(conn net.Conn, why error) error {
	mode := new(contact.ModeError)
	switch {
	case !errors.As(why, &mode):
	case mode.Keyless():
		said, err := readHello(bufio.NewReader(io.LimitReader(conn, helloLimit)))
		if err == nil && said.fault != "" && said.job == h.cfg.Job {
			return fmt.Errorf("it says: %s (%w)", said.fault, why)
		}
	case h.cfg.Fault != nil:
		return fmt.Errorf("%w (%w)", h.cfg.Fault, why)
	}
	return why
}

// turnAway refuses a connection. It tells a process that speaks the protocol why; the connection
// counts as a stranger until that is done.
func (h *host) turnAway(conn, talk net.Conn, why error) {
	h.strangers.Refuse(conn, fmt.Errorf("%v: %w", conn.RemoteAddr(), why))
	if !errors.Is(why, contact.ErrStranger) {
		contact.Farewell(talk, why.Error())
	}
	h.strangers.Leave(conn)
	conn.Close()
}

// serve passes a guest's hello and reports to the host, until the guest hangs up.
func (h *host) serve(g *greeted) {
	l := newLink(g.talk)
	h.wg.Go(l.write)
	defer l.hangUp()
	a := &arrival{link: l, hello: g.hello, counts: make(chan struct{})}
	if !h.post(func() error { return h.arrive(a) }) {
		l.finish(contact.AppendStatus(nil, cmp.Or(h.why, errTooLate.Error())), contact.FarewellTime)
		h.late.record(g.hello.rank)
	}
	select {
	case <-a.counts:
	case <-h.closed:
	}
	rank := g.hello.rank
	for {
		r, err := readReport(g.r)
		if err != nil {
			h.post(func() error { return h.hungUp(l, rank, err) })
			return
		}
		h.post(func() error { return h.hear(l, rank, &r) })
	}
}

// errTooLate is the answer to a rank that comes after all have arrived.
var errTooLate = errors.New("all ranks have arrived without this one")

// Share lets one listener serve two purposes: ranks come in at its door while they meet, and
// connect there afterwards. So one open port of a host is enough.
//
// Ranks that have already met may connect while this one still meets. The first bytes distinguish
// their connections from the connections of ranks that come to meet.
type Share struct {
	Later [4]byte // first bytes of later connections
}

// Early is a connection for later that has arrived while ranks met, with the bytes already read.
type Early struct {
	Conn net.Conn
	Read []byte
}

// earlies are the connections for later. Their number is limited; the oldest make room.
type earlies struct {
	mu   sync.Mutex
	list []Early
	most int
}

func (e *earlies) add(conn net.Conn, read []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.list) == e.most {
		e.list[0].Conn.Close()
		e.list = e.list[1:]
	}
	e.list = append(e.list, Early{conn, read})
}

// takeAll returns and removes them.
func (e *earlies) takeAll() []Early {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.list
	e.list = nil
	return list
}

// keepForLater reads the first bytes of a connection and reports whether it is for later; it then
// keeps the connection. Otherwise it returns a connection that reads these bytes again. It also
// keeps one that has sent too little when all have met.
func (h *host) keepForLater(conn net.Conn) (net.Conn, bool) {
	if h.cfg.Share == nil {
		return conn, false
	}
	var b [4]byte
	got, err := io.ReadFull(conn, b[:])
	if err != nil && h.hellosOver.Err() == nil || err == nil && b != h.cfg.Share.Later {
		return contact.Begun(conn, b[:got]), false
	}
	if h.strangers.Leave(conn) {
		conn.SetDeadline(time.Time{})
		h.early.add(conn, b[:got])
	}
	return nil, true
}
