package schedule

import "github.com/schedgen/schedgen/ir"

// allreduceDoubling is recursive doubling: in round i the ranks whose numbers differ in bit i put
// what they have to each other, and both fold the two with that of the lower number on the left. So
// all of them fold one tree. See R. Thakur, R. Rabenseifner and W. Gropp (2005, §4.5).
func allreduceDoubling() Algorithm {
	return Algorithm{
		Name:       "allreduce/doubling",
		Collective: Allreduce,
		Paper:      "Thakur 2005 §4.5",
		Summary:    "round i: exchange partial results with the rank whose number differs in bit i, and fold them",
		Messages:   "F(p2·log2 p2 + 2(P-p2)) puts, p2 the largest power of two up to P",
		Params:     unrootedParams(),
		write:      writeAllreduceDoubling,
	}
}

func writeAllreduceDoubling(n *node, a *arena) ir.Program {
	p2, _ := powerBelow(n.hosts)
	for f := range n.chunks {
		switch number := n.number(n.v); {
		case !n.isMaster():
			a.putAs(ir.Input(f), n.master(n.v), n.partial(n.slaveIndex(), f))
		case number < 0:
			own := a.contribution(n, f, ir.None, false)
			a.putAs(own, n.master(n.v-1), n.partial(n.ofHost(n.v-1)-2, f))
			a.shareResult(n, f)
		default:
			result := ir.Chunk(f)
			own := a.contribution(n, f, result, n.hosts == 1)
			next := n.ofHost(n.v)
			for bit := 1; bit < p2; bit *= 2 {
				with := n.numbered(number ^ bit)
				theirs, made := n.partial(next, f), n.partial(next+1, f)
				if 2*bit == p2 {
					made = result
				}
				a.putAs(own, n.master(with), n.partial(n.ofHost(with)+next-n.ofHost(n.v), f))
				if number&bit == 0 {
					a.foldTwo(made, own, theirs)
				} else {
					a.foldTwo(made, theirs, own)
				}
				own, next = made, next+2
			}
			a.shareResult(n, f)
		}
	}
	return a.foldedProgram(n, n.chunks)
}

// shareResult writes the rule by which a master puts the result to the host that it stands for and to
// its slaves.
func (a *arena) shareResult(n *node, f int) {
	from := len(a.slots)
	a.wait(ir.Chunk(f))
	if n.stands(n.v) {
		a.put(ir.Chunk(f), n.master(n.v+1))
	}
	a.share(n, f)
	a.rule(a.span(from, from+1))
}

// foldedProgram returns the finished program of a rank that wants the given number of chunks, from
// c0 on.
func (a *arena) foldedProgram(n *node, chunks int) ir.Program {
	from := len(a.slots)
	for f := range chunks {
		a.wait(ir.Chunk(f))
	}
	return a.program(n, 0, a.span(from, len(a.slots)))
}
