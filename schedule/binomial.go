package schedule

import "math/bits"

// The binomial tree of n nodes, root 0: v is a child of v without its lowest
// set bit, so its children are v+2^j for j below the number of trailing zeros
// of v, where they are below n (paper 002, §2.1; the sub-tree of child v+2^j
// has order j).

// binomialDegree returns how many children v has; they are v+2^j for j from 0
// to one less.
func binomialDegree(v, n int) int {
	return min(bits.TrailingZeros(uint(v)), bits.Len(uint(n-1-v)))
}

// binomialParent returns the parent of v ≥ 1.
func binomialParent(v int) int { return v & (v - 1) }
