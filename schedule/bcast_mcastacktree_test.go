package schedule

import "testing"

// bcast/mcast-acktree passes the conformance suite.
func TestMcastAckTree(t *testing.T) { conform(t, "bcast/mcast-acktree") }
