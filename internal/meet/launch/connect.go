package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/transport"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
	"github.com/schedgen/schedgen/runtime/wire"
)

// places are the variables that name the interface or device of a transport, by its name.
var places = map[string]string{transport.Auto: multicastOn, "hybrid": multicastOn, "mcast": multicastOn, "verbs": adapter}

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

// Tell says to the ranks that a launcher has started with this one that this one cannot connect
// because of fault, so that they do not wait for it. See tcp.Tell.
func Tell(ctx context.Context, getenv func(string) string, c clock.Clock, fault error) {
	p, err := Find(getenv)
	if err != nil {
		return // it does not know the others
	}
	p.Clock = c
	p.tell(ctx, fault)
}

// tellTime limits how long a rank with a fault looks for the place where the others meet.
const tellTime = 2 * time.Second

func (p *Position) tell(ctx context.Context, fault error) {
	if p.Size == 1 {
		return
	}
	asking, stop := clock.WithTimeoutCause(ctx, clock.OrSystem(p.Clock), tellTime, context.DeadlineExceeded)
	defer stop()
	m, err := p.Meet(asking)
	if err != nil {
		return // nobody can hear it
	}
	cfg := m.Config(p)
	cfg.Key, cfg.Encrypt, _ = Key(p.getenv) // without the others' key they only count this rank as a stranger
	tcp.Tell(ctx, cfg, fault)
}

// Transport returns the name in SCHEDGEN_TRANSPORT, transport.Auto if it has none. An unknown name is
// an error.
func Transport(getenv func(string) string) (string, error) {
	name := cmp.Or(getenv("SCHEDGEN_TRANSPORT"), transport.Auto)
	if known := append(transport.Names(), transport.Auto); !slices.Contains(known, name) {
		return "", fmt.Errorf("SCHEDGEN_TRANSPORT is %q, want one of %s", name, words.List(known))
	}
	return name, nil
}

func connect(ctx context.Context, p *Position) (wire.Transport, error) {
	name, key, encrypt, err := choice(p.getenv)
	if err != nil {
		p.tell(ctx, err)
		return nil, err
	}
	m, err := p.Meet(ctx)
	if err != nil {
		return nil, err
	}
	cfg := transport.Config{TCP: m.Config(p), Verbs: verbs.Config{Device: p.getenv(adapter)}}
	cfg.TCP.Key, cfg.TCP.Encrypt = key, encrypt
	if iface := p.getenv(multicastOn); iface != "" {
		cfg.Mcast = &mcast.Config{Interface: iface}
	}
	t, err := transport.Open(ctx, name, cfg)
	return t, p.blameCoordinator(err)
}

// choice returns the transport and the key that the environment names.
func choice(getenv func(string) string) (name string, key []byte, encrypt bool, err error) {
	if name, err = Transport(getenv); err != nil {
		return "", nil, false, err
	}
	for _, v := range []string{multicastOn, adapter} {
		if where := getenv(v); where != "" && v != places[name] {
			return "", nil, false, fmt.Errorf("%s is %q, but %s, which SCHEDGEN_TRANSPORT asks for, has no use for it", v, where, name)
		}
	}
	key, encrypt, err = Key(getenv)
	return name, key, encrypt, err
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
