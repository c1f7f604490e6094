package schedule

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPaperNumbers checks that every label that an algorithm names belongs to a paper, and that an
// algorithm names every paper.
func TestPaperNumbers(t *testing.T) {
	named := map[string]bool{}
	for _, a := range Algorithms() {
		var got []string
		for _, p := range a.Papers() {
			require.NotEmpty(t, p.Authors)
			require.NotEmpty(t, p.Title)
			got = append(got, p.Number)
			named[p.Number] = true
		}
		if a.Paper == "ours" {
			require.Empty(t, got, a.Name)
			continue
		}
		cited := strings.Split(a.Paper, ", ")
		for i := range cited {
			cited[i], _, _ = strings.Cut(cited[i], " §")
		}
		require.Equal(t, cited, got, a.Name)
	}
	require.Len(t, named, len(Papers()))
}
