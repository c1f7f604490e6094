package schedule

import "testing"

// anyreduce/mcast-acktree passes the conformance suite.
func TestAnyreduceMcastAckTree(t *testing.T) { conform(t, "anyreduce/mcast-acktree") }
