package papers

import "math"

// Penalty rounds (paper 000, section 2.2). A rank that has lost the multicast
// waits for its predecessor, which may have lost it as well: its penalty rounds
// are how many ranks in a row up to it have lost it. Losses are independent, of
// probability ε each.

// PenaltyMean returns the mean of the penalty rounds of the rank that stands
// behind the root in the chain by v ranks, ε + ε² + … + ε^v: the root has the
// message, so there are no more than v.
func PenaltyMean(epsilon float64, v int) float64 {
	if epsilon >= 1 {
		return float64(v)
	}
	return epsilon * (1 - math.Pow(epsilon, float64(v))) / (1 - epsilon)
}

// PenaltyMeanOf returns the mean of PenaltyMean over the ranks 1 … p-1.
func PenaltyMeanOf(epsilon float64, p int) float64 {
	sum := 0.0
	for v := 1; v < p; v++ {
		sum += PenaltyMean(epsilon, v)
	}
	return sum / float64(max(1, p-1))
}

// PenaltyTail returns the probability that a rank has k penalty rounds or more,
// ε^k, if it stands k or more ranks behind the root: "the chance that P processes
// fail in a row is ε^P".
func PenaltyTail(epsilon float64, k int) float64 { return math.Pow(epsilon, float64(k)) }

// LongestRun returns the probability that no rank has more than k penalty rounds
// among n that can lose the multicast: that no run of losses is longer. A sequence
// of n begins with j ≤ k losses and one that is none, and n-j-1 are left.
func LongestRun(epsilon float64, n, k int) float64 {
	f := make([]float64, n+1) // of sequences of each length
	for m := range f {
		if m <= k {
			f[m] = 1
			continue
		}
		chance := 1 - epsilon
		for j := range k + 1 {
			f[m] += chance * f[m-j-1]
			chance *= epsilon
		}
	}
	return f[n]
}

// WorstPenaltyMean returns the mean, over operations, of the penalty rounds of
// the rank that has most among n.
func WorstPenaltyMean(epsilon float64, n int) float64 {
	mean := 0.0
	for k := range n {
		mean += 1 - LongestRun(epsilon, n, k)
	}
	return mean
}
