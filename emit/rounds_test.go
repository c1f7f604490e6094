package emit

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
)

// chain returns a broadcast of one chunk from rank to rank.
func chain(ranks int) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Collective: "bcast", Algorithm: "chain", Ranks: ranks, Chunks: 1}}
	for r := range ranks {
		p := ir.Program{Rank: r, Done: []ir.Slot{ir.Chunk(0)}}
		if r+1 < ranks {
			p.Rules = []ir.Rule{{When: []ir.Slot{ir.Chunk(0)}, Do: []ir.Action{ir.PutTo(ir.Chunk(0), r+1)}}}
		}
		s.Programs = append(s.Programs, p)
	}
	return s
}

func drawn(t require.TestingT, s *ir.Schedule, o RoundsOptions) string {
	var b bytes.Buffer
	require.NoError(t, Rounds(&b, s, o))
	return b.String()
}

func TestWhatDoesNotFitIsSummedUp(t *testing.T) {
	all := Extract{kind: everybody}
	got := drawn(t, chain(100), RoundsOptions{Extract: all})
	require.Contains(t, got, "100 ranks do not fit in 80 columns")
	require.Contains(t, got, "1-99  1 put")
	require.NotContains(t, got, "●")
	require.Contains(t, drawn(t, chain(100), RoundsOptions{Width: 500, Extract: all}), "●")
	narrow := strings.Fields(drawn(t, chain(100), RoundsOptions{Width: 20}))
	require.Contains(t, strings.Join(narrow, " "), "100 ranks do not fit in 20 columns")
}

// pingPong returns a barrier in which two ranks of three take turns.
func pingPong(rounds int) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Collective: "barrier", Algorithm: "ping-pong", Ranks: 3}}
	s.Programs = []ir.Program{{Rank: 0, Signals: rounds}, {Rank: 1, Signals: rounds}, {Rank: 2}}
	when := ir.Enter
	for i := range rounds {
		p := &s.Programs[i%2]
		p.Rules = append(p.Rules, ir.Rule{When: []ir.Slot{when}, Do: []ir.Action{ir.PutTo(ir.Signal(i), (i+1)%2)}})
		when = ir.Signal(i)
	}
	return s
}

func TestWhatIsTooLongIsSummedUp(t *testing.T) {
	all := Extract{kind: everybody}
	require.Contains(t, drawn(t, pingPong(maxLines/2), RoundsOptions{Extract: all}), "●")
	got := drawn(t, pingPong(maxLines+1), RoundsOptions{Extract: all})
	require.NotContains(t, got, "●")
	require.Contains(t, got, "more than 400 lines")
	require.Contains(t, got, "  2  1 put      s1          +2 ")
	require.Contains(t, got, "… and 344 more rounds")
	require.Less(t, strings.Count(got, "\n"), maxSummary+10)
}

// TestManyTransfersOnFewLines draws thousands of chunks as one arrow.
func TestManyTransfersOnFewLines(t *testing.T) {
	s := chain(2)
	s.Chunks = 10 * maxLines
	s.Programs[0].Rules[0].Do = nil
	for k := range s.Chunks {
		s.Programs[0].Rules[0].Do = append(s.Programs[0].Rules[0].Do, ir.PutTo(ir.Chunk(k), 1))
	}
	require.Contains(t, drawn(t, s, RoundsOptions{}), " c0-3999 ")
}

func TestLinesKeepToTheWidth(t *testing.T) {
	for _, ranks := range []int{1, 2, 8, 16, 21, 22, 23, 300} {
		for _, width := range []int{40, 80, 132} {
			for line := range strings.SplitSeq(drawn(t, chain(ranks), RoundsOptions{Width: width}), "\n") {
				require.LessOrEqual(t, utf8.RuneCountInString(line), width, "%d ranks: %s", ranks, line)
			}
		}
	}
}

var colors = regexp.MustCompile("\x1b\\[[0-9]+m")

func TestColorChangesNothingElse(t *testing.T) {
	for name, s := range cases(t) {
		bare := drawn(t, s, RoundsOptions{})
		colored := drawn(t, s, RoundsOptions{Color: true})
		require.NotContains(t, bare, "\x1b")
		require.Contains(t, colored, "\x1b[")
		require.Equal(t, bare, colors.ReplaceAllString(colored, ""), name)
	}
}

func TestASCIIHasTheSameColumns(t *testing.T) {
	for name, s := range cases(t) {
		full := strings.Split(drawn(t, s, RoundsOptions{Lost: true}), "\n")
		ascii := strings.Split(drawn(t, s, RoundsOptions{Lost: true, ASCII: true}), "\n")
		require.Len(t, ascii, len(full), name)
		for i, line := range ascii {
			require.Len(t, line, utf8.RuneCountInString(full[i]), name)
			require.Equal(t, -1, strings.IndexFunc(line, func(r rune) bool { return r > 126 }), line)
		}
	}
}

// link is one arrow of a drawing.
type link struct {
	class    class
	from, to int
}

// TestDrawingReadsBack draws random sets of transfers and reads them back from the picture alone.
// So no two sets look the same.
func TestDrawingReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 12).Draw(t, "ranks")
		s, want := scattered(t, ranks)
		width := rapid.SampledFrom([]int{52, 80, 200}).Draw(t, "width")
		require.Equal(t, want, readBack(drawn(t, s, RoundsOptions{Width: width}), ranks))
	})
}

