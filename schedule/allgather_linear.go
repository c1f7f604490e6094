package schedule

// allgatherLinear lets every rank put its block to all others at once. A rank starts with the rank
// that follows it, so that not all ranks start with the same one. No rank waits for another before
// it sends. If ranks share memory, a rank writes its block once, and all others read it there.
// Otherwise a rank sends P-1 messages.
func allgatherLinear() Algorithm {
	return spread{
		rounds:   func(hosts int) int { return hosts - 1 },
		sends:    func(l layout, v, i int) (to, first, hosts int) { return l.after(v, 1+i), v, 1 },
		gets:     func(l layout, v, i int) (first, hosts int) { return l.after(v, -1-i), 1 },
		together: true,
		sum: func(n node) size {
			if n.hosts == 1 {
				return size{}
			}
			own := n.ranksOf(n.v, 1).n
			return n.eachChunkSize(own, own*(n.hosts-1))
		},
	}.algorithm(Algorithm{
		Name:     "allgather/linear",
		Paper:    "ours",
		Summary:  "every rank puts its block to all others",
		Messages: "F·P(P-1) puts",
	})
}
