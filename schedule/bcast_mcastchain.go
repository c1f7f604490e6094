package schedule

// mcastChain is the two-stage broadcast (paper 000, §2): the root multicasts
// every chunk and at the same time starts the chain that makes up for what the
// multicast loses. A rule that forwards a chunk does not care which of the two
// brought it, so every rank that the multicast reached is a new root of the
// chain.
//
// The root multicasts all chunks before it puts any: multicasts last take 1.3 times
// as long on average in LogGP, chunk by chunk as long. What it puts is needed where
// the multicast is lost, so it goes as in bcast/chain (doc.go, Order).
func mcastChain() Algorithm {
	t := tree{mcast: true, degree: chainDegree, child: chainChild}
	return Algorithm{
		Name:       "bcast/mcast-chain",
		Collective: Bcast,
		Paper:      "000 §2",
		Summary:    "two stages at once: unreliable multicast, and a chain that makes it reliable",
		Messages:   "F mcasts, F(P-1) puts",
		Params:     bcastParams(),
		size:       t.size,
		fill:       t.fill,
	}
}
