package mcast

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/wire"
)

// inlet is a socket that datagrams come in by.
type inlet struct {
	fd       int
	readable bool
	sources  []netip.AddrPort // by rank: where its datagrams come from
}

// readAll takes bursts of datagrams from the sockets.
func (t *Transport) readAll(s wire.Sink) (moved bool) {
	for _, in := range [...]*inlet{&t.own, &t.all} {
		if in.readable {
			moved = t.read(s, in) || moved
		}
	}
	return moved
}

// read takes a burst of datagrams from one socket.
func (t *Transport) read(s wire.Sink, in *inlet) (moved bool) {
	for burst := 0; burst < maxBurst; {
		n, err := t.in.receive(in.fd)
		if err != nil && err != unix.EINTR {
			in.readable = false // an error other than EAGAIN is gone once it has been told
			return moved
		}
		for i := range n {
			t.take(s, in, i)
		}
		burst += n
		moved = moved || n > 0
		if n < t.in.size() && err == nil && t.in.size() > 1 {
			in.readable = false
			return moved
		}
	}
	return moved
}

// take sorts one datagram.
func (t *Transport) take(s wire.Sink, in *inlet, i int) {
	b, whole := t.in.datagram(i)
	p := &t.current
	switch f := decodePart(b, &t.id, t.size, t.payload, p); {
	case f == foreign:
		t.stats.Foreign++
	case f == torn || !whole:
		t.stats.Torn++
	case t.in.from(i) != in.sources[p.From]:
		t.stats.Forged++
	case p.From == t.rank || p.Kind == kindProbe:
		// Our own, or another rank's test of its interface.
	case t.loss > 0 && t.random.Float64() < t.loss:
		t.stats.Injected++
	default:
		t.deliver(s, p, b[headerLen:])
	}
}

func (t *Transport) deliver(s wire.Sink, p *part, payload []byte) {
	t.stats.GotDatagrams++
	if s.Fragment(&p.Header, p.offset, payload) == wire.Hold && !t.stashes.add(p, payload) {
		t.stats.Early++
	}
}