// scattered returns a schedule in which every rank sends at once to random others, by signals or,
// at the root, by multicast.
func scattered(t *rapid.T, ranks int) (*ir.Schedule, map[link]bool) {
	s := &ir.Schedule{Header: ir.Header{Collective: "bcast", Algorithm: "scattered", Ranks: ranks, Chunks: 1}}
	s.Programs = make([]ir.Program, ranks)
	want := map[link]bool{}
	for from := range s.Programs {
		p := &s.Programs[from]
		p.Rank, p.Signals = from, ranks
		var do []ir.Action
		if from == 0 && rapid.Bool().Draw(t, "mcast") {
			do = append(do, ir.McastOf(ir.Chunk(0)))
			for to := 1; to < ranks; to++ {
				want[link{mcast, 0, to}] = true
			}
		}
		for to := range ranks {
			if to != from && rapid.IntRange(0, 4).Draw(t, "put") == 0 {
				do = append(do, ir.PutTo(ir.Signal(from), to))
				want[link{putSignal, from, to}] = true
			}
		}
		if len(do) > 0 {
			p.Rules = []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: do}}
		}
	}
	return s, want
}

// readBack returns the arrows of all lines of a drawing.
func readBack(text string, ranks int) map[link]bool {
	got := map[link]bool{}
	var lanes []int // columns
	for line := range strings.SplitSeq(text, "\n") {
		cells := []rune(line)
		if lanes == nil {
			lanes = laneColumns(line, ranks)
			continue
		}
		if strings.HasPrefix(line, "return") {
			break
		}
		readLine(cells, lanes, got)
	}
	return got
}

// laneColumns returns the columns of the lanes, from the line with the ranks.
func laneColumns(line string, ranks int) []int {
	if !strings.HasPrefix(line, "round") {
		return nil
	}
	var out []int
	for i, r := range line {
		if r >= '0' && r <= '9' && line[i-1] == ' ' {
			out = append(out, i)
		}
	}
	return out[:ranks]
}

// readLine follows the shafts of a line to the right and to the left.
func readLine(cells []rune, lanes []int, got map[link]bool) {
	if len(cells) <= lanes[len(lanes)-1] {
		return
	}
	for _, right := range []bool{true, false} {
		var pending []int
		for i := 1; i < len(lanes); i++ {
			from, to := i-1, i
			if !right {
				from, to = len(lanes)-i, len(lanes)-1-i
			}
			pending = readGap(cells, lanes, from, to, pending, got)
		}
	}
}

// readGap goes from one lane to the next. pending are the ranks whose shafts come along.
func readGap(cells []rune, lanes []int, from, to int, pending []int, got map[link]bool) []int {
	if cells[lanes[from]] == '●' {
		pending = append(pending, from)
	}
	near, far, head, against := lanes[from]+1, lanes[to]-1, '▶', '◀'
	if to < from {
		near, far, head, against = lanes[from]-1, lanes[to]+1, '◀', '▶'
	}
	if cells[near] == ' ' || cells[near] == against {
		return nil
	}
	if cells[far] != head {
		return pending
	}
	for _, p := range pending {
		got[link{classOfShaft(cells[min(near, far):]), p, to}] = true
	}
	if strings.ContainsRune("├┤╞╡", cells[lanes[to]]) {
		return pending
	}
	return nil
}

func classOfShaft(cells []rune) class {
	for _, c := range cells {
		switch c {
		case '═':
			return mcast
		case '─':
			return putSignal
		}
	}
	return repair
}

// TestRoundsRefusesAWidthBeyondBounds checks that a width beyond all terminals is refused before
// anything is drawn.
func TestRoundsRefusesAWidthBeyondBounds(t *testing.T) {
	s := &ir.Schedule{Header: ir.Header{Collective: "barrier", Algorithm: "none", Ranks: 1}, Programs: make([]ir.Program, 1)}
	require.ErrorContains(t, Rounds(io.Discard, s, RoundsOptions{Width: MaxWidth + 1}), "in 10,001 columns, at most 10,000")
	require.NoError(t, Rounds(io.Discard, s, RoundsOptions{Width: MaxWidth}))
}

// TestFormatsRefuseTooManyTransfers checks that a schedule with too many transfers for a format is
// refused before its data is made. A multicast counts once for each receiver.
func TestFormatsRefuseTooManyTransfers(t *testing.T) {
	s := &ir.Schedule{Header: ir.Header{Collective: "bcast", Algorithm: "shout", Ranks: 2049, Chunks: 513}, Programs: make([]ir.Program, 2049)}
	do := make([]ir.Action, s.Chunks)
	for k := range do {
		do[k] = ir.McastOf(ir.Chunk(k))
	}
	s.Programs[0].Rules = []ir.Rule{{Do: do}}
	err := Write(io.Discard, "dot", s, Options{})
	require.ErrorAs(t, err, new(*Unfit))
	require.ErrorContains(t, err, "the schedule has 1,050,624 transfers, and the format takes at most 1,048,576")
	require.NoError(t, (&Format{Most: 5}).Takes(5))
	require.Error(t, (&Format{Most: 5}).Takes(6))
	require.NoError(t, (&Format{}).Takes(1<<40))
}
