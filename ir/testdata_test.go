package ir

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// golden compares got with a file, or writes the file if SCHEDGEN_UPDATE=1.
func golden(t *testing.T, path string, got []byte) {
	if os.Getenv("SCHEDGEN_UPDATE") == "1" {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// inputs returns the files below testdata that match pattern.
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

// TestGood checks testdata/good, which holds each schedule as text, the original, and as JSON.
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

// TestCommented checks testdata/commented, which holds schedules as people write them. Reading
// drops comments, blank lines and blanks at the ends of lines, and nothing else.
func TestCommented(t *testing.T) {
	for _, path := range inputs(t, "commented/*.txt") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotEqual(t, plain(text), string(text), "nothing to leave out")
			s, err := ParseText(bytes.NewReader(text))
			require.NoError(t, err)
			require.Equal(t, plain(text), string(forms[0].print(t, s)))
			for n := range len(text) { // a line that is cut within a comment ends there
				s, err := ParseText(bytes.NewReader(text[:n]))
				if err == nil {
					require.Equal(t, plain(text[:n]), string(forms[0].print(t, s)))
				}
			}
		})
	}
}

// plain returns a text as WriteText writes it, without comments, blank lines and blanks at the ends
// of lines. It shares no code with the reader.
func plain(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// TestCommentsAnywhere checks that comments and blanks between lines, and at their ends, change
// nothing.
func TestCommentsAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomSchedule().Draw(t, "schedule")
		between := rapid.SampledFrom([]string{"", "", "\n", "# why\n", "  # put c0 @1\n", "\t \r\n", "#\n\n"})
		behind := rapid.SampledFrom([]string{"\n", "\n", " \n", "# to all\n", "  ## 1 #\n", "\r\n", "\t# ü\r\n"})
		var b strings.Builder
		for line := range strings.Lines(string(forms[0].print(t, s))) {
			b.WriteString(between.Draw(t, "between") + strings.TrimSuffix(line, "\n") + behind.Draw(t, "behind"))
		}
		text := b.String() + rapid.SampledFrom([]string{"", "# the end", "  "}).Draw(t, "end")
		got, err := ParseText(strings.NewReader(text))
		require.NoError(t, err, "%s", text)
		require.Equal(t, s, got)
	})
}

// TestBad checks testdata/bad, which holds inputs that are not schedules and the errors of their
// readers.
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

// TestTextWithoutLastLineFeed checks that the last line feed of the text form may be missing.
func TestTextWithoutLastLineFeed(t *testing.T) {
	text := forms[0].print(t, small())
	s, err := ParseText(bytes.NewReader(bytes.TrimSuffix(text, []byte("\n"))))
	require.NoError(t, err)
	require.Equal(t, small(), s)
}

// TestJSONSpellings checks that escapes and white space do not matter in JSON.
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
