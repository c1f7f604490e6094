package ir

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// form is one of the two exchange forms.
type form struct {
	name  string
	write func(io.Writer, *Schedule) error
	parse func(io.Reader) (*Schedule, error)
}

var forms = []form{
	{"text", WriteText, ParseText},
	{"json", WriteJSON, ParseJSON},
}

func (f form) print(t require.TestingT, s *Schedule) []byte {
	var b bytes.Buffer
	require.NoError(t, f.write(&b, s))
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, rapid.MakeCheck(func(t *rapid.T) {
			s := randomSchedule().Draw(t, "schedule")
			require.NoError(t, Validate(s))
			printed := f.print(t, s)
			got, err := f.parse(bytes.NewReader(printed))
			require.NoError(t, err, "%s", printed)
			require.Equal(t, s, got, "%s", printed)
			require.Equal(t, printed, f.print(t, got))
		}))
	}
}

// TestReadsInAnyPieces checks that it does not matter in which pieces a reader delivers the input.
func TestReadsInAnyPieces(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, rapid.MakeCheck(func(t *rapid.T) {
			s := randomSchedule().Draw(t, "schedule")
			printed := f.print(t, s)
			got, err := f.parse(iotest.OneByteReader(bytes.NewReader(printed)))
			require.NoError(t, err)
			require.Equal(t, s, got)
			got, err = f.parse(iotest.DataErrReader(bytes.NewReader(printed)))
			require.NoError(t, err)
			require.Equal(t, s, got)
		}))
	}
}

// TestTruncated checks that a file cut off anywhere is refused. Exceptions are the text form's last
// line feed and the JSON form's white space at the end.
func TestTruncated(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, rapid.MakeCheck(func(t *rapid.T) {
			printed := f.print(t, randomSchedule().Draw(t, "schedule"))
			n := rapid.IntRange(0, len(printed)-2).Draw(t, "bytes")
			_, err := f.parse(bytes.NewReader(printed[:n]))
			if f.name == "text" && err == nil {
				// A text that is cut within a number, or within the lists and lines at the end, may
				// still be a schedule.
				again, err := f.parse(bytes.NewReader(printed[:n]))
				require.NoError(t, err)
				require.Equal(t, plain(printed[:n]), string(f.print(t, again)))
				return
			}
			var parseErr *ParseError
			require.ErrorAs(t, err, &parseErr)
			require.LessOrEqual(t, parseErr.Offset, int64(n))
		}))
	}
}

// TestJSONOfOtherWriters checks that the standard library accepts the output as JSON, and that
// ParseJSON accepts it sorted by key and indented.
func TestJSONOfOtherWriters(t *testing.T) {
	f := forms[1]
	rapid.Check(t, func(t *rapid.T) {
		s := randomSchedule().Draw(t, "schedule")
		var document map[string]any
		require.NoError(t, json.Unmarshal(f.print(t, s), &document))
		reverse(document["programs"].([]any))
		sorted, err := json.MarshalIndent(document, "", "\t")
		require.NoError(t, err)
		got, err := ParseJSON(bytes.NewReader(sorted))
		require.NoError(t, err, "%s", sorted)
		require.Equal(t, s, got)
	})
}

func reverse(a []any) {
	for i, j := 0, len(a)-1; i < j; i, j = i+1, j-1 {
		a[i], a[j] = a[j], a[i]
	}
}

func TestReadErrorIsTheCause(t *testing.T) {
	for _, f := range forms {
		whole := f.print(t, small())
		for n := range len(whole) + 1 {
			broken := io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(io.ErrClosedPipe))
			_, err := f.parse(broken)
			require.ErrorIs(t, err, io.ErrClosedPipe, "%s after %d bytes", f.name, n)
		}
	}
}

func TestWriteErrorIsTheCause(t *testing.T) {
	for _, f := range forms {
		err := f.write(brokenWriter{}, small())
		require.ErrorIs(t, err, io.ErrClosedPipe)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// small returns a broadcast with every construct of the forms.
func small() *Schedule {
	return &Schedule{
		Header: Header{
			Collective: "bcast", Algorithm: "small", Ranks: 2, Root: 1, Chunks: 2,
			Params: []Param{{"degree", 2}, {"hosts", 1}},
		},
		Programs: []Program{
			{Rank: 0, Rules: []Rule{
				{When: []Slot{Chunk(0), Chunk(1)}, Do: []Action{PutTo(Signal(0), 1)}},
			}, Done: []Slot{Chunk(0), Chunk(1)}},
			{Rank: 1, Signals: 2, Rules: []Rule{
				{When: []Slot{Enter}, Do: []Action{McastOf(Chunk(0)), McastOf(Chunk(1))}},
				{When: []Slot{Enter}, Unless: Signal(0), After: 1, Do: []Action{PutTo(Chunk(0), 0), PutTo(Chunk(1), 0)}},
			}, Done: []Slot{Enter, Signal(0)}},
		},
	}
}
