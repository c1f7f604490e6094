package dag

import (
	"cmp"
	"slices"
)

// channel identifies the messages between two ranks with one tag.
type channel struct{ from, to, tag int }

// end is a send or a receive, and its channel.
type end struct {
	channel
	ref Ref
}

func compareEnds(a, b end) int {
	return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.tag, b.tag),
		cmp.Compare(a.ref.I, b.ref.I))
}

// Match pairs the i-th send of each channel with the i-th receive. A channel is a sender, a
// receiver and a tag. The result holds, by operation number, the number of the operation's mate,
// and -1 for local work. The error is a [*Fault] if an operation has no mate, if mates have
// different sizes, or if messages of a channel may overtake each other. It is [ErrTooLarge] if the
// graph is too large to check.
func Match(g *Graph, x Index) ([]int, error) {
	sends, recvs := ends(g, Send), ends(g, Recv)
	mates := make([]int, x.Len())
	for i := range mates {
		mates[i] = -1
	}
	i, j := 0, 0
	for i < len(sends) || j < len(recvs) {
		switch c := compareHeads(sends[i:], recvs[j:]); {
		case c < 0:
			return nil, g.lonely(sends[i], "receives it")
		case c > 0:
			return nil, g.lonely(recvs[j], "sends it")
		}
		if err := g.checkPair(sends[i].ref, recvs[j].ref); err != nil {
			return nil, err
		}
		s, r := x.Of(sends[i].ref.Rank, sends[i].ref.I), x.Of(recvs[j].ref.Rank, recvs[j].ref.I)
		mates[s], mates[r] = r, s
		i, j = i+1, j+1
	}
	w := NewWalker(g)
	for _, e := range [][]end{sends, recvs} {
		if err := g.checkOrdered(w, e); err != nil {
			return nil, err
		}
	}
	return mates, nil
}

// ends returns the operations of one kind, sorted by channel.
func ends(g *Graph, kind Kind) []end {
	n := 0
	for _, ops := range g.Ranks {
		for i := range ops {
			if ops[i].Kind == kind {
				n++
			}
		}
	}
	all := make([]end, 0, n)
	for rank := range g.Ranks {
		for i := range g.Ranks[rank] {
			o := &g.Ranks[rank][i]
			if o.Kind != kind {
				continue
			}
			c := channel{rank, o.Peer, o.Tag}
			if kind == Recv {
				c = channel{o.Peer, rank, o.Tag}
			}
			all = append(all, end{c, Ref{rank, i}})
		}
	}
	slices.SortFunc(all, compareEnds)
	return all
}

// compareHeads compares the channels of the first elements of a and b. An empty list compares
// greater.
func compareHeads(a, b []end) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	x, y := a[0], b[0]
	x.ref.I, y.ref.I = 0, 0
	return compareEnds(x, y)
}

func (g *Graph) lonely(e end, does string) *Fault {
	o := &g.Ranks[e.ref.Rank][e.ref.I]
	way := "to"
	if o.Kind == Recv {
		way = "from"
	}
	return faultf([]int{e.ref.Rank, o.Peer}, "%s %s rank %d, tag %d, %d %s: rank %d never %s",
		g.Tell(e.ref), way, o.Peer, o.Tag, o.Size, g.Unit, o.Peer, does)
}

func (g *Graph) checkPair(s, r Ref) error {
	send, recv := &g.Ranks[s.Rank][s.I], &g.Ranks[r.Rank][r.I]
	if send.Size == recv.Size {
		return nil
	}
	return faultf([]int{s.Rank, r.Rank}, "%s sends %d %s, and %s takes %d",
		g.Tell(s), send.Size, g.Unit, g.Tell(r), recv.Size)
}

// checkOrdered checks for any two successive operations of a channel that the second starts after
// the first has ended. Otherwise either of them could take the first message.
func (g *Graph) checkOrdered(w *Walker, all []end) error {
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if a.channel != b.channel {
			continue
		}
		ordered, err := w.After(a.ref.Rank, b.ref.I, a.ref.I)
		if err != nil {
			return err
		}
		if !ordered {
			return faultf([]int{a.ref.Rank}, "%s and %s have the same peer and tag and nothing orders them: which message is which depends on timing",
				g.Tell(a.ref), g.TellOp(b.ref))
		}
	}
	return nil
}
