package golden

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

const mostDrawn = 1 << 16

// TestPicturesOfManyRanks checks that pictures stay readable and small for any number of ranks, and
// name what they leave out. A broadcast that cuts its message itself makes P² puts and is tried up
// to 1,024 ranks. Collectives of many blocks are tried up to mostDrawn blocks of all ranks
// together. Daily tests take one of the numbers of ranks for each algorithm in turn, and skip
// schedules of more than 2^18 actions.
func TestPicturesOfManyRanks(t *testing.T) {
	for i, alg := range schedule.Algorithms() {
		all := []int{32, 100, 1024, 4096}
		for _, ranks := range heavy.Or(all[i%4:i%4+1], all) {
			if row := alg.Row(); alg.CutsItself() && ranks > 1024 || row.Blocks != nil && ranks*row.Blocks(ranks) > mostDrawn {
				continue
			}
			spec, err := schedule.New(alg.Name, schedule.Params{Ranks: ranks})
			require.NoError(t, err)
			if _, actions := spec.Size(); actions > heavy.Or[int64](1<<18, 1<<22) { // every rank puts to every other
				continue
			}
			t.Run(fmt.Sprint(alg.Name, " ", ranks), func(t *testing.T) {
				s := spec.Schedule()
				requireSmallSVG(t, s)
				requireSmallDrawing(t, s)
			})
		}
	}
}

func requireSmallSVG(t *testing.T, s *ir.Schedule) {
	t.Helper()
	svg := emitted(t, "svg", s)
	if s.Folds() {
		require.Less(t, len(svg), 150_000)
	} else {
		require.Less(t, len(svg), 40_000)
	}
	var root struct {
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Desc   string  `xml:"desc"`
	}
	require.NoError(t, xml.Unmarshal([]byte(svg), &root))
	// there are 24 rounds, each wide enough for names of two chunks
	require.LessOrEqual(t, root.Width, 2400.0)
	if s.Folds() {
		require.LessOrEqual(t, root.Height, 1050.0) // up to eight results are below it, a line each
	} else {
		require.LessOrEqual(t, root.Height, 950.0)
	}
	if s.Ranks > 32 {
		require.Regexp(t, `[0-9]+ of [0-9,]+ ranks: .*the others are left out\.`, root.Desc)
	}
	require.NotContains(t, svg, "so bars count")
}

func requireSmallDrawing(t *testing.T, s *ir.Schedule) {
	t.Helper()
	for _, width := range []int{80, 200} {
		var b bytes.Buffer
		require.NoError(t, emit.Rounds(&b, s, emit.RoundsOptions{Width: width}))
		text := b.String()
		for line := range strings.SplitSeq(text, "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(line), width, line)
		}
		if s.Folds() {
			// there are 24 rounds in which some ranks fold, send and receive several times
			require.LessOrEqual(t, strings.Count(text, "\n"), 450)
		} else {
			require.LessOrEqual(t, strings.Count(text, "\n"), 160)
		}
		if s.Folds() && strings.Contains(text, "each line sums up a round") {
			continue // every rank folds and sends in every round
		}
		require.Contains(t, text, "●")
		if s.Ranks > 32 {
			require.Contains(t, strings.Join(strings.Fields(text), " "), "the others are left out.")
		}
	}
}
