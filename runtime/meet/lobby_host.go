package meet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/seal"
	"github.com/schedgen/schedgen/runtime/internal/tcpopt"
)

// Lobby is where guests wait for a host's parties. Guests may come at any time.
type Lobby struct {
	l      net.Listener
	cfg    Config
	guests guests // connections that have not said hello
	over   context.Context
	close  context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // guards the fields below, and the visitors
	here    []*visitor // waiting guests, in the order of arrival
	changed chan struct{}
}

// visitor is a guest that has said hello.
type visitor struct {
	conn  net.Conn
	below *net.TCPConn // the TCP connection of conn; nil: not known
	guest Guest
	party *Party // nil: it waits
	at    int    // its index in the party

	late  bool          // it has not answered in time; used, like lossy and there, by the goroutine that measures it
	lossy bool          // the system had to resend, before or during the first measurement
	there time.Duration // the least round trip time, compared with which bytes take time: losses raise it; 0: not known
	asked atomic.Int32  // probes without an answer
	heard chan struct{} // holds a value when all probes have answers; closed when the guest has gone
}

// Party is the guests that got places together.
type Party struct { // by rank minus one
	Guests []Guest // by rank less one
	gone   chan int
}

// OpenLobby returns a lobby at l, which it does not close.
func OpenLobby(l net.Listener, c Admission) (*Lobby, error) {
	m, err := seal.ModeOf(c.Key, c.Encrypt)
	if err != nil {
		return nil, err
	}
	if _, ok := l.(deadliner); !ok {
		return nil, fmt.Errorf("%T cannot be told to stop accepting", l)
	}
	if c, ok := l.(syscall.Conn); ok {
		tcpopt.Of(c, tcpopt.Unpaced)
	}
	h := &Lobby{
		l: l, cfg: Config{Key: c.Key, Encrypt: c.Encrypt, Clock: clock.OrSystem(c.Clock), mode: m}, guests: guests{most: maxSilent},
		changed: make(chan struct{}),
	}
	h.over, h.close = context.WithCancel(context.Background())
	return h, nil
}

// Close tells the waiting guests why they get no place, and returns them in the order of arrival.
func (h *Lobby) Close(why string) (waiting []Guest) {
	h.guests.close()
	h.mu.Lock()
	here := h.here
	h.here = nil
	h.mu.Unlock()
	for _, v := range here {
		waiting = append(waiting, v.guest)
	}
	h.dismiss(here, why)
	h.close()
	h.wg.Wait()
	return waiting
}

// dismiss sends guests a last status. They should then hang up.
func (h *Lobby) dismiss(all []*visitor, why string) {
	for _, v := range all {
		v.conn.SetDeadline(time.Now().Add(farewellTime))
		if _, err := v.conn.Write(appendStatus(nil, why)); err == nil {
			closeWrite(v.conn)
		}
	}
}

// Reception says how many guests a host waits for, and which of them get a place.
type Reception struct {
	Want *Count
	// Probe, if not nil, makes the host measure the waiting guests: it returns how many bytes to
	// send to each of so many guests. See [Guest.Rate].
	Probe func(guests int) (bytes int)
	// Choose selects the guests that get places, by their indices among the waiting guests in the
	// order of arrival, and the note for them.
	Choose func([]Guest) (chosen []int, note string)
	Came   func(guests int) // called with each new number of guests; nil: not called
}

// Host waits until as many guests are here as are wanted, and gives places to the chosen ones. They
// get the ranks 1, 2, …; the others go on waiting. If ctx ends before, an error says how many have
// come. A guest that hangs up makes room for another.
func (h *Lobby) Host(ctx context.Context, job string, re *Reception) (*Party, string, error) {
	accepting := make(chan error, 1)
	h.wg.Go(func() { accepting <- h.accept() })
	err := h.fill(ctx, accepting, re.Want, re.Came)
	if err == nil {
		h.measure(ctx, re.Probe)
	}
	if !errors.Is(err, errAccept) {
		err = errors.Join(err, stopAccepting(h.l.(deadliner), accepting))
	}
	if err != nil {
		return nil, "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]Guest, len(h.here))
	for i, v := range h.here {
		all[i] = v.guest
	}
	chosen, note := re.Choose(all)
	p := &Party{gone: make(chan int, len(chosen))}
	for i, which := range chosen {
		v := h.here[which]
		v.party, v.at = p, i
		p.Guests = append(p.Guests, v.guest)
		place := appendPlace(nil, &Place{i + 1, len(chosen) + 1, job, note})
		v.conn.SetWriteDeadline(time.Now().Add(farewellTime))
		if _, err := v.conn.Write(place); err != nil {
			v.conn.Close() // its usher records that it is gone
		}
	}
	h.here = slices.DeleteFunc(h.here, func(v *visitor) bool { return v.party != nil })
	return p, note, nil
}

// errAccept: the system does not accept connections.
var errAccept = errors.New("accept those that come")

// fill returns when there are enough guests.
func (h *Lobby) fill(ctx context.Context, accepting <-chan error, want *Count, came func(int)) error {
	last := 0
	for {
		wanted, recount := want.now()
		n, changed := h.now()
		if n != last && came != nil {
			came(n)
		}
		last = n
		switch {
		case wanted == 0 && n == 0:
			return ErrNobody
		case n >= wanted:
			return nil
		}
		select {
		case <-recount:
		case <-changed:
		case err := <-accepting:
			return fmt.Errorf("%w: %w", errAccept, err)
		case <-ctx.Done():
			err := fmt.Errorf("%d of %d have come: %w", n, wanted, context.Cause(ctx))
			if _, last := h.guests.count(); last != nil {
				err = fmt.Errorf("%w; a connection was refused: %w", err, last)
			}
			return err
		}
	}
}

// Here returns the waiting guests in the order of arrival. refused is the reason of the last
// refused connection, or nil if none was refused.
func (h *Lobby) Here() (all []Guest, refused error) {
	h.mu.Lock()
	for _, v := range h.here {
		all = append(all, v.guest)
	}
	h.mu.Unlock()
	_, refused = h.guests.count()
	return all, refused
}

// now returns how many guests wait, and a channel that is closed when that changes.
func (h *Lobby) now() (int, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.here), h.changed
}

