package stream

import (
	"cmp"
	"context"
	"fmt"

	"github.com/schedgen/schedgen/internal/meet"
)

// Below returns the configuration for a transport called name that uses connections, and is itself
// below what c describes. The transport's card stands before the Blob of c. prepare gets the cards
// of all ranks as blobs, and runs before the Prepare of c, as release runs before its Release.
func (c Config) Below(name string, card []byte, prepare func(context.Context, *Transport, *meet.Meeting) error, release func()) Config {
	theirs, free := c.Prepare, c.Release
	c.Release = func() {
		release()
		if free != nil {
			free()
		}
	}
	c.Transport = cmp.Or(c.Transport, name)
	c.Blob = append(card[:len(card):len(card)], c.Blob...)
	c.Prepare = func(ctx context.Context, puts *Transport, m *meet.Meeting) error {
		cards, rest := make([][]byte, len(m.Blobs)), make([][]byte, len(m.Blobs))
		for rank, b := range m.Blobs {
			if len(b) < len(card) {
				return fmt.Errorf("rank %d: it does not use this version of transport %s (%d bytes)", rank, name, len(b))
			}
			cards[rank], rest[rank] = b[:len(card)], b[len(card):]
		}
		err := prepare(ctx, puts, &meet.Meeting{ID: m.ID, Addrs: m.Addrs, Blobs: cards, Session: m.Session})
		if err == nil && theirs != nil {
			err = theirs(ctx, puts, &meet.Meeting{ID: m.ID, Addrs: m.Addrs, Blobs: rest, Session: m.Session})
		}
		return err
	}
	return c
}
