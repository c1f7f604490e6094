package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
	"github.com/schedgen/schedgen/runtime/wire"
)

// transports are the values of SCHEDGEN_TRANSPORT, and the variable, if any, that names their
// interface or device.
var transports = []struct {
	name  string
	join  func(ctx context.Context, puts tcp.Config, where string) (wire.Transport, error)
	where string
}{
	{"auto", overHybrid, multicastOn},
	{"hybrid", overHybrid, multicastOn},
	{"tcp", overTCP, ""},
	{"mcast", overMcast, multicastOn},
	{"shm", overShm, ""},
	{"verbs", overVerbs, adapter},
}

const (
	multicastOn = "SCHEDGEN_INTERFACE"
	adapter     = "SCHEDGEN_DEVICE"
)

// Connect finds the ranks that a launcher has started with this one and connects them. getenv is
// [os.Getenv]. c is the clock of the transport; nil means the system's. log, if it is not nil, gets
// what this rank waits for (see tcp.Config). A process that no launcher has started is rank 0 of 1.
// Connect returns when all ranks have come, or when ctx ends.
//
// The default transport, auto, uses shared memory among the ranks of a host and TCP between hosts,
// with multicast between hosts if SCHEDGEN_INTERFACE is set (package hybrid). shm is the same, but
// an error if a rank needs the network.
func Connect(ctx context.Context, getenv func(string) string, c clock.Clock, log *slog.Logger) (wire.Transport, error) {
	p, err := Find(getenv)
	if errors.Is(err, ErrNone) {
		p = Position{Size: 1, Local: 1, Source: "no launcher", getenv: getenv}
	} else if err != nil {
		return nil, err
	}
	p.Clock, p.Log = c, log
	t, err := connect(ctx, &p)
	if err != nil {
		return nil, fmt.Errorf("rank %d of %d: %w", p.Rank, p.Size, err)
	}
	return t, nil
}

func connect(ctx context.Context, p *Position) (wire.Transport, error) {
	name := p.getenv("SCHEDGEN_TRANSPORT")
	if name == "" {
		name = "auto"
	}
	for _, t := range transports {
		if t.name != name {
			continue
		}
		for _, v := range []string{multicastOn, adapter} {
			if where := p.getenv(v); where != "" && v != t.where {
				return nil, fmt.Errorf("%s is %q, but %s, which SCHEDGEN_TRANSPORT asks for, has no use for it", v, where, name)
			}
		}
		key, encrypt, err := Key(p.getenv)
		if err != nil {
			return nil, err
		}
		m, err := p.Meet(ctx)
		if err != nil {
			return nil, err
		}
		cfg := m.Config(p)
		cfg.Key, cfg.Encrypt = key, encrypt
		joined, err := t.join(ctx, cfg, p.getenv(t.where))
		return joined, p.blameCoordinator(err)
	}
	return nil, fmt.Errorf("SCHEDGEN_TRANSPORT is %q, want auto, hybrid, tcp, mcast, shm or verbs", name)
}

// blameCoordinator adds SCHEDGEN_COORDINATOR to the error of a rank 0 that cannot listen there.
func (p *Position) blameCoordinator(err error) error {
	at, op := p.getenv("SCHEDGEN_COORDINATOR"), new(net.OpError)
	if at == "" || p.Rank > 0 || !errors.As(err, &op) || op.Op != "listen" {
		return err
	}
	return fmt.Errorf("SCHEDGEN_COORDINATOR is %q: %w", at, err)
}

// Key returns the key that the environment names, or none, and whether the environment asks for
// encryption. getenv is [os.Getenv].
func Key(getenv func(string) string) (key []byte, encrypt bool, err error) {
	path := getenv("SCHEDGEN_KEY_FILE")
	switch v := getenv("SCHEDGEN_ENCRYPT"); v {
	case "", "0":
	case "1":
		encrypt = true
	default:
		return nil, false, fmt.Errorf("SCHEDGEN_ENCRYPT is %q, want 1, 0 or nothing", v)
	}
	if path == "" && encrypt {
		return nil, false, errors.New("SCHEDGEN_ENCRYPT is 1, but there is no SCHEDGEN_KEY_FILE")
	}
	if path != "" {
		if key, err = tcp.ReadKey(path); err != nil {
			return nil, false, fmt.Errorf("SCHEDGEN_KEY_FILE: %w", err)
		}
	}
	return key, encrypt, nil
}

func overHybrid(ctx context.Context, puts tcp.Config, iface string) (wire.Transport, error) {
	cfg := hybrid.Config{TCP: puts}
	if iface != "" {
		cfg.Mcast = &mcast.Config{Interface: iface}
	}
	return opened(hybrid.Join(ctx, cfg))
}

func overTCP(ctx context.Context, puts tcp.Config, _ string) (wire.Transport, error) {
	return opened(tcp.Join(ctx, puts))
}

func overMcast(ctx context.Context, puts tcp.Config, iface string) (wire.Transport, error) {
	return opened(mcast.Join(ctx, mcast.Config{TCP: puts, Interface: iface}))
}

func overShm(ctx context.Context, puts tcp.Config, _ string) (wire.Transport, error) {
	t, err := hybrid.Join(ctx, hybrid.Config{TCP: puts})
	if err != nil || puts.Size == 1 || t.Shared() {
		return opened(t, err)
	}
	err = errors.New("SCHEDGEN_TRANSPORT is shm, but not all ranks share memory")
	if why := t.Reason(); why != "" {
		err = fmt.Errorf("%w: %s", err, why)
	}
	return nil, errors.Join(err, t.Close(false, 0))
}

func overVerbs(ctx context.Context, puts tcp.Config, device string) (wire.Transport, error) {
	return opened(verbs.Join(ctx, verbs.Config{TCP: puts, Device: device}))
}

// opened returns a nil interface with an error, not an interface that holds a nil pointer.
func opened[T wire.Transport](t T, err error) (wire.Transport, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}
