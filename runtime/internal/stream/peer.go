package stream

// peer is what this rank knows of another.
type peer struct {
	t    *Transport
	rank int
	addr string
	near bool // on this host

	conns   []*conn     // all that are not closed, but for those that have not said whose they are
	out     []*outbound // by laneIndex, as the next three are: where what is put goes, nil if nowhere yet
	in      []*inbound  // what is read
	outTurn []uint64    // of the next half in which this rank speaks
	inTurn  []uint64    // of the one that follows that in in

	opened uint32 // halves in which this rank has spoken to p, ever
	taken  uint64 // bytes of operations for p that the system has taken
	end    end
}
