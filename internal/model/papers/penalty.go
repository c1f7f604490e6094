package papers

import "math"

// Penalty rounds (paper 000, section 2.2). A rank that has lost the multicast waits for its
// predecessor, which may have lost it as well. The number of its penalty rounds is the number of
// ranks in a row up to it that have lost the multicast. Losses are independent, each with
// probability ε.

// PenaltyMean returns the mean number of penalty rounds of the rank that is v ranks behind the root
// in the chain: ε + ε² + … + ε^v. There are at most v, because the root has the message.
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

// PenaltyTail returns the probability ε^k that a rank has k penalty rounds or more, if it is k or
// more ranks behind the root: "the chance that P processes fail in a row is ε^P".
func PenaltyTail(epsilon float64, k int) float64 { return math.Pow(epsilon, float64(k)) }

// LongestRun returns the probability that none of n ranks that can lose the multicast has more than
// k penalty rounds, which means that no run of losses is longer than k. A sequence of n starts with
// j ≤ k losses and one success, and n-j-1 ranks are left.
func LongestRun(epsilon float64, n, k int) float64 {
	f := make([]float64, n+1) // by length of the sequence
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

// WorstPenaltyMean returns the mean, over operations, of the largest number of penalty rounds of
// any of n ranks.
func WorstPenaltyMean(epsilon float64, n int) float64 {
	mean := 0.0
	for k := range n {
		mean += 1 - LongestRun(epsilon, n, k)
	}
	return mean
}
