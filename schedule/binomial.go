package schedule

import "math/bits"

// The binomial tree of n nodes with root 0: the parent of v is v without its lowest set bit. So the
// children of v are v+2^j for j below the number of trailing zeros of v, as long as they are below
// n. The sub-tree of child v+2^j has order j (paper 002, §2.1).

// binomialDegree returns how many children v has. They are v+2^j for j in 0 … degree-1.
func binomialDegree(v, n int) int {
	return min(bits.TrailingZeros(uint(v)), bits.Len(uint(n-1-v)))
}

// binomialChild returns child i of v in the order of sending, largest sub-tree first.
func binomialChild(v, n, i int) int { return v + 1<<(binomialDegree(v, n)-1-i) }

// binomialParent returns the parent of v ≥ 1.
func binomialParent(v int) int { return v & (v - 1) }

// binomialSpan returns how many nodes the sub-tree of v has. They are v and the nodes after it.
func binomialSpan(v, n int) int {
	if v == 0 {
		return n
	}
	return min(v&-v, n-v)
}
