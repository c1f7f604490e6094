// Package transport opens a transport by its name.
package transport

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Auto is the name of the default transport, which is hybrid.
const Auto = "auto"

// Config says how a rank reaches the others. A transport ignores what it has no use for.
type Config struct {
	TCP     tcp.Config    // how the ranks meet, and how they put over TCP
	Mcast   *mcast.Config // how they multicast, without its TCP; nil: hybrid does not multicast between hosts
	Verbs   verbs.Config  // the adapter, without its TCP
	Memory  bool          // for verbs: ranks of a host reach each other through its memory
	Host    string        // for hybrid: the host of this rank; "": as the system says
	Segment *os.File      // for shm: memory that all ranks have inherited; nil: the ranks meet, and all must share memory
}

// openers are the transports between processes.
var openers = []struct {
	name string
	open func(ctx context.Context, c *Config) (wire.Transport, error)
}{
	{"tcp", func(ctx context.Context, c *Config) (wire.Transport, error) { return opened(tcp.Join(ctx, c.TCP)) }},
	{"mcast", func(ctx context.Context, c *Config) (wire.Transport, error) {
		var m mcast.Config
		if c.Mcast != nil {
			m = *c.Mcast
		}
		m.TCP = c.TCP
		return opened(mcast.Join(ctx, m))
	}},
	{"shm", openShared},
	{"hybrid", func(ctx context.Context, c *Config) (wire.Transport, error) { return opened(joinHybrid(ctx, c)) }},
	{"verbs", func(ctx context.Context, c *Config) (wire.Transport, error) {
		v := c.Verbs
		if c.Memory {
			return opened(hybrid.Join(ctx, hybrid.Config{TCP: c.TCP, Verbs: &v, Host: c.Host}))
		}
		v.TCP = c.TCP
		return opened(verbs.Join(ctx, v))
	}},
}

// Names returns the names of the transports between processes, without Auto.
func Names() (names []string) {
	for _, o := range openers {
		names = append(names, o.name)
	}
	return names
}

// Open connects this rank with the others by the transport with the given name; "" means Auto.
func Open(ctx context.Context, name string, cfg Config) (wire.Transport, error) {
	if name == "" || name == Auto {
		name = "hybrid"
	}
	for _, o := range openers {
		if o.name == name {
			return o.open(ctx, &cfg)
		}
	}
	return nil, fmt.Errorf("no transport %q (one of %s)", name, words.List(append(Names(), Auto)))
}

func joinHybrid(ctx context.Context, c *Config) (*hybrid.Transport, error) {
	return hybrid.Join(ctx, hybrid.Config{TCP: c.TCP, Mcast: c.Mcast, Host: c.Host})
}

// openShared connects ranks that all share memory.
func openShared(ctx context.Context, c *Config) (wire.Transport, error) {
	if c.Segment != nil {
		return opened(shm.Join(ctx, shm.Config{Rank: c.TCP.Rank, Size: c.TCP.Size, File: c.Segment}))
	}
	t, err := joinHybrid(ctx, c)
	if err != nil || c.TCP.Size == 1 || t.Shared() {
		return opened(t, err)
	}
	err = errors.New("not all ranks share memory")
	if why := t.Reason(); why != "" {
		err = fmt.Errorf("%w: %s", err, why)
	}
	return nil, errors.Join(err, t.Close(false, 0))
}

// opened returns a nil interface with an error, not an interface that holds a nil pointer.
func opened[T wire.Transport](t T, err error) (wire.Transport, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}
