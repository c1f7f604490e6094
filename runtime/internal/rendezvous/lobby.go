package rendezvous

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/seal"
)

// Processes that have no rank yet come to a lobby, at the address where the ranks will meet. There they say
//
//	guest  opening (auth.go), noRank u32, name, word
//	host   status, rank u32, size u32, job, note
//
// and the host answers when as many have come as are wanted. No rank's hello begins with noRank, so a guest that is
// late for the lobby and comes to the meeting is turned away there.
const (
	noRank = math.MaxUint32

	// MaxName is the longest name of a guest, and the longest word, in bytes.
	MaxName = 256
)

// Lobby says how guests are let in, or how one comes.
type Lobby struct {
	Key     []byte // as in Config
	Encrypt bool
	Clock   clock.Clock // nil means the system's
}

// Guest is what a process says of itself in a lobby, in at most MaxName bytes each.
type Guest struct {
	Name string
	Word string // what the host is to know of it
}

// Place is what a guest is given.
type Place struct {
	Rank, Size int
	Job        string // the same for all, and of no other lobby
	Note       string // what the host tells all, at most 1024 bytes
}

// visitor is a guest that is here.
type visitor struct {
	conn  net.Conn
	guest Guest
}

// lobby is a host's.
type lobby struct {
	cfg     Config
	guests  guests
	arrived chan *visitor
	left    chan *visitor
	over    chan struct{}
	wg      sync.WaitGroup
}

// Host lets guests in at l until as many are there as want says, and gives them the ranks 1, 2, … in the order in which they came. It
// returns them, by rank less one, or an error that says how many have come when ctx ends. Who hangs up before
// that makes room for another. note says what all are told. came, if not nil, is called with each number of guests. The listener stays open.
func (c *Lobby) Host(ctx context.Context, l net.Listener, want *Count, job string, note func([]Guest) string, came func(guests int)) ([]Guest, error) {
	h, err := newLobby(c, want)
	if err != nil {
		return nil, err
	}
	defer h.wg.Wait()
	defer close(h.over)
	defer h.guests.close()
	accepting := make(chan error, 1)
	h.wg.Go(func() { accepting <- h.accept(ctx, l) })
	here, err := h.fill(ctx, accepting, want, came)
	if !errors.Is(err, errAccept) {
		err = errors.Join(err, stopAccepting(l, accepting))
	}
	guests := make([]Guest, len(here))
	for i, v := range here {
		guests[i] = v.guest
	}
	if err != nil {
		for _, v := range here {
			v.finish(appendStatus(nil, err.Error()))
		}
		return guests, err
	}
	told := note(guests)
	for i, v := range here {
		v.finish(appendPlace(nil, &Place{i + 1, len(here) + 1, job, told}))
	}
	return guests, nil
}

// errAccept: the system lets nobody come.
var errAccept = errors.New("accept those that come")

func newLobby(c *Lobby, want *Count) (*lobby, error) {
	m, err := seal.ModeOf(c.Key, c.Encrypt)
	if err != nil {
		return nil, err
	}
	return &lobby{
		cfg: Config{Key: c.Key, Encrypt: c.Encrypt, Clock: clock.OrSystem(c.Clock), mode: m}, guests: guests{most: want.first + spareGuests},
		arrived: make(chan *visitor), left: make(chan *visitor), over: make(chan struct{}),
	}, nil
}

// fill returns the guests once there are enough.
func (h *lobby) fill(ctx context.Context, accepting <-chan error, want *Count, came func(int)) (here []*visitor, err error) {
	tell := func() {
		if came != nil {
			came(len(here))
		}
	}
	for {
		wanted, changed := want.now()
		switch {
		case wanted == 0 && len(here) == 0:
			return nil, ErrNobody
		case len(here) >= wanted:
			return here, nil
		}
		select {
		case <-changed:
		case v := <-h.arrived:
			here = append(here, v)
			tell()
		case v := <-h.left:
			for i := range here {
				if here[i] == v {
					here = append(here[:i], here[i+1:]...)
					tell()
					break
				}
			}
		case err := <-accepting:
			return here, fmt.Errorf("%w: %w", errAccept, err)
		case <-ctx.Done():
			err := fmt.Errorf("%d of %d have come: %w", len(here), wanted, context.Cause(ctx))
			if _, last := h.guests.count(); last != nil {
				err = fmt.Errorf("%w; a connection was refused: %w", err, last)
			}
			return here, err
		}
	}
}

// deadliner is a listener that can be told to stop accepting for a while.
type deadliner interface{ SetDeadline(time.Time) error }

// stopAccepting ends the accepting and leaves the listener as it was.
func stopAccepting(l net.Listener, accepting <-chan error) error {
	d, ok := l.(deadliner)
	if !ok {
		return errors.New("a listener that cannot be told to stop accepting")
	}
	if err := d.SetDeadline(longAgo); err != nil {
		return fmt.Errorf("stop accepting: %w", err)
	}
	<-accepting
	return d.SetDeadline(time.Time{})
}

func (h *lobby) accept(ctx context.Context, l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		watchOver(conn)
		h.guests.enter(conn)
		h.wg.Go(func() { h.usher(ctx, conn) })
	}
}

// usher hears who has come, and whether it goes.
func (h *lobby) usher(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(helloTime))
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(longAgo) })
	talk, guest, err := h.greet(conn)
	if stop() {
		conn.SetDeadline(time.Time{})
	}
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
	v := &visitor{talk, guest}
	select {
	case h.arrived <- v:
	case <-h.over:
		farewell(talk, "all that were expected have come")
		return
	}
	_, _ = io.ReadFull(talk, make([]byte, 1)) // it says nothing more: it hangs up, or has its last word
	select {
	case h.left <- v:
	case <-h.over:
	}
}

// greet has a guest prove the key, if there is one, and reads what it says. With an error there is at least what to talk by.
func (h *lobby) greet(conn net.Conn) (talk net.Conn, g Guest, err error) {
	if talk, err = admitted(&h.cfg, conn); err != nil {
		return conn, g, err
	}
	g, err = readGuest(io.LimitReader(talk, 4+2*(2+MaxName)))
	return talk, g, err
}

// readGuest reads what follows the opening.
func readGuest(r io.Reader) (g Guest, err error) {
	rank, err := readUint32(r)
	if err == nil && rank != noRank {
		return g, errors.New("ranks do not meet yet: processes without one are waited for")
	}
	var name, word []byte
	if err == nil {
		name, err = readBytes(r, MaxName)
	}
	if err == nil {
		word, err = readBytes(r, MaxName)
	}
	if err != nil {
		return g, fmt.Errorf("%w: %w", errStranger, err)
	}
	return Guest{strings.Map(plain, string(name)), strings.Map(plain, string(word))}, nil
}

// finish tells a guest a last word. It is to hang up when it has heard it.
func (v *visitor) finish(word []byte) {
	v.conn.SetDeadline(time.Now().Add(farewellTime))
	if _, err := v.conn.Write(word); err == nil {
		closeWrite(v.conn)
	}
}

func appendPlace(b []byte, p *Place) []byte {
	b = appendStatus(b, "")
	b = binary.BigEndian.AppendUint32(b, uint32(p.Rank))
	b = binary.BigEndian.AppendUint32(b, uint32(p.Size))
	return appendBytes(appendBytes(b, p.Job), p.Note)
}
