package schedule

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every number that an algorithm names stands for a paper, and every paper is
// named by an algorithm.
func TestPaperNumbers(t *testing.T) {
	number := regexp.MustCompile(`[0-9]{3}`)
	named := map[string]bool{}
	for _, a := range Algorithms() {
		var got []string
		for _, p := range a.Papers() {
			require.NotEmpty(t, p.Authors)
			require.NotEmpty(t, p.Title)
			got = append(got, p.Number)
			named[p.Number] = true
		}
		require.Equal(t, number.FindAllString(a.Paper, -1), got, a.Name)
		require.Equal(t, strings.Contains(a.Paper, "ours"), len(got) == 0, a.Name)
	}
	require.Len(t, named, len(Papers()))
}
