package datagram

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/transport/reactor"
	"github.com/schedgen/schedgen/internal/transport/seal"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Communicators made by Split have groups of their own. A rank receives each group by a separate
// socket: Linux lets a socket join 20 groups at most (igmp_max_memberships), and groups have
// different ports. One socket multicasts to all groups; the other ranks know the sender by its
// address.
//
// When a host has joined a group, its switches do not know yet. The system tells them some
// milliseconds later, and until then, or for ever, they may forward nothing. So two members call
// while the others join: they multicast probes until all members are ready. A member is ready when
// it has heard a call, from another host if the members are on several.

const (
	// A caller calls at once, then after callFirst, and then after twice the last interval, up to
	// callPause.
	callFirst = 200 * time.Microsecond
	// joiningPause is the greatest wait of a rank while it joins a group.
	joiningPause = time.Millisecond
	// hearTime is how long a member waits for a call.
	hearTime = 3 * time.Second
	// pauseTime is how long a rank that has waited in vain joins no further group, since each
	// attempt would take as long again.
	pauseTime = time.Minute
)

// groups are the groups of communicators, current and future.
type groups struct {
	clock       clock.Clock
	limit       int // greatest number at a time; 0: no limit, negative: no group at all
	list        []*group
	of          [1 << 8]*group // by communicator
	slots       []*group       // by slot number: destination of queued multicasts
	joining     []*group       // groups that no communicator uses yet
	ready       []*group       // groups whose sockets have datagrams
	wakes       atomic.Bool    // len(joining) > 0, for Wait
	pausedUntil time.Time      // until then no further group is joined
}

// group is a [wire.Group].
type group struct {
	t     *Transport
	at    netip.AddrPort
	to    address
	in    inlet
	watch *reactor.Descriptor
	slot  int
	comm  int // communicator that uses it; -1: none yet

	failed error // why this rank is not in the group
	calls  bool  // this rank calls
	hears  int   // the rank whose call it waits for
	heard  bool
	since  time.Time     // start of the wait for a call
	next   time.Time     // time of the next call
	pause  time.Duration // time from that call to the following call
	left   bool
}

var (
	_ wire.Groups = (*Transport)(nil)

	errClosed    = errors.New("the transport is closed")
	errGroups    = errors.New("as many groups as mcast.Config.Groups allows are joined already")
	errFew       = errors.New("the process has few descriptors left")
	errConnected = errors.New("on this system a socket can multicast to one group only")
)

// refusal returns why this rank joins no further group, or nil if it does.
func (gs *groups) refusal() error {
	switch {
	case !manyGroups:
		return errConnected
	case gs.limit < 0 || gs.limit > 0 && len(gs.list) >= gs.limit:
		return errGroups
	case !gs.pausedUntil.IsZero() && gs.clock.Now().Before(gs.pausedUntil):
		return fmt.Errorf("a group that was joined less than %v ago received nothing", pauseTime)
	}
	return nil
}

// DrawGroup implements [wire.Groups].
func (t *Transport) DrawGroup() (name wire.GroupName, err error) {
	if err := t.groups.refusal(); err != nil {
		t.stats.GroupsRefused++
		return name, fmt.Errorf("mcast: rank %d: %w", t.rank, err)
	}
	_, err = rand.Read(name[:]) // not from Config.TCP.Rand, which may be the same at several ranks
	return name, err
}

// JoinGroup implements [wire.Groups].
func (t *Transport) JoinGroup(name wire.GroupName, members []int) (wire.Group, error) {
	gs := &t.groups
	if t.closed {
		return nil, fmt.Errorf("mcast: rank %d: %w", t.rank, errClosed)
	}
	at := groupOf(name, t.at.family)
	g := &group{t: t, at: at, to: newAddress(at, t.at.ifi.Index), comm: -1, since: gs.clock.Now(), pause: callFirst}
	g.in = inlet{fd: -1, group: g, sources: t.arrival.all.sources, to: binary.BigEndian.Uint32(name[12:]) | 1<<31}
	if g.failed = g.open(); g.failed != nil {
		t.stats.GroupsRefused++
	} else {
		t.stats.Groups++
	}
	g.arrange(members)
	g.slot = gs.slotFor(g, &t.group)
	gs.list, gs.joining = append(gs.list, g), append(gs.joining, g)
	gs.wakes.Store(true)
	t.callGroups()
	return g, nil
}

// open opens the group's socket.
func (g *group) open() (err error) {
	t := g.t
	if err := t.groups.refusal(); err != nil {
		return err
	}
	if g.in.fd, err = openReceiver(t.at, g.at); err != nil {
		return err
	}
	if few(g.in.fd) {
		return errFew
	}
	if t.sealed != nil {
		g.in.windows = make([]seal.Window, t.size)
	}
	if t.arrival.merges {
		merge(g.in.fd)
	}
	g.watch = t.puts.Reactor().Descriptor(g.in.fd, reactor.Func(func(_, _ bool) { g.find() }))
	g.watch.Eager()
	return g.watch.Modify(true, false)
}

