package fragment

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

const (
	stashBytes  = 1 << 20 // at least
	stashHeads  = 4096    // for that many bytes
	stashMargin = 1 << 16 // room for one more datagram, whatever its length
	stashFirst  = stashMargin
)

// Stashes keep the datagrams that the sink holds back. Each communicator has its own stash, so it
// takes no room from others. Datagrams beyond its room are lost, which datagrams may be.
type Stashes struct {
	Room int // least bytes of a stash: the room of a receiver's buffer
	of   [256]*stash
	used []*stash
}

// Add keeps a datagram; it returns false if there is no room.
func (a *Stashes) Add(p *Part, payload []byte) bool {
	k := a.of[p.Comm]
	if k == nil {
		k = &stash{room: a.Room}
		a.of[p.Comm] = k
		a.used = append(a.used, k)
	}
	if k.full() {
		return false
	}
	k.add(p, payload)
	return true
}

// Offer offers all kept datagrams to the sink again. It reports whether the sink has taken any.
func (a *Stashes) Offer(s wire.Sink) (moved bool) {
	for _, k := range a.used {
		moved = k.offer(s) || moved
	}
	return moved
}

// Forget frees the stash of a communicator.
func (a *Stashes) Forget(comm uint8) {
	if i := slices.Index(a.used, a.of[comm]); i >= 0 {
		a.used = slices.Delete(a.used, i, i+1)
	}
	a.of[comm] = nil
}

// stash keeps the datagrams of one communicator, in order.
type stash struct {
	room  int
	heads []kept
	bytes []byte
}

// limit returns how many bytes fit.
func (k *stash) limit() int { return max(stashBytes, k.room) }

// kept is a datagram whose payload is bytes[at:at+payload].
type kept struct {
	Part
	at int
}

// full reports whether another datagram may not fit.
func (k *stash) full() bool {
	return len(k.heads) >= k.limit()/(stashBytes/stashHeads) || len(k.bytes)+stashMargin > k.limit()
}

func (k *stash) add(p *Part, payload []byte) {
	if len(k.bytes)+len(payload) > cap(k.bytes) {
		k.grow()
	}
	k.heads = append(k.heads, kept{*p, len(k.bytes)})
	k.bytes = append(k.bytes, payload...)
}

// grow makes room for one more datagram. Most stashes never hold more than a few.
func (k *stash) grow() {
	k.bytes = append(make([]byte, 0, min(max(stashFirst, 2*cap(k.bytes)), k.limit())), k.bytes...)
}

// offer offers all kept datagrams to the sink again, and closes the gaps of the datagrams that it
// takes. It reports whether it has taken any.
func (k *stash) offer(s wire.Sink) bool {
	n, end := 0, 0
	for i := range k.heads {
		h := &k.heads[i]
		payload := k.bytes[h.at : h.at+h.Payload]
		if s.Fragment(&h.Header, h.Offset, payload) != wire.Hold {
			continue
		}
		copy(k.bytes[end:], payload)
		h.at = end
		end += h.Payload
		k.heads[n] = *h
		n++
	}
	took := n < len(k.heads)
	k.heads, k.bytes = k.heads[:n], k.bytes[:end]
	return took
}
