package golden

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

const terminal = 80 // columns

// TestTerminal compares the output for a terminal of 80 columns with goldens: every algorithm at 8
// and 16 ranks, and the stories of two ranks of 8. At no size does a line need more columns.
func TestTerminal(t *testing.T) {
	for _, alg := range schedule.Algorithms() {
		for _, ranks := range heavy.Or([]int{8, 16}, []int{5, 8, 16, 32}) {
			s, _ := computed(t, alg.Name, schedule.Params{Ranks: ranks})
			shown := shownOn80(t, s)
			if ranks == 8 || ranks == 16 {
				name := fmt.Sprintf("%s-p%d.txt", strings.ReplaceAll(alg.Name, "/", "-"), ranks)
				compare(t, filepath.Join("testdata", "terminal", name), shown)
			}
		}
	}
}

// shownOn80 returns the drawing and the stories of ranks 0 and 3. It checks the width of all
// stories.
func shownOn80(t *testing.T, s *ir.Schedule) []byte {
	t.Helper()
	var out, lost bytes.Buffer
	require.NoError(t, emit.Rounds(&out, s, emit.RoundsOptions{Width: terminal}))
	require.NoError(t, emit.Rounds(&lost, s, emit.RoundsOptions{Width: terminal, Lost: true}))
	requireWidth(t, lost.String())
	for rank := range s.Programs {
		var story bytes.Buffer
		require.NoError(t, emit.Explain(&story, s, rank))
		requireWidth(t, story.String())
		if s.Ranks == 8 && (rank == 0 || rank == 3) {
			out.WriteString("\n" + story.String())
		}
	}
	requireWidth(t, out.String())
	return out.Bytes()
}

func requireWidth(t *testing.T, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		require.LessOrEqual(t, utf8.RuneCountInString(line), terminal, line)
		require.Equal(t, strings.TrimRight(line, " "), line)
	}
}