// few reports whether a process that has got descriptor fd, the lowest free one, has less than a
// quarter of its descriptors left. Connections need these.
func few(fd int) bool {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return err == nil && uint64(fd) >= uint64(limit.Cur)/4*3
}

// arrange decides which ranks call, and which call each rank waits for. The first member calls, and
// the first member at another address, if there is one. Members at the first caller's address wait
// for the second caller, the other members for the first.
func (g *group) arrange(members []int) {
	at := func(rank int) netip.Addr { return g.in.sources[rank].Addr() }
	first, second := members[0], members[1]
	if i := slices.IndexFunc(members, func(rank int) bool { return at(rank) != at(first) }); i > 0 {
		second = members[i]
	}
	g.calls = g.t.rank == first || g.t.rank == second
	if g.hears = first; g.t.rank == first || at(g.t.rank) == at(first) && at(second) != at(first) {
		g.hears = second
	}
}

// slotFor returns a slot for g that no queued multicast refers to.
func (gs *groups) slotFor(g *group, o *outlet) int {
	for slot, old := range gs.slots {
		if old.left && !o.queue.Has(toGroup(slot)) {
			gs.slots[slot] = g
			return slot
		}
	}
	gs.slots = append(gs.slots, g)
	return len(gs.slots) - 1
}

// toGroup returns the number that stands for a group instead of a rank as a destination.
func toGroup(slot int) int { return everybody - 1 - slot }

// groupAt returns the group that a number of toGroup stands for.
func (gs *groups) groupAt(to int) *group { return gs.slots[everybody-1-to] }

// callGroups sends the calls that are due in groups that are being joined.
func (t *Transport) callGroups() {
	now := t.groups.clock.Now()
	for _, g := range t.groups.joining {
		if !g.calls || now.Before(g.next) {
			continue
		}
		_ = unix.Sendto(t.group.fd, t.probeTo(int(g.in.to)), unix.MSG_DONTWAIT, sockaddr(g.at, t.at.ifi)) // an unsent call is merely not heard
		g.next, g.pause = now.Add(g.pause), min(2*g.pause, callPause)
	}
}

// find records that the group's socket may have datagrams.
func (g *group) find() {
	if !g.in.readable && !g.left {
		g.in.readable = true
		g.t.groups.ready = append(g.t.groups.ready, g)
	}
}

// readGroups reads bursts of datagrams from the groups' sockets that have some.
func (t *Transport) readGroups(s wire.Sink) (moved bool) {
	left := t.groups.ready[:0]
	for _, g := range t.groups.ready {
		moved = t.read(s, &g.in) || moved
		if g.in.readable {
			left = append(left, g)
		}
	}
	t.groups.ready = left
	return moved
}

// Ready implements [wire.Group].
func (g *group) Ready() (bool, error) {
	gs := &g.t.groups
	switch {
	case g.failed != nil:
		return false, fmt.Errorf("mcast: rank %d: %w", g.t.rank, g.failed)
	case g.heard:
		return true, nil
	case g.left:
		return false, errClosed
	case gs.clock.Now().Sub(g.since) < hearTime:
		return false, nil
	}
	gs.pausedUntil = gs.clock.Now().Add(pauseTime)
	g.t.stats.GroupsRefused++
	return false, fmt.Errorf("mcast: rank %d: no multicast of rank %d to %v has come to interface %s within %v", g.t.rank, g.hears, g.at, g.t.at.ifi.Name, hearTime)
}

// Use implements [wire.Group].
func (g *group) Use(comm uint8) {
	g.comm, g.t.groups.of[comm] = int(comm), g
	g.t.groups.settled(g)
}

// settled records that a group is no longer being joined.
func (gs *groups) settled(g *group) {
	gs.joining = slices.DeleteFunc(gs.joining, func(other *group) bool { return other == g })
	gs.wakes.Store(len(gs.joining) > 0)
}

// Leave implements [wire.Group]. The system leaves the group with the socket.
func (g *group) Leave() {
	if g.left {
		return
	}
	g.left = true
	gs := &g.t.groups
	if g.comm >= 0 && gs.of[g.comm] == g {
		gs.of[g.comm] = nil
	}
	gs.settled(g)
	same := func(other *group) bool { return other == g }
	gs.list, gs.ready = slices.DeleteFunc(gs.list, same), slices.DeleteFunc(gs.ready, same)
	if g.watch != nil {
		_ = g.watch.Modify(false, false) // closing the socket ends it in any case
	}
	closeFD(g.in.fd)
	g.in.fd = -1
}

// leaveAll leaves all groups.
func (gs *groups) leaveAll() {
	for len(gs.list) > 0 {
		gs.list[0].Leave()
	}
}

// String implements [wire.Group].
func (g *group) String() string { return g.at.String() }
