package schedule

import "testing"

// scan/chain passes the conformance suite.
func TestScanChain(t *testing.T) { conform(t, "scan/chain") }
