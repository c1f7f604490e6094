package cli

import (
	"slices"
	"sync"

	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/membership"
)

// roster holds the members that this one knows or has known, and counts the messages of each.
type roster struct {
	mu      sync.Mutex
	peers   []*peer // in the order in which they came
	byID    map[membership.ID]*peer
	earlier int // messages of members that were dropped from peers
	view    membership.View
}

// peer is another member.
type peer struct {
	id    membership.ID
	name  string
	elder bool   // it was a member before this one
	heard int    // number of messages received
	first uint64 // number of the first message received
	next  uint64 // number that the next message must have
}

// maxPeers bounds the length of roster.peers.
const maxPeers = 2 * membership.MaxMembers

// note adds the members that have come.
func (r *roster) note(c group.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	elder := r.view.Epoch == 0
	r.view = c.View
	for _, m := range c.Came {
		r.add(&peer{id: m.ID, name: m.Name, elder: elder})
	}
	for len(r.peers) > maxPeers && r.forget() {
	}
}

func (r *roster) add(p *peer) {
	if r.byID == nil {
		r.byID = make(map[membership.ID]*peer)
	}
	r.peers = append(r.peers, p)
	r.byID[p.id] = p
}

// forget drops the oldest peer that is no longer a member. It returns false if there is none.
func (r *roster) forget() bool {
	i := slices.IndexFunc(r.peers, func(p *peer) bool { return !r.view.Has(p.id) })
	if i >= 0 {
		r.earlier += r.peers[i].heard
		delete(r.byID, r.peers[i].id)
		r.peers = slices.Delete(r.peers, i, i+1)
	}
	return i >= 0
}

// hear records a message. It returns the origin of the message and the number that the message
// should have.
func (r *roster) hear(msg *group.Message) (p *peer, want uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p = r.byID[msg.Origin]; p == nil { // the origin came and went in views that this member never saw
		p = &peer{id: msg.Origin, name: msg.Origin.String()[:8]}
		r.add(p)
	}
	if p.heard == 0 {
		p.first = msg.Seq
		if p.elder {
			p.next = msg.Seq
		}
	}
	want = p.next
	p.next = msg.Seq + 1
	p.heard++
	return p, want
}
