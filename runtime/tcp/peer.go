package tcp

import "github.com/schedgen/schedgen/runtime/wire"

// peer is what this rank knows of another.
type peer struct {
	rank  int
	addr  string
	near  bool // on this host
	state peerState
	// refusal says that p does not accept connections any more: its process,
	// or its transport, has ended.
	refusal error

	out     []*outbound // by laneIndex, as the next three are
	in      []*inbound
	outTurn []uint8    // of the next connection
	inTurn  []uint8    // of the one that follows that in in
	heirs   []*inbound // connections whose turn has not come

	opened uint32 // connections to p, ever
	seq    uint64 // the last operation of a peer that is leaving
	theirs uint32 // connections that it has opened to us, by its goodbye
	ended  uint32 // those that have been read to their end
}

type peerState uint8

const (
	peerUp      peerState = iota
	peerLeaving           // has said goodbye, but what it sent before is not all read
	peerGone              // the sink has been told that it has left or is lost
)

// failure is the loss of a peer that could not be told at once.
type failure struct {
	p   *peer
	err error
}

// lose tells the sink, once, that p cannot be reached.
func (t *Transport) lose(p *peer, s wire.Sink, err error) {
	if p.state == peerGone {
		return
	}
	t.drop(p)
	s.Lost(p.rank, err)
}

// heard takes p's goodbye, from any of its connections.
func (t *Transport) heard(p *peer, seq uint64, theirs uint32) {
	if p.state != peerUp {
		return
	}
	p.state, p.seq, p.theirs = peerLeaving, seq, theirs
	for _, o := range p.out {
		if o != nil {
			t.closeOut(o)
		}
	}
}

// settle tells the sink that p has left when nothing it sent before is unread.
func (t *Transport) settle(p *peer, s wire.Sink) {
	if p.state != peerLeaving || p.ended != p.theirs || !p.silent() {
		return
	}
	seq := p.seq
	t.drop(p)
	s.Left(p.rank, seq)
}

// drop gives up all connections with p; frames for it are dropped from now on.
func (t *Transport) drop(p *peer) {
	p.state = peerGone
	for i := range p.out {
		if p.out[i] != nil {
			t.closeOut(p.out[i])
		}
		if p.in[i] != nil {
			t.closeIn(p.in[i])
		}
	}
	for _, c := range p.heirs {
		t.closeIn(c)
	}
	p.heirs = nil
}
