package stream

// peer is what this rank knows of another.
type peer struct {
	t    *Transport
	rank int
	addr string
	near bool // on this host

	out     []*outbound // by laneIndex, as the next three are
	in      []*inbound
	outTurn []uint64   // of the next connection
	inTurn  []uint64   // of the one that follows that in in
	heirs   []*inbound // connections whose turn has not come

	opened uint32 // connections to p, ever
	taken  uint64 // bytes of operations for p that the system has taken
	end    end
}