// deadliner is a listener that can stop accepting for a while.
type deadliner interface{ SetDeadline(time.Time) error }

// stopAccepting ends the goroutine that accepts and leaves the listener as it was.
func stopAccepting(l deadliner, accepting <-chan error) error {
	if err := l.SetDeadline(longAgo); err != nil {
		return fmt.Errorf("stop accepting: %w", err)
	}
	<-accepting
	return l.SetDeadline(time.Time{})
}

func (h *Lobby) accept() error {
	for {
		conn, err := h.l.Accept()
		if err != nil {
			return err
		}
		h.Welcome(conn)
	}
}

// Welcome takes in a connection; its usher identifies it.
func (h *Lobby) Welcome(conn net.Conn) {
	watchOver(conn)
	makeRoom(conn)
	h.guests.enter(conn)
	h.wg.Go(func() { h.usher(conn) })
}

// usher identifies a connection, and notices when it goes.
func (h *Lobby) usher(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(helloTime))
	stop := context.AfterFunc(h.over, func() { conn.SetDeadline(longAgo) })
	defer stop()
	talk, guest, err := h.greet(conn)
	if err != nil {
		h.guests.refuse(conn, fmt.Errorf("%v: %w", conn.RemoteAddr(), err))
		if !errors.Is(err, errStranger) {
			farewell(talk, err.Error())
		}
		h.guests.leave(conn)
		return
	}
	if !h.guests.leave(conn) { // it has made room for another
		return
	}
	v := &visitor{conn: talk, below: tcpOf(conn), guest: guest, heard: make(chan struct{}, 1)}
	defer close(v.heard)
	if _, err := talk.Write(appendWelcome(nil)); err != nil {
		return
	}
	conn.SetDeadline(time.Time{})
	if !h.enter(v) {
		farewell(talk, "too many wait here already")
		return
	}
	h.leave(v, v.listen())
}

// listen reads a guest's answers to probes, until it has met the others, or has gone.
func (v *visitor) listen() (hasMet bool) {
	for {
		var b [1]byte
		if _, err := io.ReadFull(v.conn, b[:]); err != nil {
			return false
		}
		if b[0] != heard {
			return b[0] == met
		}
		switch left := v.asked.Add(-1); {
		case left < 0:
			return false // it was not asked
		case left == 0:
			v.heard <- struct{}{} // there is room: the next probe waits until this is taken
		}
	}
}

// greet makes a guest prove the key, if there is one, and reads its hello. Also with an error, it
// returns the connection for the answer.
func (h *Lobby) greet(conn net.Conn) (talk net.Conn, g Guest, err error) {
	if talk, err = admitted(&h.cfg, conn); err != nil {
		return conn, g, err
	}
	g, err = readGuest(io.LimitReader(talk, 4+2+MaxName+2+MaxWord))
	return talk, g, err
}

// enter adds a waiting guest, if there is room.
func (h *Lobby) enter(v *visitor) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.here) == maxHere {
		return false
	}
	h.here = append(h.here, v)
	h.news()
	return true
}

func (h *Lobby) news() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// leave records that a guest has hung up, or has met the others of its party.
func (h *Lobby) leave(v *visitor, met bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v.party != nil {
		if !met {
			v.party.gone <- v.at // there is room for one value of each guest
		}
		return
	}
	if i := slices.Index(h.here, v); i >= 0 {
		h.here = slices.Delete(h.here, i, i+1)
		h.news()
	}
}

// Meeting returns a context that ends with ctx, or when one of the guests goes before it has met
// the others. stop ends the watch.
func (p *Party) Meeting(ctx context.Context) (meeting context.Context, stop func()) {
	meeting, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case i := <-p.gone:
			p.gone <- i
			cancel(&GoneError{p.Guests[i].Name})
		case <-meeting.Done():
		}
	}()
	return meeting, func() { cancel(context.Canceled); <-stopped }
}

// GoneError: a guest has gone before it has met the others.
type GoneError struct{ Name string }

func (e *GoneError) Error() string { return e.Name + " has gone before all had met" }
