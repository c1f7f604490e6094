package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet/launch"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Init makes the communicator of all processes that a launcher has started with this one: mpirun of
// Open MPI, MPICH or MVAPICH, srun, flux run, PALS, torchrun, an indexed job of Kubernetes, or a
// person who sets SCHEDGEN_RANK, SCHEDGEN_SIZE and SCHEDGEN_COORDINATOR. A process started by hand,
// without any of them, is rank 0 of 1. Init is Join with the zero Config.
//
// Init returns when all ranks have called it, when ctx ends, or after DefaultJoinTimeout;
// SCHEDGEN_JOIN_TIMEOUT sets another limit, such as 90s, or none. After two seconds Init writes to
// the standard error what it waits for; with Join, Observe.Log in Config takes these warnings
// instead.
//
// Package launch documents the variables, the choice of the transport (SCHEDGEN_TRANSPORT) and the
// place where ranks meet. SCHEDGEN_RULES names a file of rules that choose algorithms (package
// selection), SCHEDGEN_LEARN one for what is learned about them (Config.Learn), and SCHEDGEN_NETWORK
// one with the network of the hosts (Config.Network); they must be the same at all ranks. An error
// about the environment names the variables.
func Init(ctx context.Context) (*Comm, error) {
	return Join(ctx, Config{})
}

// readNetwork reads a file with a network.
func readNetwork(name string) (*network.Network, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only: nothing to lose
	n, err := network.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

// prefer gives cfg the rules and the network that the environment names, and the rules of the
// network.
func (cfg *Config) prefer(ctx context.Context) (err error) {
	if name := os.Getenv("SCHEDGEN_RULES"); name != "" && cfg.Rules == nil && cfg.Transport == nil {
		if cfg.Rules, err = readRules(name); err != nil {
			return fmt.Errorf("SCHEDGEN_RULES: %s: %w", name, err)
		}
	}
	if cfg.Transport == nil && cfg.Learn == "" {
		cfg.Learn = os.Getenv("SCHEDGEN_LEARN")
	}
	if name := os.Getenv("SCHEDGEN_NETWORK"); name != "" && cfg.Network == nil && cfg.Transport == nil {
		if cfg.Network, err = readNetwork(name); err != nil {
			return fmt.Errorf("SCHEDGEN_NETWORK: %w", err)
		}
	}
	if cfg.Network == nil {
		return nil
	}
	if selection.ForNetwork == nil {
		return fmt.Errorf("%w: Config.Network: this program does not make schedules for networks: it must import github.com/schedgen/schedgen/synth", ErrInput)
	}
	cfg.elsewhere = cfg.Rules
	if cfg.Rules, err = selection.ForNetwork(ctx, cfg.Network, cfg.Rules); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: Config.Network: %w", ErrInput, err)
	}
	return err
}

// connect gives cfg the transport that the environment names. If this rank cannot take part because
// of fault, connect only tells the others, and returns fault.
func (cfg *Config) connect(ctx context.Context, fault error) (err error) {
	limit, err := cfg.joinTimeout(os.Getenv)
	if fault = cmp.Or(fault, err); fault != nil {
		launch.Tell(ctx, os.Getenv, cfg.Clock, fault)
		return fault
	}
	if limit > 0 {
		late := fmt.Errorf("the ranks have not met within %v, which SCHEDGEN_JOIN_TIMEOUT or Config.JoinTimeout sets: %w", limit, context.DeadlineExceeded)
		var stop context.CancelFunc
		ctx, stop = clock.WithTimeoutCause(ctx, clock.OrSystem(cfg.Clock), limit, late)
		defer stop()
	}
	log := cfg.Observe.Log
	if log == nil {
		log = slog.New(plain{os.Stderr})
	}
	cfg.Transport, err = launch.Connect(ctx, os.Getenv, cfg.Clock, log) // its errors name the variables at fault
	return err
}

// DefaultJoinTimeout is how long ranks that a launcher has started may take to meet by default.
// Names of Kubernetes become known up to half a minute late, and pods and nodes may start minutes
// apart. torch's store waits as long.
const DefaultJoinTimeout = 5 * time.Minute

// joinTimeout returns how long ranks may take to meet; a result of 0 or less means no limit.
func (cfg *Config) joinTimeout(getenv func(string) string) (time.Duration, error) {
	const name = "SCHEDGEN_JOIN_TIMEOUT"
	switch v := getenv(name); {
	case cfg.JoinTimeout != 0:
		return cfg.JoinTimeout, nil
	case v == "":
		return DefaultJoinTimeout, nil
	case v == "0" || v == "none":
		return 0, nil
	default:
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 {
			return 0, fmt.Errorf("%s is %q, want a time such as 90s, or none", name, v)
		}
		return d, nil
	}
}

// plain is a log handler that writes only the messages of warnings, for people.
type plain struct{ w io.Writer }

func (plain) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (p plain) Handle(_ context.Context, r slog.Record) error {
	_, err := fmt.Fprintf(p.w, "schedgen: %s\n", r.Message)
	return err
}

func (p plain) WithAttrs([]slog.Attr) slog.Handler { return p }

func (p plain) WithGroup(string) slog.Handler { return p }

// readRules reads a file of rules.
func readRules(name string) (rules *selection.Rules, err error) {
	f, err := os.Open(name)
	var cause *os.PathError
	if errors.As(err, &cause) {
		return nil, cause.Err
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, selection.MaxFile+1))
	if err != nil {
		return nil, err
	}
	return selection.Parse(data)
}
