package meet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
)

// Processes without a rank come to a lobby, at the address where the ranks will meet. They speak
//
//	guest  opening (auth.go), noRank u32, name, word
//	host   status, welcome u32, 0 u32
//	host   status, noRank u32, bytes u32, that many bytes; any number of times, or not at all
//	guest  heard u8, for each of them
//	host   status, rank u32, size u32, job, note
//	guest  met u8
//
// The host answers when it has as many guests as it wants; before that it may measure how fast a
// guest is (lobby_rate.go). The guest says when it has met the others, and hangs up; until then the
// connection shows the host that it lives. No rank's hello begins with noRank, so a guest that
// comes while ranks meet is turned away there, and comes again.
const (
	noRank  = math.MaxUint32
	welcome = math.MaxUint32 - 1
	met     = 'm'
	heard   = 'h'

	// MaxName is the greatest length of a guest's name in bytes, and MaxWord that of its word.
	MaxName = 256
	MaxWord = 1024
	// maxHere is how many guests may wait at once, and maxSilent how many connections may not have
	// said hello.
	maxHere   = 1 << 14
	maxSilent = 1 << 10
)

// Admission says how guests are let in, or how a guest enters.
type Admission struct {
	Key     []byte // as in Config
	Encrypt bool
	Clock   clock.Clock // nil means the system's

	Patience time.Duration // of a guest with an unreachable host; 0: until its context ends. If it is not 0, a host that refuses is gone

	// News, if not nil, is called by a waiting guest with the reason each time that an attempt to
	// enter fails, and with nil when the host has let it in.
	News func(why error)
}

// errSilent: the process at the host's address has said nothing.
var errSilent = errors.New("something accepts connections there, and has not answered as the host would")

// errOther: the process at the host's address is not a host.
var errOther = errors.New("something else answers there")

func (c *Admission) tell(why error) {
	if c.News != nil {
		c.News(why)
	}
}

// Guest is what a process says about itself in a lobby.
type Guest struct {
	Name string // at most MaxName bytes
	Word string // for the host, at most MaxWord bytes

	// Rate is the measured rate to the guest in bytes a second; 0: not measured. A guest does not
	// send it.
	Rate float64
}

// Place is the position of a guest.
type Place struct {
	Rank, Size int
	Job        string // the same for all members of a party, and for no other party
	Note       string // the host's note for all, at most 1024 bytes
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
		word, err = readBytes(r, MaxWord)
	}
	if err != nil {
		return g, fmt.Errorf("%w: %w", errStranger, err)
	}
	return Guest{Name: strings.Map(plain, string(name)), Word: strings.Map(plain, string(word))}, nil
}

func appendPlace(b []byte, p *Place) []byte {
	b = appendStatus(b, "")
	b = binary.BigEndian.AppendUint32(b, uint32(p.Rank))
	b = binary.BigEndian.AppendUint32(b, uint32(p.Size))
	return appendBytes(appendBytes(b, p.Job), p.Note)
}
