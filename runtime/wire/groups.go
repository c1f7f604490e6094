package wire

import "errors"

// ErrNoGroups says that a transport multicasts nothing over a network, so that groups would save nothing.
var ErrNoGroups = errors.New("nothing is multicast over a network")

// GroupName is the random name of a multicast group. The zero value names none.
type GroupName [16]byte

// Groups is a transport that can multicast to groups of some of its ranks. Each communicator can have a
// group of its own, so that nobody but its members receives its multicasts (paper 000, section 3.1). The
// methods of Groups and of [Group] are called under the same rules as Put, but not from within Poll, and none
// of them blocks.
type Groups interface {
	// DrawGroup draws a name at random. It fails if this rank can join no further group, with
	// ErrNoGroups if no rank ever can.
	DrawGroup() (GroupName, error)
	// JoinGroup begins to join the group of members, which are ranks of the transport, at least
	// two of them, this rank included. All members pass the same list. A member that cannot join learns it
	// from Ready, and must not leave before the others know it too: they may wait for its call. JoinGroup
	// fails if the transport is closed.
	JoinGroup(name GroupName, members []int) (Group, error)
}

// Group is a multicast group that this rank has joined, or is joining. The rank leaves it when it needs it no more;
// Close of the transport leaves all groups.
type Group interface {
	// Ready reports whether this rank receives what members multicast to the group, as far as the transport can
	// tell. Poll drives the join. An error says why the rank will receive nothing.
	Ready() (bool, error)
	// Use sends this rank's multicasts in communicator comm to the group, until Leave. It is called when all
	// members are ready.
	Use(comm uint8)
	// Leave leaves the group. Multicasts that this rank has queued for it are still sent.
	Leave()
	// String returns the group's address.
	String() string
}
