package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/membership"
)

// Config says where a member answers and where it looks for the group.
type Config struct {
	// Group is the group's name, the same at all members, at most 255 bytes. Processes of other
	// groups are turned away. It is no secret.
	Group string
	// Listen is the "host:port" where this member answers. The port may be 0 unless it is among the
	// Seeds of others.
	Listen string
	// Listener, if not nil, replaces listening at Listen. It is closed with the Manager.
	Listener net.Listener
	// Advertise is the address that others get; default: the listener's. It must be set if the
	// listener's address has no host. It must lead to this process alone: if another process
	// answers there, this member is dead.
	Advertise string
	// Seeds are addresses where members answer: "host:port" each.
	Seeds []string

	// TTL is how long a member may be silent, the same at all members; default 3 s.
	TTL time.Duration
	// Patience is how long to look for a manager, or as manager for enough members, before
	// membership.ErrLost; default four times TTL.
	Patience time.Duration
	// Clock is the source of time; nil means the system's clock.
	Clock clock.Clock
	// Log, if not nil, gets a warning that says what this member waits for, to join or to have a
	// change made: after two seconds and then at growing intervals.
	Log *slog.Logger

	dial dialer // replaces the system's
}

// dialer connects, as [net.Dialer] does.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// fill checks cfg, listens, and puts the defaults in.
func (cfg *Config) fill() error {
	if len(cfg.Group) > membership.MaxText {
		return fmt.Errorf("Config.Group has %d bytes, at most %d are allowed", len(cfg.Group), membership.MaxText)
	}
	if cfg.TTL < 0 || cfg.Patience < 0 {
		return fmt.Errorf("Config.TTL %v or Config.Patience %v is negative", cfg.TTL, cfg.Patience)
	}
	if cfg.TTL == 0 {
		cfg.TTL = 3 * time.Second
	}
	if cfg.Patience == 0 {
		cfg.Patience = 4 * cfg.TTL
	}
	cfg.Clock = clock.OrSystem(cfg.Clock)
	if cfg.dial == nil {
		cfg.dial = new(net.Dialer).DialContext
	}
	if cfg.Listener == nil {
		l, err := net.Listen("tcp", cfg.Listen)
		if err != nil {
			return fmt.Errorf("answer as a member: %w", err)
		}
		cfg.Listener = l
	}
	if cfg.Advertise == "" {
		cfg.Advertise = cfg.Listener.Addr().String()
		host, _, err := net.SplitHostPort(cfg.Advertise)
		if ip := net.ParseIP(host); err != nil || ip == nil || ip.IsUnspecified() {
			cfg.Listener.Close()
			return fmt.Errorf("Config.Advertise is empty and the listener's address %s cannot be reached by others", cfg.Advertise)
		}
	}
	return nil
}
