//go:build linux

package links

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

// labFile returns the path of a network in testdata.
func labFile(name string) string { return filepath.Join("testdata", name+".net") }

func TestNetworkOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.txt")
	require.NoError(t, os.WriteFile(file, []byte("schedule bcast/mine ranks=2 chunks=1\n"), 0o600))
	args := []string{"--network", "a.net,b.net", "--collective", "bcast", "--algorithm", "bcast/chain,allgather/ring,choice,synth --spread," + file}
	v, err := parse(t, args...)
	require.NoError(t, err)
	var names []string
	for _, c := range v.contendersOf("bcast") {
		names = append(names, c.name)
	}
	require.Equal(t, []string{"bcast/chain", "choice", "synth --spread", file}, names)
	require.Equal(t, []string{"bcast", file}, (&contender{name: file}).args("bcast"))
	require.Equal(t, []string{"bcast", "--algorithm", "bcast/chain"}, (&contender{name: "bcast/chain"}).args("bcast"))
	require.Equal(t, []string{"bcast"}, (&contender{name: byChoice}).args("bcast"))
	require.Equal(t, []int{2 * mib}, v.sizesOn("bcast"))
	require.Equal(t, []int{mib / 2}, v.sizesOn("allgather"))

	v, err = parse(t, "--network", "a.net")
	require.NoError(t, err)
	require.Equal(t, collectives, v.Collective)
	for _, collective := range v.Collective {
		require.Len(t, v.contendersOf(collective), len(contenders[collective]))
	}
	require.Len(t, v.contendersOf("reduce"), 2)

	for args, want := range map[string]string{
		"--network a --hosts 3":          "--hosts: not with --network",
		"--network a --rounds 0":         "--rounds=0",
		"--network a --collective scan":  "--collective=scan: must be one of",
		"--network a --algorithm no/way": "no/way is neither",
		"--algorithm choice":             "no algorithm",
	} {
		_, err := parse(t, strings.Fields(args)...)
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
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	programs, err := program.Build(t.Context(), t.Output(), program.Schedgen)
	require.NoError(t, err)
	defer programs.Remove()
	cmd, err := program.Self(t.Context(), "netns", "--hosts", "1", "--", "true")
	require.NoError(t, err)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no network namespaces for this user: %v: %s", err, text)
	}
	v, err := parse(t, "--network", labFile("three-sites"), "--algorithm", "synth --pieces 8,allgather/ring", "--rounds", "2")
	require.NoError(t, err)
	m, err := v.play(t.Context(), programs, labFile("three-sites"), "allgather", mib/2, t.Output())
	require.NoError(t, err)
	for _, c := range m.contenders {
		require.True(t, c.good(), "%s: %s", c.name, c.failed)
		require.Greater(t, c.min, m.bound, c.name)
	}
	require.GreaterOrEqual(t, m.best(false)/m.best(true), 1.5)
}
