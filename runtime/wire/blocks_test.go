package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

func TestBlocks(t *testing.T) {
	for hosts, want := range map[string]int{
		"": 0, "a": 1, "aa": 1, "ab": 2, "aab": 2, "abb": 0, "aabbcc": 3, "aba": 0, "aabbaa": 0, "aaaab": 0,
		"aaaabbbbccccdddd": 4, "aaabbccc": 0, "aaabbbcc": 3, "abcdefgh": 8,
	} {
		require.Equal(t, want, wire.Blocks([]byte(hosts)), hosts)
	}
}

// Blocks recognizes the blocks of package schedule.
func TestBlocksAreThoseOfSchedules(t *testing.T) {
	for ranks := 1; ranks <= 40; ranks++ {
		for hosts := 1; hosts <= ranks; hosts++ {
			host := make([]int, ranks)
			for r := range host {
				host[r] = -(r * hosts / ranks)
			}
			require.Equal(t, hosts, wire.Blocks(host), "%d ranks", ranks)
		}
	}
}
