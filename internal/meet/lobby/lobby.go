// Package lobby gives ranks to processes that start without one. Guests wait where the ranks will
// meet. When as many guests have come as the host expects, the host gives places to a party of
// them: each guest learns its rank, the number of ranks and the name of the job. All members of the
// party then join by package tcp, or a package on top of it, at the same address. Other guests may
// wait, and more may come, for a later party.
//
// Until they have joined, the host knows whether each guest of a party is alive.
//
// The host calls [Open] and [Lobby.Host] (host.go), and may measure how fast its guests' networks
// are before it chooses a party (measure.go, slow.go). A guest calls [Enter] (guest.go).
package lobby

import (
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

// MaxName is the greatest length of a guest's Name in bytes, and MaxWord the greatest length of its
// Word.
const (
	MaxName = 256
	MaxWord = 1024
)

// MaxNote is the greatest length of a note in bytes; a longer one is cut.
const MaxNote = contact.MaxText

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

// Guest is what a process says about itself.
type Guest struct {
	Name string // at most MaxName bytes
	Word string // for the host, at most MaxWord bytes

	// Rate is the measured rate to the guest in bytes a second; 0: not measured. A guest does not
	// send it.
	Rate float64
}

// Place is the rank, size and job that a guest gets.
type Place struct {
	Rank, Size int
	Job        string // the same for all members of a party, and for no other party
	Note       string // the host's note for all, at most MaxNote bytes
}

// errNoContext is the error of a call whose context is nil, and the cause of a Meeting under one.
var errNoContext = errors.New("lobby: the context is nil")

// wrap says where an error comes from.
func wrap(err error) error { return fmt.Errorf("lobby: %w", err) }
