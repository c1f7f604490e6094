package schedule

import "testing"

// bcast/symmetric passes the conformance suite.
func TestSymmetric(t *testing.T) { conform(t, "bcast/symmetric") }
