package schedule

// anycastMcastAckTree is the reliable multicast of paper 002, §3, in its general form: any rank
// multicasts at any time, and no rank has posted a receive. Acknowledgements climb the binomial
// tree rooted at the sender, so several senders load different links. For one origin, the programs
// equal the programs of bcast/mcast-acktree from that root with one chunk: they have the same
// acknowledgements and the same two repairs.
//
// A receiver that has lost the multicast does not know that there was one. So for a message by
// itself only acknowledgements reveal a loss (§3): a parent misses the acknowledgement of a child,
// or gets one that it cannot match to a message. In a stream of messages a later message reveals
// the loss, too, and a rank asks its parent for the messages that it lacks: see package
// internal/core/publish.
//
// The overlay is the tree of acknowledgements, on the channels of anycast/circulant. Messages go
// down it if they are too long to be multicast.
func anycastMcastAckTree() Algorithm {
	return Algorithm{
		Name:       "anycast/mcast-acktree",
		Collective: Anycast,
		Paper:      "002 §3",
		Summary:    "rootless: any rank multicasts at any time; cumulative ACKs climb the binomial tree rooted at it",
		Messages:   "1 mcast, P-1 ACKs a message",
		Params:     anycastParams(),
		acked:      true,
		recovers:   true,
		size:       sizeAckTree,
		fill:       fillAckTree,
		overlay:    func(ranks int) Overlay { return circulantOverlay{ranks} },
	}
}
