//go:build linux

package ranks

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/schedgen/schedgen/internal/transport"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Seat tells a rank how it reaches the others, in a line of JSON.
type Seat struct {
	Rank, Size  int
	Transport   string
	Key         []byte // of the transports that have keys; nil: none
	Host        string // of the rank, for the transport hybrid
	Address     string // of its host
	Interface   string // for multicasts; "": any
	Coordinator string // where ranks meet; rank 0 says where
	Segment     string // the file of the memory that ranks share over shm
}

// Ready is the line that a rank prints when it works.
const Ready = "ready"

// Open connects the rank with the others. Rank 0 prints where they meet, unless they share a segment.
func (s *Seat) Open(ctx context.Context, stdout io.Writer) (wire.Transport, error) {
	cfg := transport.Config{
		TCP:   tcp.Config{Rank: s.Rank, Size: s.Size, Key: s.Key, Coordinator: s.Coordinator},
		Mcast: &mcast.Config{Interface: s.Interface},
		Host:  s.Host,
	}
	switch {
	case s.Segment != "":
		f, err := os.OpenFile(s.Segment, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close() // the transport maps it
		cfg.Segment = f
	case s.Rank == 0:
		l, err := net.Listen("tcp4", net.JoinHostPort(s.Address, "0"))
		if err != nil {
			return nil, fmt.Errorf("listener of rank 0: %w", err)
		}
		cfg.TCP.Listener, cfg.TCP.Coordinator = l, l.Addr().String()
		fmt.Fprintln(stdout, l.Addr())
	}
	return transport.Open(ctx, s.Transport, cfg)
}
