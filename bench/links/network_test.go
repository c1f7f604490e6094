//go:build linux

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/bench/internal/tool"
	"github.com/schedgen/schedgen/internal/heavy"
)

// labFile returns the path of a network in testdata.
func labFile(name string) string { return filepath.Join("testdata", name+".net") }

func TestNetworkOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.txt")
	require.NoError(t, os.WriteFile(file, []byte("schedule bcast/mine ranks=2 chunks=1\n"), 0o600))
	args := []string{"--network", "a.net,b.net", "--collective", "bcast", "--algorithm", "bcast/chain,allgather/ring,choice,synth --spread," + file}
	o, err := parseOptions(args, io.Discard)
	require.NoError(t, err)
	var names []string
	for _, c := range o.contendersOf("bcast") {
		names = append(names, c.name)
	}
	require.Equal(t, []string{"bcast/chain", "choice", "synth --spread", file}, names)
	require.Equal(t, []string{"bcast", file}, (&contender{name: file}).args("bcast"))
	require.Equal(t, []string{"bcast", "--algorithm", "bcast/chain"}, (&contender{name: "bcast/chain"}).args("bcast"))
	require.Equal(t, []string{"bcast"}, (&contender{name: byChoice}).args("bcast"))
	require.Equal(t, []int{2 * mib}, o.sizesOn("bcast"))
	require.Equal(t, []int{mib / 2}, o.sizesOn("allgather"))

	o, err = parseOptions([]string{"--network", "a.net"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, collectives, o.collectives)
	for _, collective := range o.collectives {
		require.Len(t, o.contendersOf(collective), len(contenders[collective]))
	}
	require.Len(t, o.contendersOf("reduce"), 2)

	for args, want := range map[string]string{
		"--network a --hosts 3":          "--hosts: not with --network",
		"--network a --rounds 0":         "--rounds=0",
		"--network a --collective scan":  `"scan" is none of`,
		"--network a --algorithm no/way": "no/way is neither",
		"--rounds 2":                     "--rounds: needs --network",
		"--algorithm choice":             "no algorithm",
	} {
		_, err := parseOptions(strings.Fields(args), io.Discard)
		require.ErrorContains(t, err, want, args)
	}
	require.NoError(t, os.WriteFile(file, []byte("a text\n"), 0o600))
	_, err = collectiveOf(file)
	require.ErrorContains(t, err, "holds no schedule")
}

func TestNetworkTable(t *testing.T) {
	m := &match{network: "n", ranks: 4, collective: "bcast", bytes: 2 * mib, bound: 1, contenders: []*contender{
		{name: "synth --pieces 8"}, {name: "bcast/chain"}, {name: "bcast/linear"}, {name: byChoice},
	}}
	m.contenders[0].times = together([]times{{1, 1.25, 1.5}, {0.9, 1, 2}, {1, 1.5, 1.5}})
	m.contenders[1].times = together([]times{{2, 2.5, 3}})
	m.contenders[2].failed = "late"
	m.contenders[3].times, m.contenders[3].ran = times{3, 3, 3}, "bcast/binomial"
	var b strings.Builder
	require.NoError(t, m.write(&b))
	require.Equal(t, `
## n: bcast of 2 MiB on 4 ranks, bound 1.00 s

| by | median | min–max | median / bound | gain |
|---|--:|---|--:|--:|
| synth --pieces 8 | 1.25 | 0.900–2.00 | 1.25 | 2.00 |
| bcast/chain | 2.50 | 2.00–3.00 | 2.50 | 1.00 |
| bcast/linear | late | - | - | - |
| choice: bcast/binomial | 3.00 | 3.00–3.00 | 3.00 | 0.83 |
`, b.String())
}

// TestNetworksAreRead checks the networks to measure.
func TestNetworksAreRead(t *testing.T) {
	for name, ranks := range map[string]int{"three-sites": 12, "torus": 12, "two-racks": 8, "slow-host": 6} {
		n, err := readNetwork(labFile(name))
		require.NoError(t, err, name)
		require.Len(t, n.Ranks, ranks, name)
	}
}

// TestMadeScheduleIsFaster checks that on three sites an allgather by a schedule for this network
// takes at most two thirds of the time of a ring.
func TestMadeScheduleIsFaster(t *testing.T) {
	heavy.Needs(t, heavy.Namespaces)
	for _, program := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	programs, err := tool.Build(t.Context(), t.Output(), "links", "./cmd/schedgen", "./bench/netns")
	require.NoError(t, err)
	defer programs.Remove()
	if text, err := exec.CommandContext(t.Context(), programs.Path("netns"), "--hosts", "1", "--", "true").CombinedOutput(); err != nil {
		t.Skipf("no network namespaces for this user: %v: %s", err, text)
	}
	o, err := parseOptions([]string{"--network", labFile("three-sites"), "--algorithm", "synth --pieces 8,allgather/ring", "--rounds", "2"}, io.Discard)
	require.NoError(t, err)
	m, err := o.play(t.Context(), programs, labFile("three-sites"), "allgather", mib/2, t.Output())
	require.NoError(t, err)
	for _, c := range m.contenders {
		require.True(t, c.good(), "%s: %s", c.name, c.failed)
		require.Greater(t, c.min, m.bound, c.name)
	}
	require.GreaterOrEqual(t, m.best(false)/m.best(true), 1.5)
}
