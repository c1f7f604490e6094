package schedule

import "github.com/schedgen/schedgen/ir"

// allreduceDoubling is recursive doubling. In round i the ranks whose numbers differ in bit i put
// their partial results to each other. Both fold the two, the lower rank's on the left, so all
// ranks fold the same tree. See R. Thakur, R. Rabenseifner and W. Gropp (2005, §4.5).
func allreduceDoubling() Algorithm {
	return Algorithm{
		Name:       "allreduce/doubling",
		Collective: Allreduce,
		Paper:      "Thakur 2005 §4.5",
		Summary:    "round i: exchange partial results with the rank whose number differs in bit i, and fold them",
		Messages:   "F(p2·log2 p2 + 2(P-p2)) puts, p2 the largest power of two up to P",
		Params:     unrootedParams(),
		RankOrder:  true,
		Tree:       TreeOfDoubling,
		write:      writeAllreduceDoubling,
	}
}

func writeAllreduceDoubling(n *node, a *arena) ir.Program {
	p2, _ := powerBelow(n.hosts)
	for f := range n.chunks {
		c := n.ofChunk(f)
		switch number := n.number(n.v); {
		case !n.isMaster():
			a.contributeTo(n, &c)
		case number < 0:
			a.putBeside(n, &c)
			a.shareResult(n, f)
		default:
			have, next := a.contributionOfPair(n, &c), n.ofPair(n.v)
			for bit := 1; bit < p2; bit *= 2 {
				with := n.numbered(number ^ bit)
				theirs, made := next, next+1
				if 2*bit == p2 {
					made = result
				}
				a.putPartial(n, &c, have, n.master(with), n.ofPair(with)+next-n.ofPair(n.v))
				if number&bit == 0 {
					a.foldTwo(n.slot(made, f), n.slot(have, f), n.slot(theirs, f))
				} else {
					a.foldTwo(n.slot(made, f), n.slot(theirs, f), n.slot(have, f))
				}
				have, next = made, next+2
			}
			a.shareResult(n, f)
		}
	}
	return a.foldedProgram(n, 0, n.chunks)
}
