package stream

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/wire"
)

// end is how the connections with a peer end.
type end struct {
	how    wire.End // 0: they go on
	err    error    // why, unless it is wire.Closed
	told   bool     // the sink knows, or nobody is to know any more
	theirs uint32   // halves of connections that the peer has begun to us, by its goodbye
	read   uint32   // those that have been read to their end
}

// end notes how the connections with p end; the next Poll, or this one, tells the
// sink. Nothing more goes to p.
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

// lose notes that p cannot be reached, or has broken the protocol.
func (t *Transport) lose(p *peer, err error) { t.end(p, wire.Broken, err) }

// heard takes p's goodbye, from any of its connections.
func (t *Transport) heard(p *peer, theirs uint32) {
	if p.end.how < wire.Closed {
		p.end.theirs = theirs
	}
	t.end(p, wire.Closed, nil)
}

// unreached handles a connection to p that could not be opened, or is broken. A rank
// that refuses or resets it has closed, perhaps in good order: its system may have
// opened the connection for a p that never saw it. Then p's goodbye is here already,
// though perhaps not read.
func (t *Transport) unreached(p *peer, err error) {
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) {
		t.end(p, wire.Refused, err)
		return
	}
	t.lose(p, err)
}

// fault notes that this rank cannot go on, whatever the others do.
func (t *Transport) fault(err error) { t.lose(&t.peers[t.rank], err) }

// short reports whether the system was out of something that this process needs: a
// peer is not to blame.
func short(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) ||
		errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOSPC)
}

// known reports whether all is known that will be of how p has ended: what it sent
// before is read.
func (p *peer) known() bool {
	switch p.end.how {
	case wire.Broken:
		return true
	case wire.Closed:
		return p.end.read == p.end.theirs && p.silent()
	}
	return p.silent()
}

// tellEnds tells the sink of the peers of which all is known.
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

// hearAll reads what is there already of peers that take no connections any more: they
// may have said on another one how they end, or on one that they have opened to this rank.
func (t *Transport) hearAll(s wire.Sink) {
	refused := func(p *peer) bool { return p.end.how == wire.Refused }
	if !slices.ContainsFunc(t.ending, refused) {
		return
	}
	t.listener.strangers = 0 // whatever is at the door
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

// drop gives up all connections with p; frames for it are dropped from now on.
func (t *Transport) drop(p *peer) {
	p.end.told = true
	p.eachConn(t.closeConn)
}

// closeOut gives up what this rank says on c, and c if nothing more can come there.
func (t *Transport) closeOut(c *conn) {
	t.dropOut(&c.out)
	if c.fd < 0 || c.in.phase == finished {
		t.closeConn(c)
	}
}
