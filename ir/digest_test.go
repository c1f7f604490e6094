package ir_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

func TestDigestTellsSchedulesApart(t *testing.T) {
	const text = "schedule barrier/pair ranks=2\nrank 0\n  enter -> put s0 @1\n  done s0\nrank 1\n  enter -> put s0 @0\n  done s0\n"
	digest := func(text string) uint64 {
		s, err := ir.ParseText(strings.NewReader(text))
		require.NoError(t, err)
		d, err := ir.Digest(s)
		require.NoError(t, err)
		return d
	}
	require.Equal(t, digest(text), digest(text))
	seen := map[uint64]string{}
	for _, change := range []string{"", "pair>pairs", "done s0>done enter", "put s0 @0>put s0 @0, put s0 @0"} {
		old, other, _ := strings.Cut(change, ">")
		changed := strings.Replace(text, old, other, 1)
		require.Empty(t, seen[digest(changed)], changed)
		seen[digest(changed)] = changed
	}
	_, err := ir.Digest(&ir.Schedule{})
	require.Error(t, err)
}
