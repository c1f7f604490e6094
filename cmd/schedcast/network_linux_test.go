package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/hosttest"
)

// dropMulticasts makes the bridge drop multicasts, like a switch that filters them.
const dropMulticasts = `nft add table bridge filter
nft add chain bridge filter forward { type filter hook forward priority 0 \; }
nft add rule bridge filter forward ip daddr 224.0.0.0/4 drop
`

// onePort makes a host accept only TCP to and from one port.
const onePort = `nft add table inet wall
nft add chain inet wall input { type filter hook input priority 0 \; policy drop \; }
nft add rule inet wall input iif lo accept
nft add rule inet wall input tcp dport 7717 accept
nft add rule inet wall input tcp sport 7717 accept
`

// A firewall that lets one TCP port through is enough. If a switch filters multicast, the sender
// notices and says so, and uses the chain.
func TestCastNetwork(t *testing.T) {
	if !hosttest.Apart(t) {
		return
	}
	hosttest.Shell(t, hosttest.Bridge+dropMulticasts)
	text := strings.Repeat("all of it\n", 200_000)
	for name, c := range map[string]struct{ wall, why string }{
		"filtered": {"", "no multicast from 10.77.0.1:"},
		"one port": {onePort, "multicast does not work on interface eth0: no probe has come back within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			exe, err := os.Executable()
			require.NoError(t, err)
			sender := hosttest.Start(t, 1, "", c.wall, fmt.Sprintf("exec -a schedcast %s --serve %s --expect 10 --listen 10.77.0.1:7717", exe, path))
			var receivers []*hosttest.Host
			for i := range 10 { // enough for a tree of several levels while they meet
				to := filepath.Join(dir, fmt.Sprint(i))
				receivers = append(receivers, hosttest.Start(t, i+2, "", c.wall, fmt.Sprintf("exec -a schedcast %s receive --from 10.77.0.1:7717 --to %s", exe, to)))
			}
			for i, r := range receivers {
				require.NotContains(t, r.Wait(0), "taken")
				got, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i), "file"))
				require.NoError(t, err)
				require.Equal(t, text, string(got))
			}
			said := sender.Wait(0)
			require.Contains(t, said, "transport: tcp, since ")
			require.Contains(t, said, c.why)
			require.Contains(t, said, "to 10 of 10 receivers by chain")
		})
	}
	t.Run("slow", testSlowNetwork)
}

// A receiver with a slow link is served after the others, even if it would be the first of the
// chain.
func testSlowNetwork(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	text := strings.Repeat("all of it\n", 270_000)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	exe, err := os.Executable()
	require.NoError(t, err)
	sender := hosttest.Start(t, 1, "", fmt.Sprintf("exec -a schedcast %s --serve %s --expect 3 --listen 10.77.0.1:7717 --transport tcp", exe, path))
	var receivers []*hosttest.Host
	for i, link := range []string{"tbf rate 2mbit burst 4kb limit 64kb", "", ""} {
		to := filepath.Join(dir, fmt.Sprint(i))
		receivers = append(receivers, hosttest.Start(t, i+2, link, fmt.Sprintf("exec -a schedcast %s receive --from 10.77.0.1:7717 --to %s --name h%d", exe, to, i)))
	}
	for i, r := range slices.Backward(receivers) {
		r.Wait(0)
		got, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i), "file"))
		require.NoError(t, err)
		require.Equal(t, text, string(got))
		if i == 1 {
			require.NoFileExists(t, filepath.Join(dir, "0", "file"), "its link takes ten seconds: %v", sender)
		}
	}
	said := sender.Wait(0)
	require.Regexp(t, `h0: its network takes [0-9.]+ [KM]iB/s, those of the others [0-9.]+ MiB/s: it is served after them`, said)
	require.Equal(t, 1, strings.Count(said, "after them"))
	require.Contains(t, said, "to 3 of 3 receivers by chain")
}
