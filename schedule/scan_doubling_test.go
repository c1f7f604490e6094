package schedule

import "testing"

// scan/doubling passes the conformance suite.
func TestScanDoubling(t *testing.T) { conform(t, "scan/doubling") }
