package lobby

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet/internal/contact"
	"github.com/schedgen/schedgen/internal/transport/tcpopt"
)

// maxWaiting is how many guests may wait at once, and maxStrangers how many connections may not
// have said hello.
const (
	maxWaiting   = 1 << 14
	maxStrangers = 1 << 10
)

// Lobby is where guests wait for a host's parties. Guests may come at any time.
type Lobby struct {
	l           *net.TCPListener
	credentials contact.Credentials
	clock       clock.Clock
	sent        func(*visitor) (again int, rate float64) // sentTo, except in tests
	strangers   contact.Strangers
	over        context.Context
	close       context.CancelFunc
	wg          sync.WaitGroup

	mu      sync.Mutex // guards the fields below, and the visitors
	waiting []*visitor // in the order of arrival
	changed chan struct{}
	closed  string // why there are no places any more; "": there may be
}

// visitor is a guest that has said hello.
type visitor struct {
	conn  net.Conn
	tcp   *net.TCPConn // the TCP connection below conn; nil: not known
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
type Party struct {
	// Place is the host's place, rank 0. The job's name is random.
	Place
	// Guests are in the order of their ranks 1, 2, ….
	Guests []Guest

	gone chan int // indices of guests that have gone before they have met the others
}

// Open returns a lobby at l, which stays open when the lobby is closed. Guests come in while Host
// waits there, and by Welcome. A process that does not prove the key is turned away.
func Open(l *net.TCPListener, c Config) (*Lobby, error) {
	credentials, err := contact.NewCredentials(c.Key, c.Encrypt)
	if err != nil {
		return nil, wrap(err)
	}
	tcpopt.Of(l, tcpopt.Unpaced)
	h := &Lobby{l: l, credentials: credentials, clock: clock.OrSystem(c.Clock), sent: sentTo, changed: make(chan struct{})}
	h.strangers.Most = maxStrangers
	h.over, h.close = context.WithCancel(context.Background())
	return h, nil
}

// Close tells the waiting guests why they get no place, and returns them in the order of arrival.
// No call of Host or Welcome may be running.
func (h *Lobby) Close(why string) (waiting []Guest) {
	h.strangers.Close()
	h.mu.Lock()
	all := h.waiting
	h.waiting, h.closed = nil, cmp.Or(why, "the lobby is closed")
	h.mu.Unlock()
	for _, v := range all {
		waiting = append(waiting, v.guest)
	}
	h.dismiss(all, why)
	h.close()
	h.wg.Wait()
	return waiting
}

// dismiss sends guests a last status. They should then hang up.
func (h *Lobby) dismiss(all []*visitor, why string) {
	for _, v := range all {
		v.conn.SetDeadline(time.Now().Add(contact.FarewellTime))
		if _, err := v.conn.Write(contact.AppendStatus(nil, why)); err == nil {
			contact.CloseWrite(v.conn)
		}
	}
}

// Choice selects the guests that get places, by their indices in all, and the note for them.
type Choice func(all []Guest) (chosen []int, note string)

// All returns a Choice of all waiting guests, with the given note.
func All(note func(all []Guest) string) Choice {
	return func(all []Guest) ([]int, string) {
		chosen := make([]int, len(all))
		for i := range chosen {
			chosen[i] = i
		}
		return chosen, note(all)
	}
}

// Reception says how many guests a host waits for, and which of them get a place.
type Reception struct {
	// Want is how many guests the host waits for. A guest that hangs up makes room for another.
	Want *Count
	// Probe, if not nil, makes the host measure the waiting guests before it chooses. It returns
	// how many bytes to send to each of so many guests; the result is in Guest.Rate. The host sends
	// at most 64 KiB to one guest after the other. Then it sends up to 128 KiB at a time to guests
	// that seem slow, which it measures while it goes on. It starts no measurement after 2 s, and
	// gives up on a guest that is silent for 1 s.
	Probe func(guests int) (bytes int)
	// Choose selects the guests that get places, in the order of their ranks; it must select at
	// least one.
	Choose Choice
	// Came, if not nil, is called with the number of waiting guests when it changes.
	Came func(guests int)
}

// Host waits until as many guests have come as are wanted, and gives places to the chosen ones.
// They get the ranks 1, 2, …; the others go on waiting. If ctx ends before, the error says how many
// have come.
func (h *Lobby) Host(ctx context.Context, r Reception) (*Party, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	accepting := make(chan error, 1)
	h.wg.Go(func() { accepting <- h.accept() })
	err := h.fill(ctx, accepting, r.Want, r.Came)
	if err == nil {
		h.measure(ctx, r.Probe)
	}
	if !errors.Is(err, errAccept) {
		err = errors.Join(err, contact.StopAccepting(h.l, func() { <-accepting }))
	}
	if err != nil {
		return nil, wrap(err)
	}
	return h.giveOut(rand.Text(), r.Choose), nil
}

// writeTime is the greatest time for a write to a guest. The system has room for it, so it ends at
// once; but a loaded machine may stop this process for seconds before it begins.
const writeTime = 30 * time.Second

// giveOut gives places to the chosen guests.
func (h *Lobby) giveOut(job string, choose Choice) *Party {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]Guest, len(h.waiting))
	for i, v := range h.waiting {
		all[i] = v.guest
	}
	chosen, note := choose(all)
	note = note[:min(len(note), MaxNote)]
	size := len(chosen) + 1
	p := &Party{Place: Place{0, size, job, note}, gone: make(chan int, len(chosen))}
	for i, which := range chosen {
		v := h.waiting[which]
		v.party, v.at = p, i
		p.Guests = append(p.Guests, v.guest)
		place := appendPlace(nil, &Place{i + 1, size, job, note})
		v.conn.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := v.conn.Write(place); err != nil {
			v.conn.Close() // its usher records that it is gone
		}
	}
	h.waiting = slices.DeleteFunc(h.waiting, func(v *visitor) bool { return v.party != nil })
	return p
}

