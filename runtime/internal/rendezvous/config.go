package rendezvous

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/seal"
)

// Config says how a rank meets the others.
type Config struct {
	Rank, Size int

	// Job names the job that this rank is of, at most MaxJob bytes: ranks of
	// another one are turned away. It is no secret.
	Job string

	// Key, if not empty, is a secret that all ranks of the job have, of seal.MinKey to
	// seal.MaxKey bytes: nobody joins who has not proved it. Encrypt asks for
	// confidentiality beyond that.
	Key     []byte
	Encrypt bool

	// Coordinator is the "host:port" where rank 0 waits for the others. The host may be a list of
	// addresses with commas between them, of which not all need to lead there.
	Coordinator string
	// Doors, if all ranks have the same and it is not nil, says at which "host:port" a
	// rank waits for those right below it in the tree (tree.go): nobody then waits for
	// more than these. That of rank 0 is Coordinator. Without Doors rank 0 is asked by
	// every rank.
	Doors func(rank int) string
	// Listener, if this rank has one, takes the place of listening at Coordinator or
	// at its door; Meet closes it.
	Listener net.Listener
	// Share, if not nil, has Listener stay open: Meet returns it as where this rank accepts connections afterwards.
	Share *Share
	// Apart says that the ranks are on several hosts: an address of the loopback
	// interface is no address of a rank.
	Apart bool
	// Bind is the host at which this rank accepts connections; empty means
	// the address that it reaches the coordinator from.
	Bind string

	// Blob is handed to all ranks, at most MaxBlob bytes.
	Blob []byte
	// Prepare, if not nil, is called when all ranks have arrived. Meet returns
	// only after every rank has prepared itself; the error of one fails all.
	Prepare func(*Meeting) error

	// Network is what the ranks meet over; nil means TCP. Resolver is what that finds
	// hosts by; nil means the system's.
	Network  Network
	Resolver Resolver

	// Rand is where rank 0 takes the communicator's identity from; nil means
	// the system's generator.
	Rand io.Reader
	// Clock is for pauses; nil means the system's. The deadlines of connections are
	// the system's in any case.
	Clock clock.Clock

	// Log, if not nil, is told what this rank waits for when it waits long; see package notice.
	Log *slog.Logger

	decode func(r io.Reader, size int) (*Meeting, error) // the table; readTable but in tests of many ranks
	mode   seal.Mode
}

// Meeting is what all ranks know of each other.
type Meeting struct {
	ID    [16]byte // the communicator's identity
	Addrs []string // by rank: "host:port" where it accepts connections
	Blobs [][]byte // by rank
	// Session is what they share: who did not meet them cannot know it.
	Session *seal.Session
	seed    [seal.SeedLen]byte

	// Early are connections for afterwards that have come already, if the listener is shared. Who is given the
	// meeting closes them.
	Early []Early
	// Refused is how many connections this rank has turned away, of strangers and of
	// ranks of other jobs and versions.
	Refused uint64
}

// fill checks c and puts the defaults in.
func (c *Config) fill() (err error) {
	if c.mode, err = seal.ModeOf(c.Key, c.Encrypt); err != nil {
		return err
	}
	switch {
	case c.Size < 1 || c.Size > ir.MaxRanks:
		return fmt.Errorf("size %d is not in 1 … %d", c.Size, ir.MaxRanks)
	case c.Rank < 0 || c.Rank >= c.Size:
		return fmt.Errorf("rank %d is not in 0 … %d", c.Rank, c.Size-1)
	case len(c.Job) > MaxJob:
		return fmt.Errorf("the job's name has %d bytes, at most %d are allowed", len(c.Job), MaxJob)
	case len(c.Blob) > MaxBlob:
		return fmt.Errorf("blob of %d bytes, at most %d are allowed", len(c.Blob), MaxBlob)
	case c.Coordinator == "" && c.Size > 1 && (c.Rank > 0 && c.Doors == nil || c.Rank == 0 && c.Listener == nil):
		return errors.New("no coordinator address")
	}
	if _, ok := c.Listener.(deadliner); c.Share != nil && !ok {
		return fmt.Errorf("a listener cannot be shared that cannot be told to stop accepting: %T", c.Listener)
	}
	c.Clock = clock.OrSystem(c.Clock)
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	if c.Network == nil {
		c.Network = &tcpNetwork{clock: c.Clock, resolver: c.Resolver, apart: c.Apart, limit: dialLimit, log: c.Log, who: fmt.Sprintf("rank %d of %d", c.Rank, c.Size)}
	}
	if c.decode == nil {
		c.decode = readTable
	}
	return nil
}
