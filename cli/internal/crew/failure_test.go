package crew

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
)

// TestFailuresAreSaidOnce checks that a failure names its rank once, and no cause twice.
func TestFailuresAreSaidOnce(t *testing.T) {
	left := &runtime.RankError{Rank: 1, Err: fmt.Errorf("%w: %w", runtime.ErrPeerLeft, runtime.ErrPeerLeft)}
	op := &runtime.OpError{Op: "bcast/chain", Rank: 2, Epoch: 0, Seq: 3, Err: left}
	f := newFailure(2, fmt.Errorf("after the warm-up: %w", op))
	require.Equal(t, "rank 2: after the warm-up: bcast/chain, operation 3: rank 1: rank has left", f.String())
	require.Equal(t, causePeer, f.Cause)
	require.Equal(t, "rank 0: broken", newFailure(0, errors.New("broken")).String())
}
