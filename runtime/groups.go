package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Each communicator made by Split or Dup multicasts to a group of its own (paper 000, section 3.1). Every
// rank draws a name and tells it with its color, and that of the communicator's first rank counts. The
// members join before they offer their numbers, and their offers say whether they have. So who has seen all
// offers knows that all members hear the group, or that one does not, in which case all leave it again
// and share the transport's. Nothing is sent for it beside what Split sends anyway.
//
// A communicator that Shrink makes keeps the group of the one before: whoever else was in it has gone.

// casting is where a communicator multicasts.
type casting struct {
	group  wire.Group // its own; nil: the transport's
	apart  bool       // nobody but its ranks, and those that have gone, is in that group
	shared string     // why it has none of its own; "": it has, or there is nothing to be had from one
}

// joining is a group that this rank joins for a communicator that is being made.
type joining struct {
	name  wire.GroupName // what this rank has drawn; zero: it can join none
	group wire.Group     // nil: there is none, or it is left
	why   error          // why this rank is not in it; nil: it is, or there is nothing to be had from one
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

// join joins the group of ranks of c, if all of them have drawn a name, and returns when it is ready or cannot be. If
// ctx ends meanwhile, or c fails, the exchange that follows says so. A group in which this rank is not is left
// no sooner than the others know that: it may have to call there.
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

// agreed returns where the communicator multicasts, after this rank has seen that all members are in the group, or
// that one is not.
func (j *joining) agreed(out outcome) casting {
	if out.absent < 0 {
		return casting{group: j.group, apart: true}
	}
	j.leave()
	switch {
	case j.why != nil:
		return casting{shared: j.why.Error()}
	case j.name == wire.GroupName{}:
		return casting{} // the transport has none, or the rank is alone
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
