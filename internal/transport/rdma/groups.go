package rdma

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Communicators of some of the ranks have groups of their own. The one unreliable queue pair is in
// these groups and in the group of all ranks, because an adapter limits the queue pairs in a group,
// and not the groups of a queue pair. All groups use the key of the first group.

// everybody replaces the receiving rank of a datagram for all ranks. Lower numbers stand for
// groups.
const everybody = -1

// toGroup returns the number that replaces the receiving rank of a datagram for a group.
func toGroup(number int) int { return everybody - 1 - number }

const (
	// joiningPause is the longest wait of a rank while it joins a group.
	joiningPause = time.Millisecond
	// joinTime is the longest time to join: on InfiniBand the subnet manager is involved.
	joinTime = 3 * time.Second
	// refusedTime is how long a rank joins no further group after a join has timed out, because the
	// next would time out too.
	refusedTime = time.Minute
)

// groups are the groups that communicators use, or will use.
type groups struct {
	of      [1 << 8]*group // by communicator
	numbers []*group       // by number; groups that were left stay until their numbers are used again
	next    int            // the number to try first, which has been unused for the longest time
	joining int            // number of groups that no communicator uses yet
	wakes   atomic.Bool    // joining > 0, for Wait
	until   time.Time      // until then no further group is joined
}

// group is a [wire.Group].
type group struct {
	t       *Transport
	at      Group
	number  int // -1: none was free
	comm    int // communicator that uses it; -1: none yet
	since   time.Time
	failed  error
	settled bool // the join has ended
	left    bool
}

var (
	_ wire.Groups = (*Transport)(nil)

	errClosed = errors.New("the transport is closed")
	errGroups = fmt.Errorf("%d groups are joined already", MostGroups)
	errSlow   = fmt.Errorf("joining a group took longer than %v", joinTime)
)

// DrawGroup implements [wire.Groups].
func (t *Transport) DrawGroup() (name wire.GroupName, err error) {
	switch {
	case !t.grams.casts:
		return name, wire.ErrNoGroups
	case t.clock.Now().Before(t.grams.groups.until):
		t.stats.GroupsRefused++
		return name, fmt.Errorf("verbs: rank %d: %w, less than %v ago", t.rank, errSlow, refusedTime)
	}
	_, err = rand.Read(name[:])
	return name, err
}

// JoinGroup implements [wire.Groups].
func (t *Transport) JoinGroup(name wire.GroupName, _ []int) (wire.Group, error) {
	gs := &t.grams.groups
	if t.closed {
		return nil, fmt.Errorf("verbs: rank %d: %w", t.rank, errClosed)
	}
	g := &group{t: t, at: groupOf(name[:14], t.adapter.Address().Ethernet), number: gs.free(t), comm: -1, since: t.clock.Now()}
	if g.number < 0 {
		g.fail(errGroups)
	} else {
		gs.numbers[g.number] = g
		if err := t.adapter.Join(g.number, g.at); err != nil {
			g.fail(err)
		} else {
			t.stats.Groups++
		}
	}
	gs.joining++
	gs.wakes.Store(true)
	return g, nil
}

// free returns a number without a group and without queued datagrams, or -1 if there is none.
func (gs *groups) free(t *Transport) int {
	for i := range gs.numbers {
		number := (gs.next + i) % len(gs.numbers)
		if gs.numbers[number].left && !t.grams.queue.Has(toGroup(number)) {
			gs.next = number + 1
			return number
		}
	}
	if n := len(gs.numbers); n < MostGroups {
		gs.numbers = append(gs.numbers, nil)
		return n
	}
	return -1
}

func (g *group) fail(err error) {
	g.failed = fmt.Errorf("verbs: rank %d: join group %v: %w", g.t.rank, g, err)
	g.t.stats.GroupsRefused++
}

// Ready implements [wire.Group].
func (g *group) Ready() (ok bool, err error) {
	switch {
	case g.failed != nil:
		return false, g.failed
	case g.left:
		return false, errClosed
	}
	ok, err = g.t.adapter.Joined(g.number)
	if now := g.t.clock.Now(); err == nil && !ok && now.Sub(g.since) >= joinTime {
		err, g.t.grams.groups.until = errSlow, now.Add(refusedTime)
	}
	if err != nil {
		g.fail(err)
	}
	return ok && err == nil, g.failed
}

// Use implements [wire.Group].
func (g *group) Use(comm uint8) {
	g.settle()
	g.comm, g.t.grams.groups.of[comm] = int(comm), g
}

// settle records that the join of the group has ended.
func (g *group) settle() {
	if gs := &g.t.grams.groups; !g.settled {
		g.settled = true
		gs.joining--
		gs.wakes.Store(gs.joining > 0)
	}
}

// Leave implements [wire.Group].
func (g *group) Leave() {
	if g.left {
		return
	}
	g.left = true
	g.settle()
	if gs := &g.t.grams.groups; g.comm >= 0 && gs.of[g.comm] == g {
		gs.of[g.comm] = nil
	}
	if g.number >= 0 {
		g.t.adapter.Leave(g.number)
	}
}

// String implements [wire.Group].
func (g *group) String() string { return netip.AddrFrom16(g.at).Unmap().String() }

// leaveAll leaves all groups.
func (gs *groups) leaveAll() {
	for _, g := range gs.numbers {
		g.Leave()
	}
}
