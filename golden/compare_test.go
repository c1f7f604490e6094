package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compare compares a file with new contents. With SCHEDGEN_UPDATE=1 it writes the file instead.
func compare(t *testing.T, path string, got []byte) {
	t.Helper()
	if os.Getenv("SCHEDGEN_UPDATE") != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "no golden; SCHEDGEN_UPDATE=1 records it")
	if diff := firstDifference(string(want), string(got)); diff != "" {
		require.Fail(t, path+diff+"\nSCHEDGEN_UPDATE=1 writes the file anew")
	}
}

// firstDifference returns the first line in which two texts differ, with its number and both
// spellings, such as ":3: has "a", want "b"". It returns "" for equal texts. A whole text of
// thousands of lines would not help a reader to find the difference.
func firstDifference(has, want string) string {
	if has == want {
		return ""
	}
	a, b := strings.SplitAfter(has, "\n"), strings.SplitAfter(want, "\n")
	for i := range max(len(a), len(b)) {
		switch {
		case i == len(a):
			return fmt.Sprintf(":%d: ends, want %q", i+1, b[i])
		case i == len(b):
			return fmt.Sprintf(":%d: has %q, want the end", i+1, a[i])
		case a[i] != b[i]:
			return fmt.Sprintf(":%d: has %q, want %q", i+1, a[i], b[i])
		}
	}
	return ""
}

func TestFirstDifference(t *testing.T) {
	for _, c := range []struct{ has, want, diff string }{
		{"", "", ""},
		{"a\nb\n", "a\nb\n", ""},
		{"a\nb\n", "a\nc\n", `:2: has "b\n", want "c\n"`},
		{"a\n", "a\nb\n", `:2: has "", want "b\n"`},
		{"a\nb", "a", `:1: has "a\n", want "a"`},
		{"a", "a\nb", `:1: has "a", want "a\n"`},
	} {
		require.Equal(t, c.diff, firstDifference(c.has, c.want))
	}
}