// errAccept says that the system does not accept connections.
var errAccept = errors.New("accept guests")

// fill returns when there are enough guests.
func (h *Lobby) fill(ctx context.Context, accepting <-chan error, want *Count, came func(int)) error {
	last := 0
	for {
		wanted, recount := want.current()
		n, changed := h.count()
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
			if _, last := h.strangers.Count(); last != nil {
				err = fmt.Errorf("%w; a connection was refused: %w", err, last)
			}
			return err
		}
	}
}

// Here returns the waiting guests in the order of arrival. refused is the reason of the last
// refused connection, or nil if none was refused. Here may be called at any time.
func (h *Lobby) Here() (all []Guest, refused error) {
	h.mu.Lock()
	for _, v := range h.waiting {
		all = append(all, v.guest)
	}
	h.mu.Unlock()
	_, refused = h.strangers.Count()
	return all, refused
}

// count returns how many guests wait, and a channel that is closed when that changes.
func (h *Lobby) count() (int, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiting), h.changed
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

// Welcome takes in a connection that has arrived at the listener of ranks; see tcp.Config.Guests.
func (h *Lobby) Welcome(conn net.Conn) {
	contact.WatchOver(conn)
	makeRoom(conn)
	h.strangers.Enter(conn)
	h.wg.Go(func() { h.usher(conn) })
}

// usher identifies a connection, and notices when it goes.
func (h *Lobby) usher(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(contact.HelloTime))
	stop := context.AfterFunc(h.over, func() { conn.SetDeadline(contact.LongAgo) })
	defer stop()
	talk, guest, err := h.greet(conn)
	if err != nil {
		h.strangers.Refuse(conn, fmt.Errorf("%v: %w", conn.RemoteAddr(), err))
		if !errors.Is(err, contact.ErrStranger) {
			contact.Farewell(talk, err.Error())
		}
		h.strangers.Leave(conn)
		return
	}
	if !h.strangers.Leave(conn) { // it has made room for another
		return
	}
	v := &visitor{conn: talk, tcp: contact.TCPConn(conn), guest: guest, heard: make(chan struct{}, 1)}
	defer close(v.heard)
	if _, err := talk.Write(appendWelcome(nil)); err != nil {
		return
	}
	conn.SetDeadline(time.Time{})
	if why := h.enter(v); why != "" {
		contact.Farewell(talk, why)
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
	if talk, err = h.credentials.Admit(conn); err != nil {
		return conn, g, err
	}
	g, err = readGuest(io.LimitReader(talk, 4+2+MaxName+2+MaxWord))
	return talk, g, err
}

// enter adds a waiting guest. If there is no place for it, it returns the reason.
func (h *Lobby) enter(v *visitor) (refused string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed != "": // Close tells only the guests that it finds
		return h.closed
	case len(h.waiting) == maxWaiting:
		return "too many wait here already"
	}
	h.waiting = append(h.waiting, v)
	h.tellChanged()
	return ""
}

// tellChanged wakes the goroutines that wait for another number of guests. The caller holds h.mu.
func (h *Lobby) tellChanged() {
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
	if i := slices.Index(h.waiting, v); i >= 0 {
		h.waiting = slices.Delete(h.waiting, i, i+1)
		h.tellChanged()
	}
}

// Meeting returns a context that ends with ctx, or when one of the guests goes before it has met
// the others; its cause is then a *GoneError. Call stop when the host has met them, or will not.
func (p *Party) Meeting(ctx context.Context) (meeting context.Context, stop func()) {
	if ctx == nil {
		ended, end := context.WithCancelCause(context.Background())
		end(errNoContext)
		return ended, func() {}
	}
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

// GoneError is the reason why a party's meeting has ended: a guest has gone before all had met.
type GoneError struct{ Name string }

func (e *GoneError) Error() string { return e.Name + " has gone before all had met" }
