package schedule

import "testing"

// allreduce/two-shot passes the conformance suite.
func TestAllreduceTwoShot(t *testing.T) { conform(t, "allreduce/two-shot") }
