package wire

import "errors"

// ErrNoGroups says that a transport does not multicast over a network, so groups would save
// nothing.
var ErrNoGroups = errors.New("nothing is multicast over a network")

// GroupName is the random name of a multicast group. The zero value is no name.
type GroupName [16]byte

// Groups is a transport that can multicast to groups of some of its ranks. Each communicator can
// have a group of its own, so that only its members receive its multicasts (paper 000, section
// 3.1). The methods of Groups and [Group] follow the same locking rules as Put. They never block
// and are not called from within Poll.
type Groups interface {
	// DrawGroup draws a random name. It fails if this rank can join no further group. The error is
	// ErrNoGroups if no rank ever can.
	DrawGroup() (GroupName, error)
	// JoinGroup begins to join the group of members: ranks of the transport, at least two,
	// including this rank. All members pass the same list. A member that cannot join learns it from
	// Ready. It must not leave before the others know it too, since they may wait for it to join.
	// JoinGroup fails if the transport is closed.
	JoinGroup(name GroupName, members []int) (Group, error)
}

// Group is a multicast group that this rank has joined, or is joining. Leave ends that; Close of
// the transport leaves all groups.
type Group interface {
	// Ready reports whether this rank receives the members' multicasts to the group, as far as the
	// transport can tell. Poll makes the join progress. An error says why the rank will receive
	// nothing.
	Ready() (bool, error)
	// Use sends this rank's multicasts of communicator comm to the group, until Leave. Call it when
	// all members are ready.
	Use(comm uint8)
	// Leave leaves the group. It still sends the multicasts that this rank has queued for the
	// group.
	Leave()
	// String returns the group's address.
	String() string
}
