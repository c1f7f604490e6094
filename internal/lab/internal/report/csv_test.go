package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type sample struct {
	bytes   int64
	seconds float64
	why     string
}

var samples = Table[sample]{"a test", []Column[sample]{
	Whole("bytes", func(s *sample) *int64 { return &s.bytes }),
	Time("seconds", 3, func(s *sample) *float64 { return &s.seconds }),
	Computed("rate", func(s *sample) string { return Float(float64(s.bytes)/s.seconds, 1) }),
	Text("why", func(s *sample) *string { return &s.why }),
}}

// TestTable writes rows and reads them back.
func TestTable(t *testing.T) {
	want := []*sample{{5, 1.5, ""}, {0, -1, "no, \"room\""}}
	var b bytes.Buffer
	require.NoError(t, samples.Write(&b, slices.Values(want)))
	require.Equal(t, "bytes,seconds,rate,why\n5,1.500,3.3,\n0,-1.000,-0.0,\"no, \"\"room\"\"\"\n", b.String())
	require.NoError(t, samples.Append(&b, want[0]))
	got, err := samples.Read(&b)
	require.NoError(t, err)
	require.Equal(t, append(want, want[0]), got)
}

// TestBadTables checks which records are refused.
func TestBadTables(t *testing.T) {
	const head = "bytes,seconds,rate,why\n"
	for text, want := range map[string]string{
		"":                   "EOF",
		"bytes,seconds\n":    "record on line 1: wrong number of fields",
		"a,b,c,d\n":          "line 1: these are not the columns of a test",
		head + "-1,1,,\n":    `line 2: bytes: "-1": is negative`,
		head + "x,1,,\n":     `line 2: bytes: "x": strconv.ParseInt: parsing "x": invalid syntax`,
		head + "1,NaN,,\n":   `line 2: seconds: "NaN": is no time`,
		head + "1,-2,,\n":    `line 2: seconds: "-2": is no time`,
		head + "-1,-2,,\n":   "line 2: bytes: \"-1\": is negative\nseconds: \"-2\": is no time",
		head + "1,1,,\n1,\n": "record on line 3: wrong number of fields",
	} {
		_, err := samples.Read(strings.NewReader(text))
		require.EqualError(t, err, want, text)
	}
}
