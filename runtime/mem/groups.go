package mem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/runtime/wire"
)

// group is a multicast group that a rank has joined, or is joining.
type group struct {
	t    *Transport
	name wire.GroupName
	from time.Time // when datagrams begin to arrive
	comm int       // the communicator that multicasts to it; -1: none
	left bool

	failed error // why the rank is not in it
}

var (
	_ wire.Groups = (*Transport)(nil)

	errClosed     = errors.New("mem: the transport is closed")
	errManyGroups = errors.New("mem: as many groups as Options.Groups allows are joined already")
)

// DrawGroup implements [wire.Groups].
func (t *Transport) DrawGroup() (name wire.GroupName, err error) {
	switch {
	case t.o.NoMulticast:
		return name, wire.ErrNoGroups
	case t.full():
		return name, errManyGroups
	}
	binary.LittleEndian.PutUint64(name[:8], t.names.Uint64())
	binary.LittleEndian.PutUint64(name[8:], t.names.Uint64()|1)
	return name, nil
}

// full reports whether this rank may join no further group.
func (t *Transport) full() bool {
	return t.o.Groups < 0 || t.o.Groups > 0 && len(t.in.groups) >= t.o.Groups
}

// JoinGroup implements [wire.Groups].
func (t *Transport) JoinGroup(name wire.GroupName, _ []int) (wire.Group, error) {
	if t.closed {
		return nil, errClosed
	}
	g := &group{t: t, name: name, comm: -1}
	if t.full() {
		g.failed = errManyGroups
		return g, nil
	}
	if t.o.JoinDelay > 0 {
		g.from = t.o.Clock.Now().Add(time.Duration(t.names.Int64N(int64(t.o.JoinDelay) + 1)))
		t.o.Clock.AfterFunc(g.from.Sub(t.o.Clock.Now()), t.Wake)
	}
	t.in.mu.Lock()
	defer t.in.mu.Unlock()
	if t.in.groups == nil {
		t.in.groups = make(map[wire.GroupName]*group)
	}
	t.in.groups[name] = g
	return g, nil
}

// Ready implements [wire.Group].
func (g *group) Ready() (bool, error) {
	return g.failed == nil && !g.t.o.Clock.Now().Before(g.from), g.failed
}

// Use implements [wire.Group].
func (g *group) Use(comm uint8) { g.comm, g.t.groups[comm] = int(comm), g }

// Leave implements [wire.Group].
func (g *group) Leave() {
	if g.left {
		return
	}
	g.left = true
	if g.comm >= 0 && g.t.groups[g.comm] == g {
		g.t.groups[g.comm] = nil
	}
	g.t.in.mu.Lock()
	defer g.t.in.mu.Unlock()
	delete(g.t.in.groups, g.name)
}

// String implements [wire.Group].
func (g *group) String() string { return fmt.Sprintf("%x", g.name) }

// hears reports whether this rank receives multicasts to a group, or to all ranks if g is nil. The
// caller holds in.mu.
func (t *Transport) hears(g *group) bool {
	if g == nil {
		return true
	}
	own := t.in.groups[g.name]
	return own != nil && (own.from.IsZero() || !t.o.Clock.Now().Before(own.from))
}
