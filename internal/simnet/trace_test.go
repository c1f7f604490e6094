package simnet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// A trace names every kind of frame, each by a name of its own.
func TestEveryFrameKindHasAName(t *testing.T) {
	kinds := map[string]wire.FrameKind{}
	for k := wire.FrameKind(1); k.Valid(); k++ {
		require.Less(t, int(k), len(frameNames), "no name for kind %d", k)
		name := frameNames[k]
		require.NotContains(t, []string{"", frameNames[0]}, name, "kind %d", k)
		require.NotContains(t, kinds, name)
		kinds[name] = k
	}
	require.Len(t, frameNames, len(kinds)+1)
	require.Contains(t, spell(&wire.Header{Kind: wire.FrameUnanswered}), "unanswered of 0")
}
