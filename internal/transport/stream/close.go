package stream

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/runtime/wire"
)

// ackPause is how often Close checks whether the peers' systems have everything.
const ackPause = time.Millisecond

// parting is the progress of closing in good order; see part.
type parting struct {
	now    bool
	parted bool // it has said goodbye
}

// Close ends the communicator for this rank; see [wire.Transport]. It fails if frames could not be
// sent in time; their receivers then see a loss.
func (t *Transport) Close(bye bool, linger time.Duration) error {
	if t.closed {
		return nil
	}
	if !bye {
		for rank := range t.peers {
			t.dropHard(&t.peers[rank])
		}
		t.release()
		return nil
	}
	err := t.part(linger)
	t.release()
	return err
}

// part leaves in good order, as far as possible: it waits as long as peers take something at least
// every linger.
//
// A goodbye says how many halves of connections there are, so it waits until all exist. A peer that
// has read it closes its own halves. Goodbyes go in all halves, also where this rank has said
// nothing: a peer that has spoken in the other half waits for a goodbye.
func (t *Transport) part(linger time.Duration) error {
	t.parting.now = true
	t.work(linger, 0, (*conn).unconnected)
	t.parting.parted = true
	t.eachConn(func(c *conn) { t.leave(&c.out) })
	t.work(linger, 0, (*conn).unwritten)
	late := t.giveUp()
	t.eachConn(func(c *conn) { unix.Shutdown(c.fd, unix.SHUT_WR) })
	t.work(linger, ackPause, (*conn).unconfirmed)
	t.Poll(wire.Nobody{}) // takes connections that have arrived meanwhile
	if len(late) > 0 {
		return fmt.Errorf("tcp: close: not everything could be sent to %s in time", meet.RankList(late))
	}
	return nil
}

// leave says goodbye.
func (t *Transport) leave(o *outbound) {
	if o.dead || o.left {
		return
	}
	o.left, o.ending = true, false
	o.q.pushRecord(goodbye(o.p.opened))
	t.mark(o)
}

// work keeps sending, and drops arrivals so that closing does not reset connections, until nothing
// is left of any outgoing connection, or nothing has decreased for linger. It checks at least every
// pause, if that is not 0.
func (t *Transport) work(linger, pause time.Duration, left func(*conn) int) {
	patience := clock.Patience{Limit: linger}
	for {
		t.Poll(wire.Nobody{})
		sum := 0
		t.eachConn(func(c *conn) { sum += left(c) })
		rest := patience.Rest(t.clock.Now(), sum)
		if sum == 0 || rest <= 0 {
			return
		}
		if pause > 0 {
			rest = min(rest, pause)
		}
		t.Wait(rest)
	}
}

// unconnected is 1 while there is no connection yet.
func (c *conn) unconnected() int {
	if c.fd < 0 {
		return 1
	}
	return 0
}

// unwritten returns how many bytes the system has not taken.
func (c *conn) unwritten() int {
	o := &c.out
	n := len(o.tail) - o.sent + o.sealed.record.left()
	for i := range o.q.n {
		n += o.q.at(i).len()
	}
	return n
}

// unconfirmed returns how many bytes the peer's system does not have. A peer that has reset a
// connection confirms nothing any more; if the connection is not read, only this check notices.
func (c *conn) unconfirmed() int {
	if !c.reads && broken(c.fd) {
		c.t.closeConn(c)
		return 0
	}
	return unacked(c.fd)
}

// giveUp closes the connections with peers that have not been sent everything, so that they see a
// loss, and returns these peers.
func (t *Transport) giveUp() (late []int) {
	for rank := range t.peers {
		p := &t.peers[rank]
		if slices.ContainsFunc(p.conns, func(c *conn) bool { return !c.out.idle() }) {
			late = append(late, rank)
			t.dropHard(p)
		}
	}
	return late
}

// dropHard closes all connections with p so that p notices. Connections on which only p speaks just
// end, as if this process were dead.
func (t *Transport) dropHard(p *peer) {
	p.eachConn(func(c *conn) {
		if c.out.begun {
			hasten(c.fd)
		}
	})
	t.drop(p)
}

// hasten makes closing fd reset the connection.
func hasten(fd int) {
	if fd >= 0 {
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
}

// release frees all resources of the transport.
func (t *Transport) release() {
	t.closed = true
	t.dialer.close()
	for _, timer := range []clock.Timer{t.listener.pause, t.listener.tidy} {
		if timer != nil {
			timer.Stop()
		}
	}
	t.reactor.Unwatch(t.listener.fd, t.listener.token)
	t.spare.release()
	closeFD(t.listener.fd)
	for _, c := range t.listener.guests {
		hasten(c.fd) // a reset says that the connection was never accepted: see unreached
		t.closeConn(c)
	}
	for rank := range t.peers {
		t.drop(&t.peers[rank])
	}
	t.sender.pending.Store(false)
	t.reactor.Close()
}
