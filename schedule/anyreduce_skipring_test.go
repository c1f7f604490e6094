package schedule

import "testing"

// anyreduce/skip-ring passes the conformance suite.
func TestAnyreduceSkipRing(t *testing.T) { conform(t, "anyreduce/skip-ring") }
