package simnet

import (
	"errors"

	"github.com/schedgen/schedgen/runtime/wire"
)

// noticeKind is how a rank learns that another has ended.
type noticeKind uint8

const (
	peerEnded   noticeKind = iota // its connections end, regularly or not
	peerRefused                   // it accepts no connections
	peerSilent                    // it confirms nothing
)

var (
	errClosed  = errors.New("closed")
	errEnded   = errors.New("its connections have ended")
	errRefused = errors.New("refused")
	errSilent  = errors.New("it confirms nothing")
)

// linger is how long a closing process waits while none of its remaining data is accepted.
const linger = 2 * Second

// hear handles a notice. The core hears that a peer has left only when everything that the peer
// sent has been read.
func (p *process) hear(peer int, n noticeKind) {
	if p.gone[peer] || !p.alive() {
		return
	}
	other := p.w.procs[peer]
	switch {
	case n == peerEnded && other.state == closed && !other.late[p.rank]:
		p.leaving = append(p.leaving, peer)
		p.dropTo(peer)
	case n == peerEnded:
		p.lost = append(p.lost, loss{peer, wire.Broken, errEnded})
	case n == peerRefused:
		p.lost = append(p.lost, loss{peer, wire.Refused, errRefused})
	default:
		p.lost = append(p.lost, loss{peer, wire.Broken, errSilent})
	}
	p.doDue()
}

type loss struct {
	rank int
	how  wire.End
	err  error
}

// tellEnds tells the core which ranks have left and which are lost.
func (p *process) tellEnds() (moved bool) {
	lost := p.lost
	p.lost = nil
	for _, l := range lost {
		if !p.gone[l.rank] {
			moved = true
			p.forget(l.rank)
			p.w.note(notePeerLost, p.rank, nil, l.rank)
			p.core.Ended(l.rank, l.how, l.err)
		}
	}
	kept := p.leaving[:0]
	for _, peer := range p.leaving {
		switch {
		case p.gone[peer]:
		case p.unreadFrom(peer):
			kept = append(kept, peer)
		default:
			moved = true
			p.forget(peer)
			p.w.note(notePeerLeft, p.rank, nil, peer)
			p.core.Ended(peer, wire.Closed, nil)
		}
	}
	p.leaving = kept
	return moved
}

func (p *process) unreadFrom(peer int) bool {
	for _, l := range p.w.procs[peer].out {
		if l != nil && l.to == p.rank && l.in.Len() > 0 {
			return true
		}
	}
	return false
}

// forget ends the lanes between p and a peer that has ended.
func (p *process) forget(peer int) {
	p.gone[peer] = true
	p.dropTo(peer)
	for k := range wire.Lanes {
		if l := p.w.procs[peer].out[index(p.rank, k)]; l != nil {
			l.clear()
		}
	}
}

// dropTo discards the queues for a peer that accepts nothing any more.
func (p *process) dropTo(peer int) {
	for k := range wire.Lanes {
		if l := p.out[index(peer, k)]; l != nil {
			l.drop()
		}
	}
}

// peers returns the ranks that p has connections with.
func (p *process) peers() (all []int) {
	for r, other := range p.w.procs {
		for k := range wire.Lanes {
			if p.out[index(r, k)] != nil || other.out[index(p.rank, k)] != nil {
				all = append(all, r)
				break
			}
		}
	}
	return all
}

// close closes the process as runtime.Comm does.
func (p *process) close() {
	p.w.note(noteClose, p.rank, nil, 0)
	p.healthy = p.core.Close(errClosed)
	p.core.Goodbye(p.healthy)
	p.sealed = true
	p.state = closing
	for _, l := range p.ready { // from now on, arriving data is read and discarded
		l.clear()
		l.reopen(p.w)
	}
	for p.cast() {
	}
	p.direct, p.group = outlet{}, outlet{}
	p.behind = p.unsent()
	p.w.at(p.w.now+linger, event{kind: lingered, rank: p.rank})
	p.part()
}

// part continues to close.
func (p *process) part() {
	all := true
	for _, l := range p.out {
		if l != nil && !l.dead {
			l.hand(p.w)
			all = all && l.idle()
		}
	}
	if all {
		p.end()
	}
}

// unsent returns how many bytes and frames have not reached their receivers' systems.
func (p *process) unsent() (n int) {
	for _, l := range p.out {
		if l == nil || l.dead {
			continue
		}
		n += l.unacked
		for i := range l.queue.Len() {
			o := l.queue.At(i)
			n += 1 + len(o.frame.Body) - o.done
		}
	}
	return n
}

// giveUp ends the wait of close if nothing has been sent since the last check. A rank that has not
// received everything then sees a loss.
func (p *process) giveUp() {
	if p.state != closing {
		return
	}
	if left := p.unsent(); left < p.behind {
		p.behind = left
		p.w.at(p.w.now+linger, event{kind: lingered, rank: p.rank})
		return
	}
	for _, l := range p.out {
		if l != nil && !l.idle() {
			p.late[l.to] = true
			p.w.hasty = true
		}
	}
	p.end()
	p.dropOut()
}

// end closes the connections.
func (p *process) end() {
	p.state = closed
	p.w.note(noteEnd, p.rank, nil, 0)
	for _, peer := range p.peers() {
		p.w.at(p.w.now+p.w.tripTo(p.rank, peer), event{kind: notice, rank: peer, arg: p.rank, note: peerEnded})
	}
}

func (p *process) dropOut() {
	for _, l := range p.out {
		if l != nil {
			l.drop()
		}
	}
}
