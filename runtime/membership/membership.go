// Package membership says who is in a group whose processes come and go.
//
// A manager hands out the versions of the membership, the views (paper 002,
// section 3.3): a number, the epoch, that only grows, and the members in the order of
// their ranks. The oldest member is the first. Whoever sees a view of an epoch sees the same
// members; views may be skipped, never turned back.
//
// Three managers implement one interface: package embedded, in which the first member
// is the manager and the next one takes over when it dies; package etcd, for clusters
// that have one; package file, on a disk that the members share. What a program
// does with the views is package group's.
package membership

import (
	"context"
	"errors"
)

// The conditions that errors of managers wrap.
var (
	// ErrLost: the manager cannot be reached for so long that it may have given this
	// member up, or cannot be replaced.
	ErrLost = errors.New("membership manager lost")
	// ErrExpelled: this process is a member no more: it has left, or the others
	// take it for dead.
	ErrExpelled = errors.New("not a member of the group any more")
	// ErrFull: the group has MaxMembers.
	ErrFull = errors.New("group is full")
	// ErrClosed: Close has been called.
	ErrClosed = errors.New("membership manager is closed")
)

// Manager is one process's access to the manager of a group, for one membership. A
// manager finds by itself that a member has died, by a lease that the implementation
// renews from Join on.
//
// Watch, Report and Leave may run at the same time. All end when their context does.
type Manager interface {
	// Join makes m a member, and returns a view in which it is one. It is
	// called once. An end of ctx may come too late: then m is a member until its
	// lease has ended.
	Join(ctx context.Context, m Member) (View, error)
	// Watch returns the newest view, once its epoch is above after: at once, if it is
	// already. A member that has become none is given one view without it, or else
	// ErrExpelled. If the manager is lost the error is ErrLost, not later than
	// the lease ends plus what a hand-over may take.
	Watch(ctx context.Context, after uint32) (View, error)
	// Report says that the members of lost do not answer. It returns when they are members no
	// more. Without any, it asks for another view of the same members, since that of
	// epoch has failed; one of a past epoch is then in vain.
	Report(ctx context.Context, epoch uint32, lost ...ID) error
	// Leave ends the membership: it returns when there is a view without this member.
	Leave(ctx context.Context) error
	// Close gives back what Join has taken. A member that has not left is dead to the others. It may be
	// called more than once.
	Close() error
}
