// Package lobby gives ranks to processes that come without one. A host waits where the ranks
// are to meet; when as many guests are there as it expects, each is told its rank, how many ranks there are and
// the name of the job. All then join by package tcp or one of those on it, at the same address.
package lobby

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/rendezvous"
)

// MaxName is the longest name of a guest, and the longest word, in bytes.
const MaxName = rendezvous.MaxName

// MaxNote is the longest note, in bytes; a longer one is cut.
const MaxNote = 1024

// Config says who is let in.
type Config struct {
	// Key, if not empty, is a secret of tcp.MinKey to tcp.MaxKey bytes that host and guests prove to each other
	// before they say anything else. Encrypt asks for confidentiality, too.
	Key     []byte
	Encrypt bool
	Clock   clock.Clock // of pauses; nil means the system's
}

// Guest is what a process says of itself.
type Guest = rendezvous.Guest

// Place is what a guest is given.
type Place = rendezvous.Place

// Count is for how many guests a host waits. Any goroutine may change it while the host waits: Less is for
// one that will not come, Stop for when those that have come are enough.
type Count = rendezvous.Count

// NewCount returns a count of n guests, 1 to ir.MaxRanks - 1.
func NewCount(n int) (*Count, error) {
	if n < 1 || n >= ir.MaxRanks {
		return nil, fmt.Errorf("lobby: %d guests, want 1 to %d", n, ir.MaxRanks-1)
	}
	return rendezvous.NewCount(n), nil
}

// ErrNobody is what Host's error wraps when nobody is waited for any more, and nobody has come.
var ErrNobody = rendezvous.ErrNobody

// Host waits at l until there are as many guests as want says, and tells each its place and what note makes of them. It returns them, in
// the order of their ranks, which are 1, 2, …, and the host's own place, rank 0. The job's name is drawn. If ctx ends before
// that the guests are told, and the error says how many have come. came, if not nil, is called when that changes. Whoever does
// not prove the key is turned away. The listener stays open.
func Host(ctx context.Context, l *net.TCPListener, want *Count, c Config, note func([]Guest) string, came func(guests int)) (*Place, []Guest, error) {
	door := rendezvous.Lobby{Key: c.Key, Encrypt: c.Encrypt, Clock: c.Clock}
	p := &Place{Job: rand.Text()}
	here, err := door.Host(ctx, l, want, p.Job, func(all []Guest) string {
		p.Note = note(all)
		p.Note = p.Note[:min(len(p.Note), MaxNote)]
		return p.Note
	}, came)
	if err != nil {
		return nil, here, fmt.Errorf("lobby: %w", err)
	}
	p.Size = len(here) + 1
	return p, here, nil
}

// Enter comes to the host at "host:port", as g, and returns the place that it is given. It waits until all have come,
// or ctx ends; the host may come later.
func Enter(ctx context.Context, addr string, g Guest, c Config) (*Place, error) {
	door := rendezvous.Lobby{Key: c.Key, Encrypt: c.Encrypt, Clock: c.Clock}
	p, err := door.Enter(ctx, addr, g)
	if err != nil {
		return nil, fmt.Errorf("lobby: %w", err)
	}
	return p, nil
}
