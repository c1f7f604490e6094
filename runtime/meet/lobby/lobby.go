// Package lobby gives ranks to processes that start without one. Guests wait where the ranks will
// meet. When as many guests have come as the host expects, the host gives places to a party of
// them: each guest learns its rank, the number of ranks and the name of the job. All members of the
// party then join by package tcp, or a package on top of it, at the same address. Other guests may
// wait, and more may come, for a later party.
//
// Until they have joined, the host knows whether each guest of a party is alive.
package lobby

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/meet"
)

// MaxName is the greatest length of a guest's name in bytes, and MaxWord that of its words.
const (
	MaxName = meet.MaxName
	MaxWord = meet.MaxWord
)

// MaxNote is the greatest length of a note in bytes; a longer one is cut.
const MaxNote = 1024

// Config says which guests are let in.
type Config struct {
	// Key, if not empty, is a secret of tcp.MinKey to tcp.MaxKey bytes that host and guests prove
	// to each other before anything else. Encrypt asks for confidentiality, too.
	Key     []byte
	Encrypt bool
	Clock   clock.Clock // clock of pauses; nil means the system's
	// Patience, if not 0, is how long a guest looks for a host that it cannot reach; a host that
	// refuses connections then counts as gone. If it is 0, the host may come later than the guest,
	// which looks for it until the context ends.
	Patience time.Duration
	// News, if not nil, is called by a waiting guest with the reason each time that an attempt to
	// enter fails, and with nil when the host has let it in: it then waits for other guests, or for
	// its turn. The goroutine inside Enter calls it.
	News func(why error)
}

func (c *Config) admission() *meet.Admission {
	return &meet.Admission{Key: c.Key, Encrypt: c.Encrypt, Clock: c.Clock, Patience: c.Patience, News: c.News}
}

// Guest is what a process says about itself.
type Guest = meet.Guest

// Place is the rank, size and job that a guest gets.
type Place = meet.Place

// Seat is a guest's place, with the connection by which the host knows that the guest is alive.
type Seat = meet.Seat

// Refusal is the error of a host that gives no place.
type Refusal = meet.Refusal

// GoneError is the reason why a party's meeting has ended: a guest has gone before all had met.
type GoneError = meet.GoneError

// Count is how many guests a host waits for. Any goroutine may change it while the host waits: Less
// lowers it by one guest that will not come, Stop makes the guests that have come enough.
type Count = meet.Count

// NewCount returns a count of n guests. With 0, the guests that have come are enough.
func NewCount(n int) *Count { return meet.NewCount(n) }

// ErrNobody is wrapped by the error of Host when it waits for no more guests and none has come.
var ErrNobody = meet.ErrNobody

// errNoContext is the error of a call whose context is nil, and the cause of a Meeting under one.
var errNoContext = errors.New("lobby: the context is nil")

// Lobby is where guests wait.
type Lobby struct{ in *meet.Lobby }

// Open returns a lobby at l, which stays open when the lobby is closed. Guests come in while Host
// waits there, and by Welcome. A process that does not prove the key is turned away.
func Open(l *net.TCPListener, c Config) (*Lobby, error) {
	in, err := meet.OpenLobby(l, *c.admission())
	if err != nil {
		return nil, fmt.Errorf("lobby: %w", err)
	}
	return &Lobby{in}, nil
}

// Welcome takes in a connection that has arrived at the listener of ranks; see tcp.Config.Guests.
func (l *Lobby) Welcome(conn net.Conn) { l.in.Welcome(conn) }

// Close tells the waiting guests why they get no place, and returns them in the order of arrival.
// No call of Host or Welcome may be running.
func (l *Lobby) Close(why string) (waiting []Guest) { return l.in.Close(why) }

// Here returns the waiting guests in the order of arrival. refused is the reason of the last
// refused connection, or nil if none was refused. Here may be called at any time.
func (l *Lobby) Here() (all []Guest, refused error) { return l.in.Here() }

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

// Party is the guests that got places together.
type Party struct {
	// Place is the host's place, rank 0. The job's name is random.
	Place
	// Guests are in the order of their ranks 1, 2, ….
	Guests []Guest

	in *meet.Party
}

// Meeting returns a context that ends with ctx, or when one of the guests goes before it has met
// the others; its cause is then a *GoneError. Call stop when the host has met them, or will not.
func (p *Party) Meeting(ctx context.Context) (meeting context.Context, stop func()) {
	if ctx == nil {
		ended, end := context.WithCancelCause(context.Background())
		end(errNoContext)
		return ended, func() {}
	}
	return p.in.Meeting(ctx)
}

// Reception says how many guests a host waits for, and which of them get a place.
type Reception struct {
	// Want is how many guests the host waits for. A guest that hangs up makes room for another.
	Want *Count
	// Probe, if not nil, makes the host measure the waiting guests before it chooses. It returns
	// how many bytes to send to each of so many guests; the result is in Guest.Rate. The host sends
	// at most 64 KiB to one guest after the other, and then up to 128 KiB at a time to those that
	// seem slow, which it measures while it goes on. It starts no measurement after 2 s, and gives
	// up on a guest that is silent for 1 s.
	Probe func(guests int) (bytes int)
	// Choose selects the guests that get places, in the order of their ranks; it must select at
	// least one.
	Choose Choice
	// Came, if not nil, is called with the number of waiting guests when it changes.
	Came func(guests int)
}

// Host waits until as many guests have come as are wanted, and gives places to the chosen ones. If
// ctx ends before, the error says how many have come.
func (l *Lobby) Host(ctx context.Context, r Reception) (*Party, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	p := &Party{Place: Place{Job: rand.Text()}}
	var err error
	p.in, p.Note, err = l.in.Host(ctx, p.Job, &meet.Reception{Want: r.Want, Probe: r.Probe, Came: r.Came, Choose: func(all []Guest) ([]int, string) {
		chosen, note := r.Choose(all)
		return chosen, note[:min(len(note), MaxNote)]
	}})
	if err != nil {
		return nil, fmt.Errorf("lobby: %w", err)
	}
	p.Guests, p.Size = p.in.Guests, len(p.in.Guests)+1
	return p, nil
}

// Enter enters the lobby at "host:port" as g, and returns the guest's place. It waits for the host
// and for the place, until ctx ends. The caller then joins the other ranks, calls Met if it has
// joined, and always calls Leave.
func Enter(ctx context.Context, addr string, g Guest, c Config) (*Seat, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	s, err := c.admission().Enter(ctx, addr, g)
	if err != nil {
		return nil, fmt.Errorf("lobby: %w", err)
	}
	return s, nil
}
