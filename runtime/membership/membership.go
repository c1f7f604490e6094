// Package membership says which processes are in a group whose processes come and go.
//
// A manager hands out the versions of the membership, the views (paper 002, section 3.3): the
// epoch, a number that only grows, and the members in the order of their ranks. The oldest member
// is the first. All members see the same members in a view of one epoch. A member may skip views,
// but never goes back.
//
// Three managers implement one interface. In package embedded, the first member is the manager, and
// the next one takes over when it dies. Package etcd is for clusters that have an etcd. Package
// file uses a disk that the members share. Package group uses the views.
package membership

import (
	"context"
	"errors"
)

// The conditions that errors of managers wrap.
var (
	// ErrLost: the manager has been unreachable for so long that it may have given up this member,
	// or the group cannot find another manager.
	ErrLost = errors.New("membership manager lost")
	// ErrExpelled: this process is no longer a member: it has left, or the others take it for dead.
	ErrExpelled = errors.New("not a member of the group any more")
	// ErrFull: the group has MaxMembers members.
	ErrFull = errors.New("group is full")
	// ErrClosed: Close has been called.
	ErrClosed = errors.New("membership manager is closed")
)

// Manager is one process's access to the manager of a group, for one membership. A manager finds by
// itself that a member has died, by a lease that the implementation renews from Join on.
//
// Watch, Report and Leave may run at the same time. Each ends when its context does.
type Manager interface {
	// Join makes m a member, and returns a view that contains m. It is called once. If ctx ends too
	// late, m stays a member until its lease ends.
	Join(ctx context.Context, m Member) (View, error)
	// Watch returns the newest view when its epoch is greater than after, which may be at once. A
	// process that is no longer a member gets one view without it, or else ErrExpelled. If the
	// manager is lost, the error is ErrLost, at the latest when the lease ends plus the time that a
	// hand-over may take.
	Watch(ctx context.Context, after uint32) (View, error)
	// Report says that the members of lost do not answer. It returns when they are no longer
	// members. Without lost, it asks for another view of the same members, since the view of epoch
	// has failed; a report about a past epoch then has no effect.
	Report(ctx context.Context, epoch uint32, lost ...ID) error
	// Leave ends the membership. It returns when there is a view without this member.
	Leave(ctx context.Context) error
	// Close frees the resources of Join. To the others, a member that has not left is dead. Close
	// may be called more than once.
	Close() error
}
