package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/porttest"
)

// TestRankTune starts two ranks by hand, which measure as the two ranks of the verb tune do. Rank 0
// prints the result.
func TestRankTune(t *testing.T) {
	coordinator := porttest.Hold(t)
	rules := filepath.Join(t.TempDir(), "tuned.json")
	args := "rank tune -p 2 --coordinator " + coordinator + " --size 1B..64B --precision 0.5 --budget 1m --up-to 8 --json --rank "
	other := make(chan string, 1)
	go func() {
		code, out, said := invoke(t.Context(), nil, strings.Fields(args+"1")...)
		other <- fmt.Sprint(code, out, said)
	}()
	code, out, said := invoke(t.Context(), nil, strings.Fields(args+"0 --rules "+rules)...)
	require.Equal(t, "0", <-other, "rank 1 has nothing to say")
	var o tuneObject
	require.NoError(t, json.Unmarshal([]byte(out), &o))
	require.Equal(t, "tcp", o.Transport)
	require.Len(t, o.Sizes, 7)
	if len(o.Misfits) > 0 { // other processes have disturbed the measurement
		require.Equal(t, terminal.No, code)
		require.Contains(t, said, "no rules: ")
		require.NoFileExists(t, rules)
		return
	}
	require.Zero(t, code, said)
	text, err := os.ReadFile(rules)
	require.NoError(t, err)
	require.Equal(t, o.Modelled, strings.Count(string(text), "modelled: "))
}

// TestRankTuneDiffers gives two ranks different lengths. Both fail with an error that says so.
func TestRankTuneDiffers(t *testing.T) {
	coordinator := porttest.Hold(t)
	args := "rank tune -p 2 --coordinator " + coordinator + " --budget 1m --rank "
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := make(chan string, 1)
	go func() {
		code, _, said := invoke(ctx, nil, strings.Fields(args+"0")...)
		first <- fmt.Sprint(code, said)
	}()
	code, _, said := invoke(t.Context(), nil, strings.Fields(args+"1 --size 1B..64B")...)
	require.Equal(t, terminal.No, code, said)
	require.Contains(t, said, "rank 0 has ordered messages of 128 bytes, but the longest of rank 1 has 64")
	require.Contains(t, <-first, "rank 1")
}
