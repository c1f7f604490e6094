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
	out     [wire.Lanes]*outbound
	in      [wire.Lanes]*inbound

	cut bool // an operation was abandoned within a frame: LaneOps is closed

	seq   uint64 // the last operation of a peer that is leaving
	lanes uint32 // bits of the lanes that it has opened to us, by its goodbye
	ended uint32 // bits of those on which its goodbye has been read
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
func (t *Transport) heard(p *peer, seq uint64, lanes uint32) {
	if p.state != peerUp {
		return
	}
	p.state, p.seq, p.lanes = peerLeaving, seq, lanes
	for _, o := range p.out {
		if o != nil {
			t.closeOut(o)
		}
	}
}

// settle tells the sink that p has left when nothing it sent before is unread.
func (t *Transport) settle(p *peer, s wire.Sink) {
	if p.state != peerLeaving || p.ended&p.lanes != p.lanes || p.in != [wire.Lanes]*inbound{} {
		return
	}
	seq := p.seq
	t.drop(p)
	s.Left(p.rank, seq)
}

// drop gives up all connections with p; frames for it are dropped from now on.
func (t *Transport) drop(p *peer) {
	p.state = peerGone
	for lane := range p.out {
		if p.out[lane] != nil {
			t.closeOut(p.out[lane])
		}
		if p.in[lane] != nil {
			t.closeIn(p.in[lane])
		}
	}
}
