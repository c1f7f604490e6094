package schedule

// anyreduceSkipRing asks along the channels of a skip ring: see skipRing. The answers take the same
// way back.
func anyreduceSkipRing() Algorithm {
	return anyreduce("anyreduce/skip-ring", "001 §4",
		"rootless: any rank asks, all answer, on the channels of a skip ring",
		func(ranks int) skipRing { return skipRing{ranks} })
}
