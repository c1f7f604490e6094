package group

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Config says how a process joins a group. Name, Comm, Grace and Patience must be the same at all
// members.
type Config struct {
	// Name is the group's name, at most MaxName bytes.
	Name string
	// Label is a name of this member, for people.
	Label string

	// Manager hands out the views. The Group owns it from Join on, and closes it.
	Manager membership.Manager

	// Address is the "host:port" where the members meet when this member is the first; its port may
	// be 0. The others must be able to reach it.
	Address string
	// Advertise is the address that others get instead of the address that results from Address.
	Advertise string
	// Connect makes the transport of a view.
	Connect func(ctx context.Context, m Meeting) (wire.Transport, error)
	// Comm configures the communicators of views. The Group sets Transport, Epoch and Clock.
	//
	// Comm.Quorum also says whether a view may follow another one. The ranks that it gets are those
	// of the members of the last view that are in the next one, too, or have left in good order, and
	// of is the number of members of the last view. If it returns false, the group fails at this
	// member with runtime.ErrQuorum. So a group counts from view to view: with runtime.Majority, 5
	// members may become 3, and these 2. A process that comes again is another member, so no first
	// view could count for ever.
	Comm runtime.Config

	// Changed, if not nil, is called with each view that has begun at this member, in order, before
	// a message of that view can be received. It must return soon, and must not call the Group.
	Changed func(Change)

	// Grace is how long to wait for the last messages of a member that is not in the newest view
	// and has not been found dead; default 5 s.
	Grace time.Duration
	// Patience is how long the members of a view may take to meet before the group fails at this
	// member; default 2 minutes. A living member that cannot be reached delays all others for that
	// long.
	Patience time.Duration
	// Clock is the source of time; nil means the system's clock.
	Clock clock.Clock
}

// MaxName is the greatest length of a group's name in bytes: a job's name also contains the epoch.
const MaxName = 64

// Meeting is the data that a member needs to meet the other members of a view. Its fields are as in
// tcp.Config.
type Meeting struct {
	View        membership.View
	Rank, Size  int          // of this member in the view
	Job         string       // of this view only
	Coordinator string       // the address of rank 0
	Listener    net.Listener // rank 0's listener at Coordinator; Connect must close it
}

// fill checks cfg and puts the defaults in.
func (cfg *Config) fill() error {
	switch {
	case len(cfg.Name) > MaxName:
		return fmt.Errorf("Config.Name has %d bytes, at most %d are allowed", len(cfg.Name), MaxName)
	case cfg.Manager == nil:
		return errors.New("Config.Manager is missing")
	case cfg.Connect == nil:
		return errors.New("Config.Connect is missing")
	case cfg.Grace < 0 || cfg.Patience < 0:
		return fmt.Errorf("Config.Grace %v or Config.Patience %v is negative", cfg.Grace, cfg.Patience)
	case cfg.Comm.Transport != nil:
		return errors.New("Config.Comm.Transport is given: each view has its own, by Config.Connect")
	}
	cfg.Grace = cmp.Or(cfg.Grace, 5*time.Second)
	cfg.Patience = cmp.Or(cfg.Patience, 2*time.Minute)
	cfg.Comm.PublishWindow = cmp.Or(cfg.Comm.PublishWindow, 64) // as package runtime does
	cfg.Comm.PublishBytes = cmp.Or(cfg.Comm.PublishBytes, 256<<10)
	cfg.Comm.MaxMessage = cmp.Or(cfg.Comm.MaxMessage, 1<<20)
	cfg.Clock = clock.OrSystem(cfg.Clock)
	cfg.Comm.Clock = cfg.Clock
	cfg.Comm.Algorithms = maps.Clone(cfg.Comm.Algorithms) // later views need it, and the caller may change its map
	return cfg.checkBounds()
}

func (cfg *Config) checkBounds() error {
	c := &cfg.Comm
	if c.PublishWindow < 0 || c.PublishBytes < 0 || c.MaxMessage < 0 || c.MaxMessage > wire.MaxBody-overhead {
		return fmt.Errorf("Config.Comm: PublishWindow %d, PublishBytes %d or MaxMessage %d is out of range", c.PublishWindow, c.PublishBytes, c.MaxMessage)
	}
	return nil
}
