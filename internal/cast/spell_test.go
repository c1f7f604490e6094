package cast

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/meet/lobby"
	"github.com/schedgen/schedgen/runtime"
)

// Errors for users have the names of hosts, without epochs and rules.
func TestSpelled(t *testing.T) {
	r := &round{Party: &lobby.Party{Guests: []lobby.Guest{{Name: "a"}, {Name: "node02"}}}}
	inner := &runtime.OpError{Op: "barrier/hsb", Rank: 1, Epoch: 3, Err: &runtime.RankError{Rank: 2, Err: errors.New("gone")}}
	op := &runtime.OpError{Op: "bcast/mcast-acktree", Rank: 1, Epoch: 1, Seq: 7, Rules: 9, Err: inner}
	err := spelled(t.Context(), fmt.Errorf("send: %w", errors.Join(errors.New("rank 0 and rank 77"), op)), r.name)
	require.EqualError(t, err, "send: the sender and rank 77\nnode02: gone")
	require.ErrorIs(t, err, inner)
	require.Equal(t, "receiver 2 tells the sender", named("rank 2 tells rank 0", nameAtReceiver))
	require.NoError(t, spelled(t.Context(), nil, r.name))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = spelled(ctx, op, r.name)
	require.EqualError(t, err, "the cast was interrupted")
	require.ErrorIs(t, err, errInterrupted)
}
