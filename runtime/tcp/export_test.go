package tcp

import "github.com/schedgen/schedgen/runtime"

// Estrange has t take all peers for those of other hosts.
func (t *Transport) Estrange() {
	for rank := range t.peers {
		t.peers[rank].near = false
	}
}

// SlowDial begins to connect to a rank, which then takes until connect is
// called.
func (t *Transport) SlowDial(to int, lane runtime.Lane) (connect func()) {
	o := &outbound{p: &t.peers[to], lane: lane, fd: -1, token: -1}
	o.q.pushRecord(t.greeting(lane))
	o.p.out[lane] = o
	return func() { t.dial(o) }
}

// Part does what Close does first: say goodbye to who has connected.
func (t *Transport) Part(seq uint64) {
	t.parting = true
	t.tellSenders(seq)
}

// Serve does what Close does while it waits.
func (t *Transport) Serve() { t.Poll(nobody{}) }

// Connected reports whether frames to a rank can be written.
func (t *Transport) Connected(to int, lane runtime.Lane) bool {
	o := t.peers[to].out[lane]
	return o != nil && o.fd >= 0
}
