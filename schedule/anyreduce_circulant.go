package schedule

// anyreduceCirculant asks along the binomial tree that is rotated to the origin: see circulant. The
// answers take the same way back. So the origin has them after 2⌊log2 P⌋ hops, and all ranks have
// the result after 3⌊log2 P⌋ hops.
func anyreduceCirculant() Algorithm {
	return anyreduce("anyreduce/circulant", "001 §4",
		"rootless: any rank asks, all answer, on channels to r+2^k",
		func(ranks int) circulantOverlay { return circulantOverlay{ranks} })
}
