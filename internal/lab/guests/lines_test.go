//go:build linux

package guests

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// TestLines checks that every line of a text is written once, with the prefix, however the text is
// cut into pieces.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-c]{0,3}\n?){0,9}`).Draw(t, "text")
		var got strings.Builder
		l := &lines{mu: new(sync.Mutex), out: &got, prefix: "g: "}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			written, err := l.Write([]byte(rest[:n]))
			require.NoError(t, err)
			require.Equal(t, n, written)
			rest = rest[n:]
		}
		require.NoError(t, l.flush())
		var want strings.Builder
		for line := range strings.Lines(text) {
			want.WriteString("g: " + strings.TrimSuffix(line, "\n") + "\n")
		}
		require.Equal(t, want.String(), got.String())
	})
}

func TestLineWithoutEndIsBounded(t *testing.T) {
	var got strings.Builder
	l := &lines{mu: new(sync.Mutex), out: &got}
	for range 40 {
		_, err := l.Write([]byte(strings.Repeat("x", 5000)))
		require.NoError(t, err)
		require.Less(t, len(l.begun), longest)
	}
	require.NoError(t, l.flush())
	require.Equal(t, strings.Repeat("x", 40*5000), strings.ReplaceAll(got.String(), "\n", ""))
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestLinesThatCannotBeWritten(t *testing.T) {
	l := &lines{mu: new(sync.Mutex), out: full{}}
	_, err := l.Write([]byte("a\nb"))
	require.ErrorContains(t, err, "full")
	require.ErrorContains(t, l.flush(), "full")
}
