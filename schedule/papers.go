package schedule

import (
	"slices"
	"strings"
)

// Paper is a publication or a program from which algorithms come.
type Paper struct {
	Number  string // as in Algorithm.Paper: a number, the first author and year, or a program's name
	Authors string // initials and names, separated by commas
	Title   string // as published
}

// Papers returns the papers to which Algorithm.Paper refers, in the order of their numbers.
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
		{"Barnett 1994", "M. Barnett, S. Gupta, D. Payne, L. Shuler, R. van de Geijn, J. Watts",
			"Interprocessor Collective Communication Library (InterCom)"},
		{"Bruck 1997", "J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby",
			"Efficient Algorithms for All-to-All Communications in Multiport Message-Passing Systems"},
		{"Chen 2005", "J. Chen, L. Zhang, Y. Zhang, W. Yuan",
			"Performance Evaluation of Allgather Algorithms on Terascale Linux Cluster with Fast Ethernet"},
		{"MPICH", "MPICH developers",
			"MPICH: recursive multiplying (pull request 7177)"},
		{"Patarasuk 2009", "P. Patarasuk, X. Yuan",
			"Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations"},
		{"Sanders 2009", "P. Sanders, J. Speck, J. L. Träff",
			"Two-tree algorithms for full bandwidth broadcast, reduction and scan"},
		{"Thakur 2005", "R. Thakur, R. Rabenseifner, W. Gropp",
			"Optimization of Collective Communication Operations in MPICH"},
		{"Träff 2024", "J. L. Träff",
			"Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms"},
		{"Träff 2025", "J. L. Träff",
			"Communication Round and Computation Efficient Exclusive Prefix-Sums Algorithms (for MPI_Exscan)"},
		{"UCC tl_mlx5", "UCF consortium",
			"Unified Collective Communication, team layer mlx5: allgather by multicast"},
	}
}

// Papers returns the papers from which the algorithm comes. It returns none if the algorithm is
// ours.
func (a *Algorithm) Papers() []Paper {
	return slices.DeleteFunc(Papers(), func(p Paper) bool {
		return !slices.ContainsFunc(strings.Split(a.Paper, ", "), func(cited string) bool {
			number, _, _ := strings.Cut(cited, " §")
			return number == p.Number
		})
	})
}
