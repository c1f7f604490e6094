package mcast

import "github.com/schedgen/schedgen/runtime/wire"

const (
	stashBytes  = 1 << 20
	stashHeads  = 4096
	stashMargin = 1 << 16 // room for one more datagram, whatever its length
)

// stash keeps the datagrams that the sink holds back, in order. When it is
// full, the socket is not read any more: then the system's buffer fills, and
// what comes beyond that is lost, as datagrams may be.
type stash struct {
	heads []kept
	bytes []byte
}

// kept is a datagram whose payload is bytes[at:at+payload].
type kept struct {
	part
	at int
}

// full reports whether another datagram may not fit.
func (k *stash) full() bool {
	return len(k.heads) >= stashHeads || len(k.bytes)+stashMargin > stashBytes
}

func (k *stash) add(p *part, payload []byte) {
	if k.bytes == nil {
		k.bytes = make([]byte, 0, stashBytes)
	}
	k.heads = append(k.heads, kept{*p, len(k.bytes)})
	k.bytes = append(k.bytes, payload...)
}

// offer asks the sink again about all, and closes the gaps that those leave
// which it takes. It reports whether there were any.
func (k *stash) offer(s wire.Sink) bool {
	n, end := 0, 0
	for i := range k.heads {
		h := &k.heads[i]
		payload := k.bytes[h.at : h.at+h.payload]
		if s.Fragment(&h.Header, h.offset, payload) != wire.Hold {
			continue
		}
		copy(k.bytes[end:], payload)
		h.at = end
		end += h.payload
		k.heads[n] = *h
		n++
	}
	took := n < len(k.heads)
	k.heads, k.bytes = k.heads[:n], k.bytes[:end]
	return took
}
