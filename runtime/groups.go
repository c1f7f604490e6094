package runtime

import (
	"context"
	"errors"
	"fmt"

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
	group wire.Group // nil: it is in none
	why   error      // for what reason; nil: there is nothing to be had from one
}

// errUnnamed is why members have no group if the first of them has drawn none.
var errUnnamed = errors.New("its first rank can join no multicast group")

// drawGroup draws the name of a group, the zero one if that cannot be.
func (d *driver) drawGroup() wire.GroupName {
	if d.groups == nil {
		return wire.GroupName{}
	}
	name, err := d.groups.DrawGroup()
	if err != nil {
		return wire.GroupName{}
	}
	return name
}

// joinGroup joins the group of ranks, and returns when it is ready or cannot be. If ctx ends meanwhile, or
// c fails, the exchange that follows says so.
func (c *Comm) joinGroup(ctx context.Context, ranks []int, names []wire.GroupName) (own joining) {
	d := c.drv
	if d.groups == nil || !c.caps.Multicast || len(ranks) < 2 {
		return own
	}
	name := names[ranks[0]]
	if name == (wire.GroupName{}) {
		own.why = errUnnamed
		if ranks[0] == c.rank {
			_, own.why = d.groups.DrawGroup()
		}
		return own
	}
	endpoints := make([]int, len(ranks))
	for i, rank := range ranks {
		endpoints[i] = c.endpointOf(rank)
	}
	g, err := d.groups.JoinGroup(name, endpoints)
	if err != nil {
		own.why = err
		return own
	}
	w := &groupWait{group: g}
	if err := c.await(ctx, w); err != nil || w.why != nil {
		g.Leave()
		own.why = errors.Join(err, w.why)
		return own
	}
	own.group = g
	return own
}

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

// agreed returns where the communicator multicasts, after rank has seen that all its members have joined the
// group, or that one has not.
func (j *joining) agreed(out outcome, rank int) casting {
	switch {
	case out.absent < 0:
		return casting{group: j.group, apart: true}
	case j.group == nil && j.why == nil:
		return casting{} // the transport has none, or the rank is alone
	}
	j.leave()
	if out.absent == rank {
		return casting{shared: j.why.Error()}
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
