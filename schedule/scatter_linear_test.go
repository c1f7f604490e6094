package schedule

import "testing"

// scatter/linear passes the conformance suite.
func TestScatterLinear(t *testing.T) { conform(t, "scatter/linear") }
