package schedule

import "testing"

// bcast/scatter-allgather passes the conformance suite.
func TestScatterAllgather(t *testing.T) { conform(t, "bcast/scatter-allgather") }
