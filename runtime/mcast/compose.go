package mcast

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/tcp"
)

// Watch lets a transport that is built on this one share its poller; see
// [tcp.Transport.Watch].
func (t *Transport) Watch(fd int, ready func(read, write bool)) *tcp.Watched {
	return t.puts.Watch(fd, ready)
}

// publish puts the card before what the caller publishes, and has the caller
// prepare itself after this transport.
func (t *Transport) publish(cfg tcp.Config, own *card) tcp.Config {
	theirs := cfg.Prepare
	cfg.Blob = append(own.encode(), cfg.Blob...)
	cfg.Prepare = func(m tcp.Members) error {
		cards, rest := make([][]byte, len(m.Blobs)), make([][]byte, len(m.Blobs))
		for rank, b := range m.Blobs {
			if len(b) < cardLen {
				return fmt.Errorf("rank %d: it does not multicast (%d bytes)", rank, len(b))
			}
			cards[rank], rest[rank] = b[:cardLen], b[cardLen:]
		}
		err := t.prepare(tcp.Members{ID: m.ID, Blobs: cards})
		if err == nil && theirs != nil {
			err = theirs(tcp.Members{ID: m.ID, Blobs: rest})
		}
		return err
	}
	return cfg
}
