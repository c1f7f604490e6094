package wire

import "errors"

// ErrNoGroups is when nothing that a transport multicasts goes over a network: there is nothing to be had from
// groups.
var ErrNoGroups = errors.New("nothing is multicast over a network")

// GroupName is the random name of a multicast group. The zero value names none.
type GroupName [16]byte

// Groups is a transport that multicasts to groups of some of its ranks, too: each communicator
// can have one of its own, so that its multicasts reach none but its members (paper 000, section
// 3.1). Its methods, and those of [Group], are called under the same rules as Put, but not from
// within Poll. None of them blocks.
type Groups interface {
	// DrawGroup draws the name of a group, which nobody else has. It fails where this rank can
	// join no further group, with ErrNoGroups if no rank ever can.
	DrawGroup() (GroupName, error)
	// JoinGroup begins to join the group of members, which are ranks of the transport, at least
	// two, and this rank one of them. All members join with the same list, and a member that cannot leaves the
	// group no sooner than the others know that: they may wait for a call of it. It fails if the transport is closed.
	JoinGroup(name GroupName, members []int) (Group, error)
}

// Group is a multicast group that this rank has joined, or joins. A rank that is done with it leaves
// it; Close of the transport leaves all.
type Group interface {
	// Ready reports whether what members multicast to the group comes to this rank, as far as the
	// transport can tell. Poll goes on with it. An error says why nothing comes, or will come.
	Ready() (bool, error)
	// Use has this rank multicast to the group what it multicasts in communicator comm, until
	// it leaves the group. All members are ready.
	Use(comm uint8)
	// Leave leaves the group. Multicasts that are queued still go there.
	Leave()
	// String says where the group is, as the transport's users know it: an address.
	String() string
}
