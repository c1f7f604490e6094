package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
)

func TestFindPlace(t *testing.T) {
	good := map[string]struct {
		env  map[string]string
		want runtime.Place
	}{
		"own":         {map[string]string{"SCHEDGEN_RANK": "1", "SCHEDGEN_SIZE": "4"}, runtime.Place{Rank: 1, Size: 4, Source: "SCHEDGEN_RANK and SCHEDGEN_SIZE"}},
		"own wins":    {map[string]string{"SCHEDGEN_RANK": "1", "SCHEDGEN_SIZE": "4", "PMI_RANK": "0", "PMI_SIZE": "2"}, runtime.Place{Rank: 1, Size: 4, Source: "SCHEDGEN_RANK and SCHEDGEN_SIZE"}},
		"slurm":       {map[string]string{"SLURM_PROCID": "7", "SLURM_NTASKS": "8"}, runtime.Place{Rank: 7, Size: 8, Source: "SLURM_PROCID and SLURM_NTASKS"}},
		"two, agreed": {map[string]string{"SLURM_PROCID": "7", "SLURM_NTASKS": "8", "PMI_RANK": "7", "PMI_SIZE": "8"}, runtime.Place{Rank: 7, Size: 8, Source: "PMI_RANK and PMI_SIZE"}},
	}
	for name, c := range good {
		t.Run(name, func(t *testing.T) {
			got, err := runtime.FindPlace(func(k string) string { return c.env[k] })
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	bad := map[string]struct {
		env  map[string]string
		want string
	}{
		"nothing":      {nil, "SCHEDGEN_RANK"},
		"half":         {map[string]string{"PMI_RANK": "1"}, `PMI_SIZE is ""`},
		"no number":    {map[string]string{"PMI_RANK": "x", "PMI_SIZE": "2"}, "PMI_RANK"},
		"outside":      {map[string]string{"RANK": "2", "WORLD_SIZE": "2"}, "RANK is 2"},
		"contradicted": {map[string]string{"PMI_RANK": "0", "PMI_SIZE": "2", "RANK": "1", "WORLD_SIZE": "2"}, "PMI_RANK and PMI_SIZE say rank 0 of 2"},
	}
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			_, err := runtime.FindPlace(func(k string) string { return c.env[k] })
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestBlocks(t *testing.T) {
	for hosts, want := range map[string]int{
		"": 0, "a": 1, "aa": 1, "ab": 2, "aab": 2, "abb": 0, "aabbcc": 3, "aba": 0, "aabbaa": 0, "aaaab": 0,
		"aaaabbbbccccdddd": 4, "aaabbccc": 0, "aaabbbcc": 3, "abcdefgh": 8,
	} {
		require.Equal(t, want, runtime.Blocks([]byte(hosts)), hosts)
	}
}

// What Blocks takes for blocks are those of the schedules.
func TestBlocksAreThoseOfSchedules(t *testing.T) {
	for ranks := 1; ranks <= 40; ranks++ {
		for hosts := 1; hosts <= ranks; hosts++ {
			host := make([]int, ranks)
			for r := range host {
				host[r] = -(r * hosts / ranks)
			}
			require.Equal(t, hosts, runtime.Blocks(host), "%d ranks", ranks)
		}
	}
}
