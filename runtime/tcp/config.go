package tcp

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/schedgen/schedgen/ir"
)

// Config says how a rank finds the others.
type Config struct {
	Rank, Size int

	// Coordinator is the "host:port" where rank 0 waits for the others
	// while the communicator is built, and only then.
	Coordinator string
	// Listener, if rank 0 has one, takes the place of listening at
	// Coordinator; Join closes it.
	Listener net.Listener
	// Bind is the host at which this rank accepts connections; empty means
	// the address that it reaches the coordinator from.
	Bind string

	// Blob is handed to all ranks, at most MaxBlob bytes.
	Blob []byte
	// Prepare, if not nil, is called when all ranks have arrived. Join returns
	// only after every rank has prepared itself; the error of one fails all.
	Prepare func(Members) error

	// Rand is where rank 0 takes the communicator's identity from; nil means
	// the system's generator.
	Rand io.Reader
	// DialTimeout bounds the connecting to one peer; 0 means ten seconds.
	DialTimeout time.Duration
}

// Members is what all ranks know of each other.
type Members struct {
	ID    [16]byte // the communicator's identity
	Blobs [][]byte // by rank
}

// fill checks c and puts the defaults in.
func (c *Config) fill() error {
	switch {
	case c.Size < 1 || c.Size > ir.MaxRanks:
		return fmt.Errorf("size %d is not in 1 … %d", c.Size, ir.MaxRanks)
	case c.Rank < 0 || c.Rank >= c.Size:
		return fmt.Errorf("rank %d is not in 0 … %d", c.Rank, c.Size-1)
	case len(c.Blob) > MaxBlob:
		return fmt.Errorf("blob of %d bytes, at most %d are allowed", len(c.Blob), MaxBlob)
	case c.Coordinator == "" && c.Size > 1 && (c.Rank > 0 || c.Listener == nil):
		return errors.New("no coordinator address")
	case c.DialTimeout < 0:
		return fmt.Errorf("negative dial timeout %v", c.DialTimeout)
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = 10 * time.Second
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	return nil
}
