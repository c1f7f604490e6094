// Package tcp is the transport over TCP. A rank connects to another rank when it first puts a frame
// there, unless that rank has connected to it. Each connection carries one lane of one
// communicator, in both directions, and stays open as long as that communicator. The goroutine
// inside a call reads and writes all connections itself, without blocking: there is no goroutine,
// no copy and no allocation per frame.
package tcp

import (
	"context"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/transport/stream"
	"github.com/schedgen/schedgen/runtime/wire"
)

// MaxJob is the greatest length of a job's name in bytes.
const MaxJob = stream.MaxJob

// MinKey and MaxKey are the least and the greatest length of a key in bytes.
const (
	MinKey = stream.MinKey
	MaxKey = stream.MaxKey
)

// Config says how a rank finds the other ranks.
type Config struct {
	Rank, Size int // of this process: 0 ≤ Rank < Size

	// Job is the name of the job, at most MaxJob bytes and the same at all its ranks. Rank 0 turns
	// ranks of other jobs away and goes on waiting. The name is no secret: it separates jobs that
	// have got one coordinator by mistake.
	Job string
	// Key, if not empty, is a secret of MinKey to MaxKey bytes that all ranks have. No process
	// joins without it, and all frames are authenticated (docs/security.md). The key should be
	// random. ReadKey reads one from a file.
	Key []byte
	// Encrypt asks for confidentiality, too. It needs a Key.
	Encrypt bool
	// Coordinator is the "host:port" where rank 0 waits for the others while the communicator is
	// built, and only then. The host name may become known late. The host may be a comma-separated
	// list of addresses. Not all of the addresses need to lead to rank 0.
	Coordinator string
	// Listener, if not nil, replaces rank 0's listener at Coordinator. Join closes it.
	Listener net.Listener
	// Share makes the others connect to Listener, a *net.TCPListener, also after Join, so that this
	// rank needs no other port. Join then does not close Listener, and no other code may accept
	// from it until the transport is closed.
	Share bool
	// Guests, if not nil, gets the connections to a lobby that arrive at a shared Listener after
	// Join. It must not block.
	Guests func(net.Conn)
	// Apart says that the ranks are on several hosts. A coordinator name that stands for the
	// loopback interface is then refused, since it leads nowhere from other hosts.
	Apart bool
	// Bind is the host at which this rank accepts connections. Empty means the address from which
	// it reaches the coordinator.
	Bind string

	// Rand is the source of rank 0 for the communicator's identity; nil means the system's
	// generator.
	Rand io.Reader
	// DialTimeout limits the time to connect to one peer, with retries; 0 means 30 seconds.
	DialTimeout time.Duration
	// Clock is the transport's clock; nil means the system's. Waits inside the operating system
	// always use the system's clock: Wait, the handshake of a connection, and its first message.
	Clock clock.Clock
	// Log, if not nil, gets warnings while ranks meet: what this rank waits for and why it has not
	// come, such as missing ranks or unknown names. The first warning comes after two seconds, and
	// more follow at growing intervals.
	Log *slog.Logger
}

// Transport is one rank's end of a communicator.
type Transport struct {
	wire.Transport
	wire.Taker
	wire.Flusher
}

// Tell says to the other ranks that meet as cfg says that this rank cannot take part because of
// fault. Their Join, or that of another transport over TCP, fails at once; the error names this rank
// and fault. Tell replaces this rank's Join, and closes cfg.Listener in the same way. It returns when
// the others know, or after a few seconds: it gives up when it finds nobody for two seconds. Ranks
// with a key hear only a rank that has it. A rank that does not know the number of ranks has the
// Size 0.
func Tell(ctx context.Context, cfg Config, fault error) {
	stream.Tell(ctx, stream.Config{Options: stream.Options(cfg)}, fault)
}

// Join builds the communicator. Rank 0 waits at cfg.Coordinator until all ranks have called Join;
// then all ranks learn each other's addresses. Join returns when all are ready. If ctx ends first,
// Join fails at every rank, and the ranks that are there name the missing ranks. Until all have
// come, a process that has died may be started again. A connection of a process that is no rank of
// this job is turned away (wire.Stats.Rejected at the rank that it reached).
func Join(ctx context.Context, cfg Config) (*Transport, error) {
	t, err := stream.Join(ctx, stream.Config{Options: stream.Options(cfg)})
	if err != nil {
		return nil, err
	}
	return &Transport{t, t, t}, nil
}
