package datagram

import (
	"cmp"
	"context"
	"fmt"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/transport/stream"
)

// publish names the transport, unless the caller has. It puts the card before the caller's blob,
// and runs the caller's Prepare after this transport's.
func (t *Transport) publish(cfg stream.Config, own *card) stream.Config {
	theirs, release := cfg.Prepare, cfg.Release
	cfg.Release = func() {
		t.release()
		if release != nil {
			release()
		}
	}
	cfg.Transport = cmp.Or(cfg.Transport, "mcast")
	cfg.Blob, cfg.Sparse = append(own.encode(), cfg.Blob...), true
	cfg.Prepare = func(ctx context.Context, puts *stream.Transport, m *meet.Meeting) error {
		cards, rest := make([][]byte, len(m.Blobs)), make([][]byte, len(m.Blobs))
		for rank, b := range m.Blobs {
			if len(b) < cardLen {
				return fmt.Errorf("rank %d: it does not use this version of transport mcast (%d bytes)", rank, len(b))
			}
			cards[rank], rest[rank] = b[:cardLen], b[cardLen:]
		}
		err := t.prepare(&meet.Meeting{ID: m.ID, Addrs: m.Addrs, Blobs: cards, Session: m.Session}, clock.OrSystem(cfg.Clock))
		if err == nil {
			err = t.watch(puts.Reactor())
		}
		if err == nil && theirs != nil {
			err = theirs(ctx, puts, &meet.Meeting{ID: m.ID, Addrs: m.Addrs, Blobs: rest, Session: m.Session})
		}
		return err
	}
	return cfg
}
