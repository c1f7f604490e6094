package stream

// Estrange has t take all peers for those of other hosts.
func (t *Transport) Estrange() {
	for rank := range t.peers {
		t.peers[rank].near = false
	}
}
