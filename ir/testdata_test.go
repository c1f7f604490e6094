package ir

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// golden holds got against a file, or writes it if SCHEDGEN_UPDATE=1.
func golden(t *testing.T, path string, got []byte) {
	if os.Getenv("SCHEDGEN_UPDATE") == "1" {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// inputs returns the files of a folder of testdata that match pattern.
func inputs(t testing.TB, pattern string) []string {
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func parserOf(path string) form {
	if filepath.Ext(path) == ".json" {
		return forms[1]
	}
	return forms[0]
}

// testdata/good holds each schedule as text, the original, and as JSON.
func TestGood(t *testing.T) {
	for _, path := range inputs(t, "good/*.txt") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			s, err := ParseText(bytes.NewReader(text))
			require.NoError(t, err)
			require.Equal(t, string(text), string(forms[0].print(t, s)))
			document := forms[1].print(t, s)
			golden(t, strings.TrimSuffix(path, ".txt")+".json", document)
			again, err := ParseJSON(bytes.NewReader(document))
			require.NoError(t, err)
			require.Equal(t, s, again)
		})
	}
}

// testdata/bad holds inputs that are no schedule, each with the error that its
// reader returns.
func TestBad(t *testing.T) {
	for _, pattern := range []string{"bad/*.txt", "bad/*.json"} {
		for _, path := range inputs(t, pattern) {
			t.Run(filepath.Base(path), func(t *testing.T) {
				input, err := os.Open(path)
				require.NoError(t, err)
				defer input.Close()
				s, err := parserOf(path).parse(input)
				require.Nil(t, s)
				var parseErr *ParseError
				require.ErrorAs(t, err, &parseErr)
				require.NotContains(t, err.Error(), "\n")
				golden(t, path+".error", []byte(err.Error()+"\n"))
			})
		}
	}
}

// The last line feed of the text form may be missing.
func TestTextWithoutLastLineFeed(t *testing.T) {
	text := forms[0].print(t, small())
	s, err := ParseText(bytes.NewReader(bytes.TrimSuffix(text, []byte("\n"))))
	require.NoError(t, err)
	require.Equal(t, small(), s)
}

// Escapes and white space are of no meaning in JSON.
func TestJSONSpellings(t *testing.T) {
	document := string(forms[1].print(t, small()))
	for from, to := range map[string]string{
		`"schedgen/1"`: "\t\"schedgen\\/1\" \r\n",
		`"bcast"`:      `"\u0062ca\u0073t"`,
		`"enter"`:      `"\u0065nter"`,
		`"ranks"`:      `"\u0072anks"`,
		"\n":           "",
	} {
		s, err := ParseJSON(strings.NewReader(strings.ReplaceAll(document, from, to)))
		require.NoError(t, err, "%s for %s", to, from)
		require.Equal(t, small(), s)
	}
}
