package schedule

// chain is the fragmented chain broadcast (the second stage of paper 000, §2.2). Every rank puts
// each chunk to its successor when it gets the chunk. The edge from the last rank back to the root
// is left out.
//
// On hosts a master puts each chunk to the next host first and then to its slaves. The other way
// round is never shorter in LogGP and takes 1.3 times as long on average. If the root served its
// slaves after all chunks have left, the broadcast would be up to 28 % faster in some cases and up
// to 53 % slower in others (doc.go, Order).
func chain() Algorithm {
	t := tree{degree: chainDegree, child: chainChild}
	return Algorithm{
		Name:       "bcast/chain",
		Collective: Bcast,
		Paper:      "000 §2.2",
		Summary:    "pipeline: every rank passes each chunk to the next",
		Messages:   "F(P-1) puts",
		Params:     bcastParams(),
		size:       t.size,
		fill:       t.fill,
		slaves:     bcastSlaves,
	}
}

func chainDegree(v, group int) int { return count(v+1 < group) }

func chainChild(v, _, _ int) int { return v + 1 }
