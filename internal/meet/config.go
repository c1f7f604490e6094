package meet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet/internal/contact"
	"github.com/schedgen/schedgen/internal/transport/seal"
	"github.com/schedgen/schedgen/ir"
)

// Config says how a rank meets the other ranks.
type Config struct {
	Rank, Size int // of this process: 0 ≤ Rank < Size

	// Job is the name of this rank's job, at most MaxJob bytes: ranks of other jobs are turned
	// away. It is no secret.
	Job string

	// Key, if not empty, is a secret of all ranks of the job, of seal.MinKey to seal.MaxKey bytes:
	// no process joins without proving it. Encrypt also asks for confidentiality.
	Key     []byte
	Encrypt bool

	// Coordinator is the "host:port" where rank 0 waits for the others. The host may be a
	// comma-separated list of addresses. Not all of the addresses need to lead to rank 0.
	Coordinator string
	// Listener, if not nil, replaces rank 0's listener at Coordinator. Meet closes it.
	Listener net.Listener
	// Share, if not nil, keeps Listener open: Meet returns it as this rank's listener for later
	// connections.
	Share *Share
	// Apart says that the ranks are on several hosts: a loopback address is then no valid address
	// of a rank.
	Apart bool
	// Bind is the host at which this rank accepts connections; empty means the address from which
	// it reaches the coordinator.
	Bind string

	// Transport is the name of what the ranks use when they have met, at most MaxTransport bytes: a
	// rank with another one is an error at all ranks, which names both.
	Transport string
	// Blob is sent to all ranks, at most MaxBlob bytes.
	Blob []byte
	// Prepare, if not nil, is called when all ranks have arrived. Meet returns only after every
	// rank has prepared itself; an error of one fails all, and ends the contexts of the others.
	Prepare func(context.Context, *Meeting) error

	// Fault, if not nil, says why this rank cannot take part. Meet tells it to the other ranks, whose
	// meeting fails with it, and returns it. It gives up after two seconds if nobody is there. A rank
	// that does not know the number of ranks has the Size 0.
	Fault error

	// Release, if not nil, is called before this rank connects only to tell a fault. It frees what the
	// transport has opened, since the rank may lack the descriptor for that connection.
	Release func()

	// Network is the network between the ranks; nil means TCP. Resolver finds hosts for TCP; nil
	// means the system's.
	Network  Network
	Resolver Resolver

	// Rand is the source of rank 0 for the communicator's identity; nil means the system's
	// generator.
	Rand io.Reader
	// Clock is the clock of pauses; nil means the system's. Deadlines of connections always use the
	// system's clock.
	Clock clock.Clock

	// Log, if not nil, gets what this rank waits for when it waits long; see package notice.
	Log *slog.Logger

	decode      func(r io.Reader, size int) (*Meeting, error) // reads the table; readTable except in tests of many ranks
	credentials contact.Credentials                           // of Key and Encrypt
}

// Network is a rank's way to the other ranks: the system's network, or a simulated one.
type Network = contact.Network

// Resolver finds the addresses of a host; see [net.Resolver].
type Resolver = contact.Resolver

// Meeting is what all ranks know about each other.
type Meeting struct {
	ID    [16]byte // the communicator's identity
	Addrs []string // by rank: "host:port" where it accepts connections
	Blobs [][]byte // by rank
	// Session is the ranks' shared secret: a process that did not meet them cannot know it.
	Session *seal.Session
	seed    [seal.SeedLen]byte

	// Listener is where this rank accepts later connections; nil if the rank is alone.
	Listener net.Listener

	// Early are connections for later that have arrived already, if the listener is shared. The
	// caller of Meet must close them.
	Early []Early
	// Refused is how many connections this rank has turned away: of strangers, and of ranks of
	// other jobs and versions.
	Refused uint64
}

// fill checks c and puts the defaults in.
func (c *Config) fill() (err error) {
	if c.credentials, err = contact.NewCredentials(c.Key, c.Encrypt); err != nil {
		return err
	}
	seeks := c.Size != 1 && (c.Rank > 0 || c.Listener == nil) // needs Coordinator
	unknown := c.Size == 0 && c.Fault != nil
	switch {
	case (c.Size < 1 || c.Size > ir.MaxRanks) && !unknown:
		return fmt.Errorf("size %d is not in 1 … %d", c.Size, ir.MaxRanks)
	case c.Rank < 0 || c.Rank >= c.Size && !unknown:
		return fmt.Errorf("rank %d is not in 0 … %d", c.Rank, c.Size-1)
	case len(c.Job) > MaxJob:
		return fmt.Errorf("the job's name has %d bytes, at most %d are allowed", len(c.Job), MaxJob)
	case len(c.Transport) > MaxTransport:
		return fmt.Errorf("the transport's name has %d bytes, at most %d are allowed", len(c.Transport), MaxTransport)
	case len(c.Blob) > MaxBlob:
		return fmt.Errorf("blob of %d bytes, at most %d are allowed", len(c.Blob), MaxBlob)
	case seeks && c.Coordinator == "":
		return errors.New("no coordinator address")
	case seeks && portIn(c.Coordinator) == "0":
		return fmt.Errorf("the coordinator's address %s has port 0, where no other rank can find rank 0", c.Coordinator)
	}
	if _, ok := c.Listener.(contact.Deadliner); c.Share != nil && !ok {
		return fmt.Errorf("this listener cannot stop accepting, so it cannot be shared: %T", c.Listener)
	}
	c.Clock = clock.OrSystem(c.Clock)
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	if c.Network == nil {
		c.Network = &contact.TCP{Clock: c.Clock, Resolver: c.Resolver, Apart: c.Apart, Limit: contact.DialLimit, Log: c.Log, Who: fmt.Sprintf("rank %d of %d", c.Rank, c.Size)}
	}
	if c.decode == nil {
		c.decode = readTable
	}
	return nil
}
