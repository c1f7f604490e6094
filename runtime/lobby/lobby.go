// Package lobby gives ranks to processes that come without one. Guests wait where the ranks
// are to meet; when there are as many as the host expects it gives places to a party of them: each is told its rank, how many ranks there are and
// the name of the job. All of the party then join by package tcp or one of those on it, at the same address. Others may go on
// waiting, and more may come, for a later party.
//
// Until they have joined the host knows of each guest of a party whether it lives.
package lobby

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/rendezvous"
)

// MaxName is the longest name of a guest, and MaxWord its longest word, in bytes.
const (
	MaxName = rendezvous.MaxName
	MaxWord = rendezvous.MaxWord
)

// MaxNote is the longest note, in bytes; a longer one is cut.
const MaxNote = 1024

// Config says who is let in.
type Config struct {
	// Key, if not empty, is a secret of tcp.MinKey to tcp.MaxKey bytes that host and guests prove to each other
	// before they say anything else. Encrypt asks for confidentiality, too.
	Key     []byte
	Encrypt bool
	Clock   clock.Clock // of pauses; nil means the system's
	// Patience, if not 0, is how long a guest looks for a host that it cannot reach; one that refuses connections is gone then. Otherwise
	// the host may come later than the guest, and is looked for until the context ends.
	Patience time.Duration
	// News, if not nil, is told by a guest that waits for a place why it has not been let in so far, each
	// time that an attempt fails, and nil when the host has let it in: then it waits for others, or for
	// its turn. It is called by the goroutine that is inside Enter.
	News func(why error)
}

func (c *Config) admission() *rendezvous.Admission {
	return &rendezvous.Admission{Key: c.Key, Encrypt: c.Encrypt, Clock: c.Clock, Patience: c.Patience, News: c.News}
}

// Guest is what a process says of itself.
type Guest = rendezvous.Guest

// Place is what a guest is given.
type Place = rendezvous.Place

// Seat is a guest's place, and the connection by which the host knows that it lives.
type Seat = rendezvous.Seat

// Refusal is an error: what a host says that gives no place.
type Refusal = rendezvous.Refusal

// GoneError is the cause why a party's meeting has ended: a guest has gone before all had met.
type GoneError = rendezvous.GoneError

// Count is for how many guests a host waits. Any goroutine may change it while the host waits: Less is for
// one that will not come, Stop for when those that have come are enough.
type Count = rendezvous.Count

// NewCount returns a count of n guests. If it is 0 those that have come are enough.
func NewCount(n int) *Count { return rendezvous.NewCount(n) }

// ErrNobody is what Host's error wraps when nobody is waited for any more, and nobody has come.
var ErrNobody = rendezvous.ErrNobody

// errNoContext is the error of a call whose context is nil, and the cause of a Meeting under one.
var errNoContext = errors.New("lobby: the context is nil")

// Lobby is where guests wait.
type Lobby struct{ in *rendezvous.Lobby }

// Open returns a lobby at l, which stays open when the lobby is closed. Guests come in while Host waits there, and by Welcome.
// Whoever does not prove the key is turned away.
func Open(l *net.TCPListener, c Config) (*Lobby, error) {
	in, err := rendezvous.OpenLobby(l, *c.admission())
	if err != nil {
		return nil, fmt.Errorf("lobby: %w", err)
	}
	return &Lobby{in}, nil
}

// Welcome takes in a connection that has come where ranks accept them; see tcp.Config.Guests.
func (l *Lobby) Welcome(conn net.Conn) { l.in.Welcome(conn) }

// Close tells the waiting guests why they get no place, and returns them in the order of arrival. No
// call of Host or Welcome may be running.
func (l *Lobby) Close(why string) (waiting []Guest) { return l.in.Close(why) }

// Here returns the waiting guests in the order of arrival. refused says why the newest of the refused
// connections was refused; it is nil if none was. Here may be called at any time.
func (l *Lobby) Here() (all []Guest, refused error) { return l.in.Here() }

// Choice says who of those that wait get places, and what they are told.
type Choice func(all []Guest) (chosen []int, note string)

// All chooses all that wait.
func All(note func(all []Guest) string) Choice {
	return func(all []Guest) ([]int, string) {
		chosen := make([]int, len(all))
		for i := range chosen {
			chosen[i] = i
		}
		return chosen, note(all)
	}
}

// Party is the guests that were given places together.
type Party struct {
	// Place is the host's, rank 0. The job's name is drawn.
	Place
	// Guests are in the order of their ranks, which are 1, 2, ….
	Guests []Guest

	in *rendezvous.Party
}

// Meeting returns a context that ends as ctx does, and when one of the guests goes before it has met the others; its
// cause is a *GoneError then. stop is called when the host has met them, or will not.
func (p *Party) Meeting(ctx context.Context) (meeting context.Context, stop func()) {
	if ctx == nil {
		ended, end := context.WithCancelCause(context.Background())
		end(errNoContext)
		return ended, func() {}
	}
	return p.in.Meeting(ctx)
}

// Reception says for whom a host waits, and who of them gets a place.
type Reception struct {
	// Want is how many are waited for. One that hangs up makes room for another.
	Want *Count
	// Probe, if not nil, has those that wait measured before it is chosen: it says by how many bytes each is, where so many are. The result
	// is their Rate. At most 64 KiB are sent, to one after the other, and 128 KiB at a time to those that seem slow; who takes long is waited for beside others. After 2 s no other one is measured; one that says nothing is given up after 1 s.
	Probe func(guests int) (bytes int)
	// Choose says who gets places, in their order; at least one does.
	Choose Choice
	// Came, if not nil, is called when the number of those that wait changes.
	Came func(guests int)
}

// Host waits until there are as many guests as are wanted, and gives places to those of them that are chosen. If ctx ends
// before, the error says how many have come.
func (l *Lobby) Host(ctx context.Context, r Reception) (*Party, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	p := &Party{Place: Place{Job: rand.Text()}}
	var err error
	p.in, p.Note, err = l.in.Host(ctx, p.Job, &rendezvous.Reception{Want: r.Want, Probe: r.Probe, Came: r.Came, Choose: func(all []Guest) ([]int, string) {
		chosen, note := r.Choose(all)
		return chosen, note[:min(len(note), MaxNote)]
	}})
	if err != nil {
		return nil, fmt.Errorf("lobby: %w", err)
	}
	p.Guests, p.Size = p.in.Guests, len(p.in.Guests)+1
	return p, nil
}

// Enter comes to the lobby at "host:port", as g, and returns the place that it is given. It waits for that, also for the host to
// come, or until ctx ends. The caller joins the others, calls Met if it has, and in any case Leave.
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
