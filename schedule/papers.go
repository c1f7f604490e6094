package schedule

import (
	"slices"
	"strings"
)

// Paper is a publication that algorithms come from.
type Paper struct {
	Number  string // as in Algorithm.Paper
	Authors string
	Title   string
}

// Papers returns what the numbers in Algorithm.Paper stand for, in their order.
func Papers() []Paper {
	return []Paper{
		{"000", "T. Hoefler, C. Siebert, W. Rehm",
			"A practically constant-time MPI Broadcast Algorithm for large-scale InfiniBand Clusters with Multicast"},
		{"001", "T. Li, H. Tang, Q. Koziol, S. Byna",
			"Anycast: Rootless Broadcasting with MPI"},
		{"002", "S. Mansoor, J. M. Meehan",
			"Reliable Multicast Protocol Using Infiniband Remote Direct Memory Access"},
		{"003", "B. Bierbaum, G. Wassen, S. Lankes, T. Bemmerl",
			"Evaluation of Optimized Barrier Algorithms for SCI Networks with Different MPI Implementations"},
		{"004", "S. Juhász",
			"Broadcasting Algorithm of Constant Complexity for Fully-Switched Clusters"},
	}
}

// Papers returns the papers that the algorithm comes from, none if it is ours.
func (a *Algorithm) Papers() []Paper {
	return slices.DeleteFunc(Papers(), func(p Paper) bool { return !strings.Contains(a.Paper, p.Number+" §") })
}
