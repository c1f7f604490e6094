package stream

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/wire"
)

// end says how the connections with a peer end.
type end struct {
	how    wire.End // 0: they go on
	err    error    // the reason, unless how is wire.Closed
	told   bool     // the sink knows, or need not know any more
	theirs uint32   // halves that the peer has begun to us, by its goodbye
	read   uint32   // halves that have been read to their end
}

// end records how the connections with p end. The current or the next Poll tells the sink. Nothing
// more goes to p.
func (t *Transport) end(p *peer, how wire.End, err error) {
	if p.end.told || how <= p.end.how {
		return
	}
	if p.end.how == 0 {
		t.ending = append(t.ending, p)
	}
	p.end.how, p.end.err = how, err
	p.eachConn(t.closeOut)
	if how == wire.Broken {
		p.eachConn(t.closeConn)
	}
	t.sender.pending.Store(true)
}

// lose records that p cannot be reached, or has broken the protocol.
func (t *Transport) lose(p *peer, err error) { t.end(p, wire.Broken, err) }

// heard takes p's goodbye, from any of its connections.
func (t *Transport) heard(p *peer, theirs uint32) {
	if p.end.how < wire.Closed {
		p.end.theirs = theirs
	}
	t.end(p, wire.Closed, nil)
}

// unreached handles a connection to p that could not be opened, or is broken. A rank that refuses
// or resets it has closed, perhaps in good order: its system may have opened the connection before
// p saw it. Then p's goodbye has arrived already, though it may be unread.
func (t *Transport) unreached(p *peer, err error) {
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) {
		t.end(p, wire.Refused, err)
		return
	}
	t.lose(p, err)
}

// fault records that this rank cannot go on, whatever the others do. If it lacks a resource, the spare
// descriptors are for telling that, and not for connections that wait to be accepted.
func (t *Transport) fault(err error) {
	if short(err) {
		t.spare.release()
		t.listener.stopFor(acceptPause)
	}
	t.lose(&t.peers[t.rank], err)
}

// short reports whether the system lacks a resource that this process needs, so that no peer is to
// blame.
func short(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) ||
		errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOSPC)
}

// known reports whether everything is known about p's end: everything that p sent before it has
// been read.
func (p *peer) known() bool {
	switch p.end.how {
	case wire.Broken:
		return true
	case wire.Closed:
		return p.end.read == p.end.theirs && p.silent()
	}
	return p.silent()
}

// tellEnds tells the sink of the peers whose end is known.
func (t *Transport) tellEnds(s wire.Sink) (moved bool) {
	t.hearAll(s)
	list := t.ending
	t.ending = nil
	for _, p := range list {
		if !p.known() {
			t.ending = append(t.ending, p)
			continue
		}
		t.drop(p)
		s.Ended(p.rank, p.end.how, p.end.err)
		moved = true
	}
	t.sender.pending.Store(len(t.sender.dirty) > 0 || t.tells())
	return moved
}

// hearAll reads everything that has arrived from peers that accept no connections any more: they
// may have said how they end on another connection, or on a connection that they have opened to
// this rank.
func (t *Transport) hearAll(s wire.Sink) {
	refused := func(p *peer) bool { return p.end.how == wire.Refused }
	if !slices.ContainsFunc(t.ending, refused) {
		return
	}
	t.listener.strangers = 0 // accept all waiting connections
	t.listener.Ready(s, true, false)
	for _, c := range slices.Clone(t.listener.guests) {
		t.meet(&c.in, s)
	}
	for _, p := range slices.Clone(t.ending) {
		if refused(p) {
			p.eachConn(func(c *conn) {
				if c.in.phase == silent {
					t.receive(&c.in, s)
				}
			})
		}
	}
}

// tells reports whether the next tellEnds has something to tell.
func (t *Transport) tells() bool { return slices.ContainsFunc(t.ending, (*peer).known) }

// drop closes all connections with p; later frames for it are dropped.
func (t *Transport) drop(p *peer) {
	p.end.told = true
	p.eachConn(t.closeConn)
}

// closeOut ends this rank's half of c, and closes c if nothing more can arrive there.
func (t *Transport) closeOut(c *conn) {
	t.dropOut(&c.out)
	if c.fd < 0 || c.in.phase == finished {
		t.closeConn(c)
	}
}
