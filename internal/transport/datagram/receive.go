package datagram

import (
	"math/rand/v2"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/internal/transport/reactor"
	"github.com/schedgen/schedgen/internal/transport/seal"
	"github.com/schedgen/schedgen/runtime/wire"
)

// arrival receives datagrams.
type arrival struct {
	all     inlet               // multicasts
	own     inlet               // datagrams to this rank, at the socket of direct
	watch   *reactor.Descriptor // watches all
	batch   *inBatch
	merges  bool          // batch has room for trains
	current fragment.Part // the datagram under inspection
	stashes fragment.Stashes
	collect collect
	loss    float64
	random  *rand.Rand
}

// inlet is a socket that receives datagrams.
type inlet struct {
	fd       int
	readable bool
	sources  []netip.AddrPort // by rank: source of its datagrams
	group    *group           // nil: it is not for a communicator's group
	to       uint32           // datagrams sealed for this inlet contain it; see sealed.go
	windows  []seal.Window    // by sender, for sealed datagrams
}

// readAll reads bursts of datagrams from the sockets.
func (t *Transport) readAll(s wire.Sink) (moved bool) {
	if t.arrival.own.readable {
		moved = t.read(s, &t.arrival.own)
	}
	if t.arrival.collect.on.Load() {
		t.arrival.all.readable = true
	}
	if len(t.groups.ready) > 0 {
		moved = t.readGroups(s) || moved
	}
	if t.arrival.all.readable {
		came := t.read(s, &t.arrival.all)
		t.arrival.collecting(came)
		moved = came || moved
	}
	return moved
}

// read reads a burst of datagrams from one socket.
func (t *Transport) read(s wire.Sink, in *inlet) (moved bool) {
	for burst := 0; burst < maxBurst; {
		n, more, err := t.arrival.batch.receive(in.fd)
		if err != nil && err != unix.EINTR {
			in.readable = false // an error other than EAGAIN disappears when it is reported
			return moved
		}
		for i := range n {
			t.sort(s, in, i)
		}
		burst += n
		moved = moved || n > 0
		if !more && err == nil {
			in.readable = false
			return moved
		}
	}
	return moved
}

// sort handles one datagram.
func (t *Transport) sort(s wire.Sink, in *inlet, i int) {
	b, whole := t.arrival.batch.datagram(i)
	p := &t.arrival.current
	payload, f := t.examine(in, b, whole, t.arrival.batch.from(i), p)
	switch {
	case f.Count(&t.stats):
	case f == fragment.Ours:
	case p.Kind == fragment.KindProbe: // another rank's interface test, or a call
		if g := in.group; g != nil && p.From == g.hears {
			g.heard = true
		}
	case t.arrival.loss > 0 && t.arrival.random.Float64() < t.arrival.loss:
		t.stats.Injected++
	default:
		t.deliver(s, p, payload)
	}
}

// examine reads the head of a datagram into p and returns its payload.
func (t *Transport) examine(in *inlet, b []byte, whole bool, from netip.AddrPort, p *fragment.Part) (payload []byte, f fragment.Fault) {
	if t.sealed != nil {
		return t.open(in, b, whole, from, p)
	}
	switch f := fragment.Decode(b, &t.mark, t.size, t.payload, p); {
	case f != fragment.Sound:
		return nil, f
	case !whole:
		return nil, fragment.Torn
	case from != in.sources[p.From]:
		return nil, fragment.Forged
	case p.From == t.rank:
		return nil, fragment.Ours
	}
	return b[fragment.HeadLen:], fragment.Sound
}

func (t *Transport) deliver(s wire.Sink, p *fragment.Part, payload []byte) {
	t.stats.GotDatagrams++
	if s.Fragment(&p.Header, p.Offset, payload) == wire.Hold && !t.arrival.stashes.Add(p, payload) {
		t.stats.Early++
	}
}
