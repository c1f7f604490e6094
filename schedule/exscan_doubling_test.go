package schedule

import "testing"

// exscan/doubling passes the conformance suite.
func TestExscanDoubling(t *testing.T) { conform(t, "exscan/doubling") }
