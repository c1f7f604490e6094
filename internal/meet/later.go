package meet

import (
	"context"
	"net"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

// Ranks that have met connect to each other in the same way as ranks that meet, and some of them at
// the same listener.

// Dial connects to another rank within limit. The clock is for the intervals between attempts; the
// system keeps the limit.
func Dial(ctx context.Context, c clock.Clock, addr string, limit time.Duration) (net.Conn, error) {
	t := contact.TCP{Clock: c, Resolver: net.DefaultResolver, Limit: limit}
	return t.Dial(ctx, addr)
}

// IsOpening reports whether a connection that begins with b is for ranks that meet or for a lobby.
func IsOpening(b []byte) bool { return contact.IsOpening(b) }

// Begun returns a connection that first reads read, bytes that were already read from conn.
func Begun(conn net.Conn, read []byte) net.Conn { return contact.Begun(conn, read) }
