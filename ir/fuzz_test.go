package ir

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzParseText(f *testing.F) { fuzz(f, forms[0], "*/*.txt") }

func FuzzParseJSON(f *testing.F) { fuzz(f, forms[1], "*/*.json") }

// fuzz checks that a reader does not panic, that the schedules it accepts are valid, and that they
// come back equal from both forms. It also checks that the text form is canonical, except for
// comments, blank lines and blanks at the ends of lines.
func fuzz(f *testing.F, form form, seeds string) {
	for _, path := range inputs(f, seeds) {
		seed, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		s, err := form.parse(bytes.NewReader(input))
		if err != nil {
			var parseErr *ParseError
			require.ErrorAs(t, err, &parseErr)
			require.LessOrEqual(t, parseErr.Offset, int64(len(input)))
			return
		}
		require.NoError(t, Validate(s))
		if form.name == "text" {
			require.Equal(t, plain(input), string(form.print(t, s)))
		}
		for _, other := range forms {
			again, err := other.parse(bytes.NewReader(other.print(t, s)))
			require.NoError(t, err)
			require.Equal(t, s, again)
		}
	})
}
