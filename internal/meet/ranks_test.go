package meet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRankList(t *testing.T) {
	for want, ranks := range map[string][]int{
		"rank 4":             {4},
		"ranks 1 and 3":      {1, 3},
		"ranks 1-3":          {1, 2, 3},
		"ranks 0, 2-4 and 9": {0, 2, 3, 4, 9},
		"ranks 1, 3, 5, 7, 9, 11, 13, 15 and 2 further runs of ranks": {1, 3, 5, 7, 9, 11, 13, 15, 17, 19},
	} {
		require.Equal(t, want, RankList(ranks))
	}
}
