package schedule

import "testing"

// reduce-scatter/circulant passes the conformance suite.
func TestReduceScatterCirculant(t *testing.T) { conform(t, "reduce-scatter/circulant") }
