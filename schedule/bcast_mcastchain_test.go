package schedule

import "testing"

// bcast/mcast-chain passes the conformance suite.
func TestMcastChain(t *testing.T) { conform(t, "bcast/mcast-chain") }
