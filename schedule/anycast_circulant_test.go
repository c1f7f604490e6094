package schedule

import "testing"

// anycast/circulant passes the conformance suite.
func TestCirculant(t *testing.T) { conform(t, "anycast/circulant") }
