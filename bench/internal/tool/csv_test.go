package tool

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFields writes records, reads them back, and checks which fields are refused.
func TestFields(t *testing.T) {
	columns := []string{"bytes", "seconds"}
	for _, c := range []struct {
		bytes, seconds, err string
	}{
		{"5", Float(1.5, 3), ""},
		{"0", "-1.000", ""},
		{"-1", "1", `line 2: bytes: "-1": is negative`},
		{"x", "1", `line 2: bytes: "x": strconv.ParseInt: parsing "x": invalid syntax`},
		{"1", "NaN", `line 2: seconds: "NaN": is no time`},
		{"1", "-2", `line 2: seconds: "-2": is no time`},
	} {
		var b bytes.Buffer
		require.NoError(t, WriteCSV(&b, slices.Values([][]string{columns, {c.bytes, c.seconds}})))
		var record []string
		err := ReadCSV(&b, columns, "a test", func(r []string) error {
			record = slices.Clone(r)
			f := NewFields(columns, r)
			f.Int64(0)
			f.Time(1)
			return f.Err()
		})
		require.Equal(t, []string{c.bytes, c.seconds}, record)
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.err)
		}
	}
}
