package emit

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

func page(t *testing.T, s *ir.Schedule, o Options) string {
	t.Helper()
	return written(t, func(b *bytes.Buffer) error { return Write(b, "html", s, o) })
}

var pageData = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

// dataOf returns the data that the page's script reads.
func dataOf(t *testing.T, page string) (out struct {
	Start     int
	Schedules []json.RawMessage
	Failures  []pageFailure
	Command   string
}) {
	t.Helper()
	m := pageData.FindStringSubmatch(page)
	require.Len(t, m, 2)
	require.NoError(t, json.Unmarshal([]byte(m[1]), &out))
	return out
}

func TestPageLoadsNothing(t *testing.T) {
	text := page(t, chain(3), Options{})
	require.Contains(t, text, "default-src 'none'")
	for _, foreign := range []string{"src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "{{"} {
		require.NotContains(t, text, foreign)
	}
	rest := strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")
	require.NotContains(t, rest, "://")
}

func TestNothingEndsThePagesDataEarly(t *testing.T) {
	hostile := "</script><script>alert(1)</script><!-- & \u2028"
	text := page(t, chain(2), Options{Command: hostile, Failures: []Failure{{Check: hostile, Text: hostile}}})
	require.NotContains(t, text, "alert(1)</script>")
	data := dataOf(t, text)
	require.Equal(t, hostile, data.Command)
	require.Equal(t, hostile, data.Failures[0].Text)
}

func TestPageHoldsOneScheduleForEachRoot(t *testing.T) {
	root := func(r int) *ir.Schedule {
		s := chain(3)
		s.Root = r
		return s
	}
	data := dataOf(t, page(t, root(1), Options{Others: []*ir.Schedule{root(2), root(1), root(0)}}))
	require.Len(t, data.Schedules, 3)
	require.Equal(t, 1, data.Start)
	for i, raw := range data.Schedules {
		got, err := ir.ParseJSON(bytes.NewReader(raw))
		require.NoError(t, err)
		require.Equal(t, root(i), got)
	}
}

func TestPageTellsFailures(t *testing.T) {
	place := fixpoint.Place{Rank: 2, Slot: ir.Enter}
	failure := Failure{
		Check: "barrier", Text: "rank 1 may leave", Places: []fixpoint.Place{place},
		Path:  []Step{{fixpoint.Place{Rank: 1, Slot: ir.Signal(0)}, 0}},
		World: fixpoint.Model{EveryRepair: true, Without: []fixpoint.Place{place}},
	}
	got := dataOf(t, page(t, chain(3), Options{Failures: []Failure{failure}})).Failures
	enter := []pageStep{{2, "enter", -1}}
	require.Equal(t, []pageFailure{{
		Check: "barrier", Text: "rank 1 may leave", Places: enter, Path: []pageStep{{1, "s0", 0}}, Without: enter, Every: true,
	}}, got)
}

func TestPagesAreBounded(t *testing.T) {
	many := chain(2)
	many.Chunks = maxPageArrows + 1
	many.Programs[0].Rules[0].Do = nil
	for k := range many.Chunks {
		many.Programs[0].Rules[0].Do = append(many.Programs[0].Rules[0].Do, ir.PutTo(ir.Chunk(k), 1))
	}
	for reason, try := range map[string]struct {
		s *ir.Schedule
		x Extract
	}{
		"262,145 arrows are more than a browser takes": {many, Extract{}},
		"129 ranks are too many for a lane each":       {chain(maxSVGRanks + 1), Extract{kind: everybody}},
		"it shows no sums":                             {chain(3), Extract{kind: sums}},
	} {
		unfit := new(Unfit)
		err := Write(&bytes.Buffer{}, "html", try.s, Options{Extract: try.x})
		require.ErrorAs(t, err, &unfit, reason)
		require.ErrorContains(t, err, reason)
	}
}

func TestPageSaysWhichRanksItShows(t *testing.T) {
	text := page(t, chain(100), Options{})
	require.Contains(t, text, `"extracts":[{"ranks":[0,1,98,99],"hub":-1,"why":"one of each role`)
	text = page(t, chain(100), Options{Extract: Extract{onePart, 7}})
	require.Contains(t, text, `"extracts":[{"ranks":[6,7,8],"hub":7,"why":"rank 7 and its partners"`)
	require.Contains(t, page(t, chain(9), Options{}), `"extracts":[{"ranks":[],"hub":-1,"why":""}]`)
}
