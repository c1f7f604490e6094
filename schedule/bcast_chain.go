package schedule

// chain is the fragmented chain broadcast (paper 000, §2.2, its second stage
// alone): every rank puts each chunk to its successor as it gets it. The edge
// from the last rank back to the root is left out.
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
	}
}

func chainDegree(v, group int) int { return count(v+1 < group) }

func chainChild(v, _, _ int) int { return v + 1 }
