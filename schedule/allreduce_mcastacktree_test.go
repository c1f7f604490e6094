package schedule

import "testing"

// allreduce/mcast-acktree passes the conformance suite.
func TestAllreduceMcastAckTree(t *testing.T) { conform(t, "allreduce/mcast-acktree") }
