package tcp

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/wire"
)

// dialed is the outcome of connecting.
type dialed struct {
	o   *outbound
	fd  int
	err error
}

// dial connects o in the background, which happens once per connection.
func (t *Transport) dial(o *outbound) {
	t.dialing.Go(func() {
		d := dialed{o: o, fd: -1}
		conn, err := dialOther(t.ctx, o.p.addr, t.dialTimeout)
		if err == nil {
			d.fd, err = takeConn(conn)
		}
		d.err = err
		t.mu.Lock()
		t.dialed = append(t.dialed, d)
		t.mu.Unlock()
		t.fresh.Store(true)
		t.Wake()
	})
}

// takeDialed returns the outcomes that have not been looked at.
func (t *Transport) takeDialed() []dialed {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fresh.Store(false)
	list := t.dialed
	t.dialed = nil
	return list
}

// adopt takes new connections into service.
func (t *Transport) adopt(s wire.Sink) {
	for _, d := range t.takeDialed() {
		if d.o.dead {
			closeFD(d.fd)
			continue
		}
		err := d.err
		if err == nil {
			d.o.fd = d.fd
			d.o.token, err = t.watch(d.fd, d.o, true, false)
		}
		if err != nil {
			t.unreached(d.o.p, s, fmt.Errorf("tcp: connect to rank %d at %s: %w", d.o.p.rank, d.o.p.addr, err))
			continue
		}
		d.o.p.opened++
		t.mark(d.o)
	}
}

// unreached handles a failed dial. A rank that refuses, or that resets the
// attempt, has closed, and if it has done so in good order, its goodbye is here
// already, though perhaps not read: then it is not lost.
func (t *Transport) unreached(p *peer, s wire.Sink, err error) {
	if !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.ECONNRESET) {
		t.lose(p, s, err)
		return
	}
	if p.refusal == nil {
		t.refusing = append(t.refusing, p)
	}
	p.refusal = fmt.Errorf("%w: %w", wire.ErrUnreachable, err)
	for _, o := range p.out {
		if o != nil {
			t.closeOut(o)
		}
	}
}

// judge loses those that refuse connections, unless they have opened
// connections themselves: these will tell how they have ended.
func (t *Transport) judge(s wire.Sink) {
	t.listener.ready(t, s, true, false)
	for _, c := range slices.Clone(t.guests) {
		t.meet(c, s)
	}
	t.refusing = slices.DeleteFunc(t.refusing, func(p *peer) bool {
		if p.state == peerUp && p.silent() {
			t.lose(p, s, p.refusal)
		}
		return p.state != peerUp
	})
}
