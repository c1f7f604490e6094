package core

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// DelayPolicy decides when the root of a multicast broadcast starts. A rank that is not listening
// yet loses the multicast (paper 000, section 2.1). The policy delays the root's rules; it is not
// part of the schedule.
type DelayPolicy uint8

// The root-delay policies.
const (
	// DelayNone: the root starts at once.
	DelayNone DelayPolicy = iota
	// DelayFixed: the root waits for a fixed time.
	DelayFixed
	// DelayAdaptive: in each operation one rank, drawn by a shared seed, tells the root when it has
	// entered, and whether the multicast has reached it. The root waits until that rank has entered,
	// but at most for a time, which grows if the multicast was too early for that rank, and shrinks
	// otherwise. If many multicasts miss the drawn ranks, the root chooses the second stage that is
	// faster then; see Plan.Otherwise.
	DelayAdaptive
	// DelayRandomPeer: the root waits until one rank, drawn by a shared seed, has entered the
	// operation.
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

// Valid reports whether d is one of the policies.
func (d DelayPolicy) Valid() bool { return int(d) < len(delayNames) }

// MarshalText writes the policy's name.
func (d DelayPolicy) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a policy's name.
func (d *DelayPolicy) UnmarshalText(name []byte) error {
	i := slices.Index(delayNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("no root-delay policy %q (one of %v)", name, delayNames)
	}
	*d = DelayPolicy(i)
	return nil
}

// drawPeer returns the rank, other than the root, that is drawn for operation seq. All ranks draw
// the same rank, since they have the same id. size must be at least 2.
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

// gate delays the start of the root of an operation.
type gate struct {
	closed bool
	peer   int  // DelayRandomPeer: the rank that must enter; else -1
	met    bool // DelayAdaptive: the drawn rank had entered when the root began
	closes Time // DelayAdaptive: wait, or 0 if the drawn rank had entered before the root
	wait   Time // other policies: the delay from the next tick on
	until  Time // when to start; 0: not set yet
	behind bool // an earlier barrier has not ended: see package lines
}

// tick reports whether the gate opens now.
func (g *gate) tick(now Time) bool {
	return g.timed() && g.until.Over(now, g.wait)
}

// timed reports whether time opens the gate.
func (g *gate) timed() bool { return g.closed && g.peer < 0 }

// seqSet remembers the newest few operation numbers from peers; forgotten older ones no longer
// matter.
type seqSet [Remembered]uint64

func (s *seqSet) add(seq uint64)      { s[seq%Remembered] = max(s[seq%Remembered], seq) }
func (s *seqSet) has(seq uint64) bool { return s[seq%Remembered] == seq }
