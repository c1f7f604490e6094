package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Each communicator made by Split or Dup multicasts to a group of its own (paper 000, section 3.1).
// Every rank draws a name and sends it with its color; the name of the communicator's first rank
// counts. The members join before they offer their numbers, and each offer says whether its rank
// has joined. A rank that has seen all offers therefore knows whether all members receive
// multicasts to the group. If one member does not, all members leave the group and share the
// transport's. Split needs no further message for this.
//
// A communicator made by Shrink keeps the group of its predecessor: all other ranks in it have
// gone.

// casting is where a communicator multicasts.
type casting struct {
	group  wire.Group // the communicator's own group; nil: it uses the transport's
	apart  bool       // ranks outside the communicator do not receive its multicasts
	shared string     // why it has no group of its own; "": it has one, or the transport has no groups
}

// joining is a group that this rank joins for a new communicator.
type joining struct {
	name  wire.GroupName // the name that this rank has drawn; zero: it can join no group
	group wire.Group     // nil: there is no group, or the rank has left it
	why   error          // why this rank is not in the group; nil: it is, or the transport has no groups
}

// draw draws the name of a group.
func (d *driver) draw() (own joining) {
	if d.groups == nil {
		return own
	}
	name, err := d.groups.DrawGroup()
	switch {
	case errors.Is(err, wire.ErrNoGroups):
	case err != nil:
		own.why = err
	default:
		own.name = name
	}
	return own
}

// join joins the group of the given ranks of c, if all of them have drawn a name. It returns when
// this rank is in the group, or cannot be. If ctx ends meanwhile, or c fails, the next exchange
// reports that. A rank that cannot be in the group keeps the group open until the others know,
// since they may wait for it there.
func (j *joining) join(ctx context.Context, c *Comm, ranks []int, names []wire.GroupName) {
	d := c.drv
	unnamed := slices.IndexFunc(ranks, func(rank int) bool { return names[rank] == wire.GroupName{} })
	switch {
	case j.name == wire.GroupName{}:
		return
	case len(ranks) < 2 || !c.caps.Multicast:
		j.name = wire.GroupName{}
		return
	case unnamed >= 0:
		j.why = fmt.Errorf("rank %d of those that split can join no further multicast group", ranks[unnamed])
		return
	}
	endpoints := make([]int, len(ranks))
	for i, rank := range ranks {
		endpoints[i] = c.endpointOf(rank)
	}
	if j.group, j.why = d.groups.JoinGroup(names[ranks[0]], endpoints); j.why != nil {
		return
	}
	w := &groupWait{group: j.group}
	if err := c.await(ctx, w); err != nil || w.why != nil {
		j.why = errors.Join(err, w.why)
	}
}

// joined reports whether this rank is in the group.
func (j *joining) joined() bool { return j.group != nil && j.why == nil }

// groupWait waits until the rank is in the group.
type groupWait struct {
	working
	group wire.Group
	why   error
}

func (w *groupWait) met(*Comm) (ok bool) {
	ok, w.why = w.group.Ready()
	return ok || w.why != nil
}

// leave leaves a group that the communicator will not have.
func (j *joining) leave() {
	if j.group != nil {
		j.group.Leave()
		j.group = nil
	}
}

// agreed returns where the communicator multicasts, given the offers of all members.
func (j *joining) agreed(out outcome) casting {
	if out.absent < 0 {
		return casting{group: j.group, apart: true}
	}
	j.leave()
	switch {
	case j.why != nil:
		return casting{shared: j.why.Error()}
	case j.name == wire.GroupName{}:
		return casting{} // the transport has no groups, or the rank is alone
	}
	return casting{shared: fmt.Sprintf("rank %d of those that split is not in a multicast group of its own", out.absent)}
}

// groupName returns the address of the communicator's own group, or "".
func (c *casting) groupName() string {
	if c.group == nil {
		return ""
	}
	return c.group.String()
}
