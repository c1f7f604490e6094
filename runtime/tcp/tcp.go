// Package tcp is the transport over TCP. A rank connects to another when it
// first puts something there, unless that has connected to it; each connection
// carries one lane of one communicator, in both directions, and stays open as
// long as that. The goroutine that is inside a call reads and writes all of them itself, without blocking:
// there is no goroutine, no copy and no allocation per frame.
package tcp

import (
	"context"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/stream"
	"github.com/schedgen/schedgen/runtime/wire"
)

// MaxJob is the longest name of a job, in bytes.
const MaxJob = stream.MaxJob

// MinKey and MaxKey are the bytes of the shortest and of the longest key.
const (
	MinKey = stream.MinKey
	MaxKey = stream.MaxKey
)

// Config says how a rank finds the others.
type Config struct {
	Rank, Size int

	// Job names the job, in at most MaxJob bytes; all its ranks have the same. Rank 0 turns
	// ranks of another one away, and goes on waiting. The name is no secret: it keeps
	// jobs apart that have been given one coordinator by mistake.
	Job string
	// Key, if not empty, is a secret of MinKey to MaxKey bytes that all ranks have: nobody
	// joins without it, and all that ranks send is authenticated (docs/security.md). It
	// should be random. ReadKey reads one from a file.
	Key []byte
	// Encrypt asks for confidentiality, too; it needs a Key.
	Encrypt bool
	// Coordinator is the "host:port" where rank 0 waits for the others
	// while the communicator is built, and only then. Its name may become known late. The
	// host may be a list of addresses with commas between them, of which not all need to lead there.
	Coordinator string
	// Doors, if it is not nil, says at which "host:port" a rank waits for the few that
	// it stands for while the communicator is built; all ranks must have the same. Then
	// no rank has more than eight to talk to; without it every rank asks rank 0 its way.
	Doors func(rank int) string
	// Listener, if this rank has one, takes the place of listening at
	// Coordinator or at its door; Join closes it.
	Listener net.Listener
	// Share has the others connect to Listener, a *net.TCPListener, afterwards too, so that this rank needs no
	// other port. Join does not close it then; nobody else accepts from it until the transport is closed.
	Share bool
	// Guests, if not nil, takes the connections that come to a lobby at a listener that is shared, after Join. It must not block.
	Guests func(net.Conn)
	// Apart says that the ranks are on several hosts. A name that stands for the
	// loopback interface is refused then, since it leads nowhere from other hosts.
	Apart bool
	// Bind is the host at which this rank accepts connections; empty means
	// the address that it reaches the coordinator from.
	Bind string

	// Rand is where rank 0 takes the communicator's identity from; nil means
	// the system's generator.
	Rand io.Reader
	// DialTimeout bounds the connecting to one peer, which is tried again until then; 0
	// means 30 seconds.
	DialTimeout time.Duration
	// Clock is where the transport reads the time; nil means the system's. What
	// the system waits for itself it always bounds by its own: how long Wait parks,
	// a connection's handshake and its first words.
	Clock clock.Clock
	// Log, if not nil, is told while ranks meet what this one waits for, and why that has not come: which
	// ranks are missing, which name is not known. It gets the first words after two seconds, as a warning,
	// and more at growing intervals.
	Log *slog.Logger
}

// Transport is one rank's end of a communicator.
type Transport struct {
	wire.Transport
	wire.Taker
	wire.Flusher
}

// Join builds the communicator: rank 0 waits at cfg.Coordinator until all
// ranks have called Join, and all are told each other's addresses. It returns
// when all are ready or when ctx ends, which fails it everywhere; all that are there
// then name the ranks that have not come. Until all have come a process that has died
// may be started again. Whoever connects and is no rank of this job
// is turned away (wire.Stats.Rejected at the rank that it has come to).
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	t, err := stream.Join(ctx, stream.Config{Options: stream.Options(cfg)})
	if err != nil {
		return nil, err
	}
	return &Transport{t, t, t}, nil
}
