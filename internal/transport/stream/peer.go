package stream

// peer is what this rank knows about another rank.
type peer struct {
	t    *Transport
	rank int
	addr string
	near bool // on this host

	conns   []*conn     // all open connections that have named their rank
	out     []*outbound // by laneIndex, like the next three: the half for puts, or nil
	in      []*inbound  // the half that is read
	outTurn []uint64    // turn of the next half in which this rank speaks
	inTurn  []uint64    // turn of the half that follows in

	opened uint32 // halves in which this rank has ever spoken to p
	taken  uint64 // bytes of operations for p that the system has taken
	end    end
}
