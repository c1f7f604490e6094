//go:build linux

package guests

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // the second run replaces the files of the first
		r, err := openResults(dir, 2)
		require.NoError(t, err)
		require.NoError(t, r.appendTo(1, "sub/log", []byte("one ")))
		require.NoError(t, r.appendTo(1, "sub/log", []byte("two")))
		for _, name := range []string{"../../x", "../guest0/x", "/x", ""} {
			require.ErrorContains(t, r.appendTo(1, name, nil), "leads elsewhere")
		}
		require.NoError(t, r.close())
	}
	text, err := os.ReadFile(filepath.Join(dir, "guest1", "sub", "log"))
	require.NoError(t, err)
	require.Equal(t, "one two", string(text))

	none, err := openResults("", 2)
	require.NoError(t, err)
	require.NoError(t, none.appendTo(0, "x", nil))
	require.NoError(t, none.close())
	_, err = openResults("/dev/null/x", 2)
	require.ErrorContains(t, err, "--out")
}
