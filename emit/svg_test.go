package emit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

func svgOf(t *testing.T, s *ir.Schedule) string {
	t.Helper()
	return written(t, func(b *bytes.Buffer) error { return Write(b, "svg", s, Options{}) })
}

// requireSafe reads the picture as XML and requires that it loads nothing and runs nothing.
func requireSafe(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		require.Contains(t, []string{"svg", "title", "desc", "style", "rect", "path", "text"}, start.Name.Local)
		for _, a := range start.Attr {
			require.NotContains(t, a.Name.Local, "href")
			require.False(t, strings.HasPrefix(a.Name.Local, "on"), a.Name.Local)
			require.NotContains(t, a.Value, "NaN")
			require.NotContains(t, a.Value, "Inf")
		}
	}
}

func TestPicturesAreSafeXML(t *testing.T) {
	all := cases(t)
	for _, ranks := range []int{1, 2, 32, wholeRanks + 1, 1000} {
		all[fmt.Sprint("chain of ", ranks)] = chain(ranks)
	}
	for name, s := range all {
		t.Run(name, func(t *testing.T) {
			svg := svgOf(t, s)
			requireSafe(t, svg)
			require.Contains(t, svg, `role="img"`)
			require.Contains(t, svg, "<title id=")
			require.Contains(t, svg, "<desc id=")
			require.Contains(t, svg, "prefers-color-scheme:dark")
		})
	}
}

func TestWhatIsTooLargeForLanesHasBars(t *testing.T) {
	svg := func(s *ir.Schedule) string {
		return written(t, func(b *bytes.Buffer) error { return Write(b, "svg", s, Options{Extract: Extract{kind: everybody}}) })
	}
	require.NotContains(t, svg(chain(100)), "too many")
	got := svg(chain(maxSVGRanks + 1))
	require.Contains(t, got, "129 ranks are too many for a lane each")
	require.Contains(t, got, "rounds 1-128")
	require.Contains(t, svg(pingPong(200)), "200 rounds are too many to draw")
}

func TestNamesAreEscaped(t *testing.T) {
	s := chain(3)
	s.Algorithm = `<script>&"`
	svg := svgOf(t, s)
	requireSafe(t, svg)
	require.NotContains(t, svg, "<script")
}

// TestEveryTransferArrives counts the heads of a drawing: one for each rank to which something
// goes, besides the heads in the legend.
func TestEveryTransferArrives(t *testing.T) {
	for _, ranks := range []int{2, 3, 9} {
		s := chain(ranks)
		heads := 0
		for line := range strings.SplitSeq(svgOf(t, s), "\n") {
			if strings.HasPrefix(line, `<path class="put full dash0 nib"`) && !strings.Contains(line, "a2.6") {
				heads += strings.Count(line, "z")
			}
		}
		require.Equal(t, ranks-1+1, heads)
	}
}

// TestRankThatNeverReturnsIsMarked draws schedules in which some ranks wait forever.
func TestRankThatNeverReturnsIsMarked(t *testing.T) {
	s := chain(3)
	require.NotContains(t, svgOf(t, s), "never returns")
	s.Programs[1].Rules = nil
	svg := svgOf(t, s)
	require.Contains(t, svg, "never returns")
	require.Contains(t, svg, "Calls that never return: 1.")
}
