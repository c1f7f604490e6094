package schedule

import "testing"

// allgather/ring passes the conformance suite.
func TestAllgatherRing(t *testing.T) { conform(t, "allgather/ring") }
