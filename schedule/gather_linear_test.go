package schedule

import "testing"

// gather/linear passes the conformance suite.
func TestGatherLinear(t *testing.T) { conform(t, "gather/linear") }
