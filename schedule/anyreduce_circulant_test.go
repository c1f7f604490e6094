package schedule

import "testing"

// anyreduce/circulant passes the conformance suite.
func TestAnyreduceCirculant(t *testing.T) { conform(t, "anyreduce/circulant") }
