package ir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

// TestBroadcasts checks which collectives only bring the root's block to all ranks.
func TestBroadcasts(t *testing.T) {
	var names []string
	for _, row := range ir.Collectives() {
		if row.Broadcasts() {
			names = append(names, row.Name)
		}
	}
	require.Equal(t, []string{"bcast", "anycast"}, names)
	require.False(t, new(ir.Collective).Broadcasts())
}
