package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keyFile makes a file with a key.
func keyFile(t *testing.T, text string, mode os.FileMode) string {
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	require.NoError(t, os.Chmod(path, mode))
	return path
}

var goodKey = strings.Repeat("0123456789abcdef", 2)

func TestConnectWithAKey(t *testing.T) {
	path := keyFile(t, goodKey+"\n", 0o600)
	for _, transport := range []string{"", "tcp", "mcast"} {
		for _, encrypt := range []string{"", "0", "1"} {
			requireConnected(t, connectAll(t, 3, func(rank int) env {
				return slurm.with(env{"SCHEDGEN_KEY_FILE": path, "SCHEDGEN_ENCRYPT": encrypt, "SCHEDGEN_TRANSPORT": transport}, rank, 3)
			}))
		}
	}
}

func TestConnectWithoutTheKey(t *testing.T) {
	path := keyFile(t, goodKey, 0o600)
	got := connectAll(t, 2, func(rank int) env {
		if rank == 1 {
			return slurm.with(nil, rank, 2)
		}
		return slurm.with(env{"SCHEDGEN_KEY_FILE": path}, rank, 2)
	})
	require.ErrorContains(t, got[1].err, "a rank has no key, but the process that it connects to has a key")
	require.ErrorContains(t, got[0].err, "rank 1 has not come")
}

func TestKey(t *testing.T) {
	key, encrypt, err := Key(env{}.get)
	require.NoError(t, err)
	require.Empty(t, key)
	require.False(t, encrypt)
	key, encrypt, err = Key(env{"SCHEDGEN_KEY_FILE": keyFile(t, goodKey, 0o400), "SCHEDGEN_ENCRYPT": "1"}.get)
	require.NoError(t, err)
	require.Equal(t, goodKey, string(key))
	require.True(t, encrypt)
	for want, e := range map[string]env{
		"SCHEDGEN_KEY_FILE: key file /nowhere/key: no such file": {"SCHEDGEN_KEY_FILE": "/nowhere/key"},
		"its mode is 0644":                {"SCHEDGEN_KEY_FILE": keyFile(t, goodKey, 0o644)},
		"a key must have 32 to 4096":      {"SCHEDGEN_KEY_FILE": keyFile(t, "short", 0o600)},
		`SCHEDGEN_ENCRYPT is "yes"`:       {"SCHEDGEN_ENCRYPT": "yes"},
		"but there is no SCHEDGEN_KEY_FI": {"SCHEDGEN_ENCRYPT": "1"},
	} {
		_, _, err := Key(e.get)
		require.ErrorContains(t, err, want)
	}
}
