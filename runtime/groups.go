package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Each communicator made by Split or Dup multicasts to a group of its own (paper 000, section 3.1). Every
// rank draws a name and tells it with its color; the name of the communicator's first rank counts. The
// members join before they offer their numbers, and each offer says whether its rank has joined. A rank that has
// seen all offers therefore knows that all members receive what is multicast to the group, or that one member
// does not. In that case all members leave the group and share the transport's. Split sends no further message
// for this.
//
// A communicator made by Shrink keeps the group of its predecessor: all other ranks in it have gone.

// casting is where a communicator multicasts.
type casting struct {
	group  wire.Group // its own; nil: it uses the transport's
	apart  bool       // all other ranks in that group have gone
	shared string     // why it has none of its own; "": it has one, or the transport has none to give
}

// joining is a group that this rank joins for a communicator that is being made.
type joining struct {
	name  wire.GroupName // drawn by this rank; zero: it can join none
	group wire.Group     // nil: there is none, or the rank has left it
	why   error          // why this rank is not in it; nil: it is, or the transport has none to give
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

// join joins the group of some ranks of c, if all of them have drawn a name. It returns when this rank is in the
// group, or cannot be. If ctx ends meanwhile, or c fails, the exchange that follows reports it. A rank that cannot be
// in the group keeps it until the others know that: they may wait for its call.
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

// groupWait is what joinGroup waits for.
type groupWait struct {
	working
	group wire.Group
	why   error
}

func (w *groupWait) met(*Comm) (ok bool) {
	ok, w.why = w.group.Ready()
	return ok || w.why != nil
}

// leave leaves the group that the communicator has not come to have.
func (j *joining) leave() {
	if j.group != nil {
		j.group.Leave()
		j.group = nil
	}
}

// agreed returns where the communicator multicasts, given what all members have offered.
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

// groupName says which group is the communicator's own.
func (c *casting) groupName() string {
	if c.group == nil {
		return ""
	}
	return c.group.String()
}
