package runtime

import (
	"encoding/binary"
	"fmt"
	"time"
)

// DelayPolicy decides when the root of a broadcast by multicast starts: a
// multicast that meets nobody listening is lost (paper 000, section 2.1). The
// policy gates the root's rules and is no part of the schedule.
type DelayPolicy uint8

// The root-delay policies.
const (
	// DelayNone: the root starts at once.
	DelayNone DelayPolicy = iota
	// DelayFixed: the root waits for Config.RootDelay.
	DelayFixed
	// DelayAdaptive: one rank per operation, drawn by a shared seed, tells the
	// root whether it was too late for the multicast; the root waits longer
	// after each "too late" and less after each "in time".
	DelayAdaptive
	// DelayRandomPeer: the root waits until one rank, drawn by a shared seed
	// for each operation, has entered.
	DelayRandomPeer
)

var delayNames = [...]string{"none", "fixed", "adaptive", "random-peer"}

// String returns the policy's name: none, fixed, adaptive or random-peer.
func (d DelayPolicy) String() string {
	if int(d) < len(delayNames) {
		return delayNames[d]
	}
	return fmt.Sprintf("DelayPolicy(%d)", d)
}

// ParseDelay returns the policy of that name.
func ParseDelay(name string) (DelayPolicy, error) {
	for i, n := range delayNames {
		if n == name {
			return DelayPolicy(i), nil
		}
	}
	return 0, fmt.Errorf("%w: no root-delay policy %q (one of %v)", ErrInput, name, delayNames)
}

func (d DelayPolicy) valid() error {
	if int(d) >= len(delayNames) {
		return fmt.Errorf("%w: Config.Delay: %v", ErrInput, d)
	}
	return nil
}

// The adaptive delay grows by half after a miss and shrinks by a sixteenth
// after a hit, so that it settles where about one in seven operations misses.
const (
	adaptiveStart = 10 * time.Microsecond
	adaptiveMax   = 20 * time.Millisecond
)

func adapt(delay time.Duration, missed bool) time.Duration {
	if missed {
		return min(max(delay+delay/2, adaptiveStart), adaptiveMax)
	}
	return delay - delay/16
}

// drawPeer returns the non-root rank drawn for operation seq: the same at all
// ranks, since id is. It needs size ≥ 2.
func drawPeer(id [16]byte, seq uint64, root, size int) int {
	x := binary.LittleEndian.Uint64(id[:8]) + seq*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // splitmix64
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	peer := int(x % uint64(size-1))
	if peer >= root {
		peer++
	}
	return peer
}

// gate is what the root of the running operation waits for before it starts.
type gate struct {
	closed bool
	peer   int       // DelayRandomPeer: the rank to enter; else -1
	until  time.Time // the other policies: when to start
}

// delayed reports whether the policy applies: only a multicast can be too early.
func (c *Comm) delayed(o *op) bool {
	return c.cfg.Delay != DelayNone && c.size > 1 && o.kind == kindBcast && o.plan.multicasts && c.caps.Multicast
}

// closeGate sets what the root of o has to wait for.
func (c *Comm) closeGate(o *op) {
	o.gate = gate{peer: -1}
	if !c.delayed(o) || o.root != c.rank {
		return
	}
	switch c.cfg.Delay {
	case DelayRandomPeer:
		o.gate.peer = drawPeer(c.id, o.seq, o.root, c.size)
		o.gate.closed = !c.joined.has(o.seq)
	case DelayFixed:
		c.delayUntil(o, c.cfg.RootDelay)
	case DelayAdaptive:
		c.delayUntil(o, c.rootDelay)
	}
}

func (c *Comm) delayUntil(o *op, d time.Duration) {
	if d > 0 {
		o.gate.closed = true
		o.gate.until = c.clock.Now().Add(d)
	}
}

// openGate starts the root's rules once the policy allows it.
func (c *Comm) openGate(o *op, now time.Time) {
	if o.gate.closed && o.gate.peer < 0 && !now.Before(o.gate.until) {
		c.start(o)
	}
}

// announce tells the root that the drawn peer has entered.
func (c *Comm) announce(o *op) {
	if c.cfg.Delay == DelayRandomPeer && c.delayed(o) && o.root != c.rank &&
		drawPeer(c.id, o.seq, o.root, c.size) == c.rank {
		c.control(o.root, FrameJoined, o.seq, o.print, 0)
	}
}

// report tells the root how the drawn peer met the multicast of o.
func (c *Comm) report(o *op) {
	if c.cfg.Delay != DelayAdaptive || !c.delayed(o) || o.root == c.rank ||
		drawPeer(c.id, o.seq, o.root, c.size) != c.rank {
		return
	}
	var missed uint32
	if !o.heard {
		missed = 1
	}
	c.control(o.root, FrameLate, o.seq, o.print, missed)
}

// seqSet remembers the newest few operation numbers told by peers; an older
// one that it has forgotten no longer matters.
type seqSet [window]uint64

func (s *seqSet) add(seq uint64)      { s[seq%window] = max(s[seq%window], seq) }
func (s *seqSet) has(seq uint64) bool { return s[seq%window] == seq }
