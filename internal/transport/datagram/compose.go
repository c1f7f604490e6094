package datagram

import (
	"context"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/transport/stream"
)

// publish returns the configuration of the connections, with the card of this rank.
func (t *Transport) publish(cfg stream.Config, own *card) stream.Config {
	cfg.Sparse = true
	return cfg.Below("mcast", own.encode(), func(_ context.Context, puts *stream.Transport, m *meet.Meeting) error {
		err := t.prepare(m, clock.OrSystem(cfg.Clock))
		if err == nil {
			err = t.watch(puts.Reactor())
		}
		return err
	}, t.release)
}
