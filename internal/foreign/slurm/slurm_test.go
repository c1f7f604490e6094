package slurm

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/network"
)

func TestParse(t *testing.T) {
	file, err := os.ReadFile("testdata/topology.conf")
	require.NoError(t, err)
	require.True(t, Is(file))
	n, err := Parse(bytes.NewReader(file), network.Options{Rate: 10e9, Trunk: 40e9, Delay: 1000})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, n.Write(&b))
	require.Equal(t, `rank n01 n02 n03 n04 n05 m1
switch s0 s1 top
link n01 s0 10Gbit delay=1us
link n02 s0 10Gbit delay=1us
link n03 s0 10Gbit delay=1us
link n04 s1 10Gbit delay=1us
link n05 s1 10Gbit delay=1us
link m1 s1 10Gbit delay=1us
link s0 top 40Gbit delay=1us
link s1 top 40Gbit delay=1us
`, b.String())
}

// The rate of trunks is that of hosts by default. A backslash may end the last line.
func TestDefaults(t *testing.T) {
	n, err := Parse(strings.NewReader("SwitchName=a Nodes=x Switches=b\nSwitchName=b Nodes=y \\"), network.Options{Rate: 5})
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y"}, n.Ranks)
	require.Equal(t, int64(5), n.Arcs[n.Find(2, 3)].Rate)
}

func TestIs(t *testing.T) {
	for text, is := range map[string]bool{
		"SwitchName=a": true, "# x\n\n switchname = a": true,
		"": false, "# SwitchName=a": false, "rank a\nSwitchName=a": false, "SwitchName": false, "BlockName=a": false,
	} {
		require.Equal(t, is, Is([]byte(text)), text)
	}
}

func TestBad(t *testing.T) {
	for _, test := range []struct{ text, err string }{
		{"", "no switches: want lines such as SwitchName=s0 Nodes=n[1-4]"},
		{"\nNodes=a", "line 2: Nodes=a: want a switch and what is below it, such as SwitchName=s0 Nodes=n[1-4]"},
		{"SwitchName=s Nodes", "line 1: Nodes: want a switch and what is below it, such as SwitchName=s0 Nodes=n[1-4]"},
		{"SwitchName=s Hosts=a", "line 1: Hosts=a: want SwitchName, Nodes, Switches or LinkSpeed"},
		{"SwitchName=s Nodes=a Nodes=b", "line 1: Nodes=b: the line has two values of this"},
		{"SwitchName=s LinkSpeed=1", "line 1: switch s: has neither Nodes nor Switches"},
		{"SwitchName=s Nodes=a\nSwitchName=s Nodes=b", "line 2: switch s: line 1 already describes it"},
		{"SwitchName=s \\\n Nodes=a,b,a", "line 1: switch s: host a is already below switch s"},
		{"SwitchName=s Nodes=a!b", "line 1: switch s: a!b: want a comma in place of !"},
		{"SwitchName=s Nodes=a[1-", `line 1: switch s: hosts "a[1-": the brackets do not match`},
		{"SwitchName=s Nodes=a[0-999999999]", "line 1: switch s: a[0-999999999]: more than 4096"},
		{"SwitchName=s Switches=t[0-999999999]", "line 1: switch s: t[0-999999999]: more than 65536"},
		{"SwitchName=s Nodes=a\nSwitchName=top Switches=s,t", "line 2: switch top: no line describes switch t"},
		{"SwitchName=s Nodes=a\nSwitchName=t Nodes=b", "line 2: switch t: no switch leads from it to switch s"},
		{"SwitchName=s Nodes=a Switches=s", "line 1: switch s: is below itself"},
		{"SwitchName=r Nodes=x\nSwitchName=s Nodes=a Switches=t\nSwitchName=t Switches=s", "line 2: switch s: is below itself"},
		{"SwitchName=s Nodes=s", "node s: named twice"},
		{"SwitchName=s[1-2] Nodes=a", `node "s[1-2]": a name has letters, digits, '.', '-' and '_'`},
		{"SwitchName=s Nodes=" + strings.Repeat("a", maxLine), "line 1: longer than 1048576 bytes"},
	} {
		_, err := Parse(strings.NewReader(test.text), network.Options{Rate: 1})
		require.EqualError(t, err, test.err)
		var at *network.ParseError
		require.ErrorAs(t, err, &at)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("SwitchName=s0 Nodes=n[1-4] LinkSpeed=1\nSwitchName=top Switches=s[0-0] # x")
	f.Add("SwitchName=a \\\nNodes=b[1,3-9/2]c[01-02]")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := Parse(strings.NewReader(text), network.Options{Rate: 1}); err == nil {
			require.NoError(t, n.Check())
		}
	})
}
