package words

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// A shell reads quoted words unchanged.
func TestShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ -~\n\té]{0,9}`), 1, 20).Draw(t, "words")
		text := "printf '%s\\0'"
		for _, w := range words {
			text += " " + Shell(w)
		}
		out, err := exec.Command("sh", "-c", text).Output()
		require.NoError(t, err)
		require.Equal(t, strings.Join(words, "\x00")+"\x00", string(out))
	})
}

func TestWords(t *testing.T) {
	require.Equal(t, "0 B", Bytes(0))
	require.Equal(t, "1023 B", Bytes(1023))
	require.Equal(t, "1.0 KiB", Bytes(1024))
	require.Equal(t, "100 MiB", Bytes(100<<20))
	require.Equal(t, "2048 TiB", Bytes(2<<50))
	require.Equal(t, "1 host", Count(1, "host", "hosts"))
	require.Equal(t, "0 hosts", Count(0, "host", "hosts"))
	require.Equal(t, "a, b, c, d, e and 2 more", Some([]string{"a", "b", "c", "d", "e", "f", "g"}))
	require.Equal(t, "a, b", Some([]string{"a", "b"}))
	require.Equal(t, `root@n-1.x:/a`, Shell("root@n-1.x:/a"))
	require.Equal(t, `'-F conf'`, Shell("-F conf"))
	require.Equal(t, `'it'\''s'`, Shell("it's"))
}
