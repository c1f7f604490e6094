package tcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/tcp"
)

func TestReadKey(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 2)
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string // the key, or the error
	}{
		"good":              {text, 0o600, text},
		"a line":            {text + "\n", 0o400, text},
		"two lines":         {text + "\n\n", 0o600, text + "\n"},
		"as long as can be": {strings.Repeat("x", tcp.MaxKey) + "\n", 0o600, strings.Repeat("x", tcp.MaxKey)},
		"short":             {text[1:], 0o600, "must have 32 to 4096 bytes"},
		"empty":             {"", 0o600, "must have 32"},
		"long":              {strings.Repeat("x", tcp.MaxKey+1), 0o600, "32 to 4096"},
		"endless":           {strings.Repeat("x", 1<<20), 0o600, "32 to 4096"},
		"group can read":    {text, 0o640, "its mode is 0640"},
		"all can write":     {text, 0o602, "its mode is 0602"},
	} {
		path := filepath.Join(t.TempDir(), "key")
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		require.NoError(t, os.Chmod(path, c.mode))
		key, err := tcp.ReadKey(path)
		if err != nil {
			require.ErrorContains(t, err, c.want, name)
			require.ErrorContains(t, err, path, name)
			continue
		}
		require.Equal(t, c.want, string(key), name)
	}
	_, err := tcp.ReadKey(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = tcp.ReadKey(t.TempDir())
	require.Error(t, err)
}
