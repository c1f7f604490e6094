//go:build linux

package netns

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/network"
)

func TestLabIsAsTheNetworkSays(t *testing.T) {
	n, err := network.Parse(strings.NewReader(`rank a b
switch s t
link a s 10Mbit
link s b 10Mbit delay=2ms
arc a t 5Mbit
arc t b 5Mbit
route a b t
`))
	require.NoError(t, err)
	l, err := NewLab(n, Link{Queue: "128kb", Burst: "8kb"}, 1500)
	require.NoError(t, err)
	require.Equal(t, 4, l.Nodes())
	require.Equal(t, 2, l.Ranks())
	require.Equal(t, "s", l.NameOf(2))
	require.Equal(t, []string{"ip -batch - <" +
		"link add w0a address 02:01:00:00:00:00 netns 10 type veth peer name w0b address 02:01:00:00:00:01 netns 12\n" +
		"link add w1a address 02:01:00:00:01:00 netns 10 type veth peer name w1b address 02:01:00:00:01:01 netns 13\n" +
		"link add w2a address 02:01:00:00:02:00 netns 11 type veth peer name w2b address 02:01:00:00:02:01 netns 12\n" +
		"link add w3a address 02:01:00:00:03:00 netns 13 type veth peer name w3b address 02:01:00:00:03:01 netns 11\n"},
		l.WireCommands([]int{10, 11, 12, 13}))
	require.Equal(t, []string{"w0a", "w1a"}, l.Devices(0))
	require.Equal(t, []string{
		"ip -batch - <link set lo up\n" +
			"address add 10.77.0.1/32 dev lo\n" +
			"link set w0a mtu 1500 up\n" +
			"neighbour add 169.254.0.1 lladdr 02:01:00:00:00:01 dev w0a nud permanent\n" +
			"link set w1a mtu 1500 up\n" +
			"neighbour add 169.254.0.1 lladdr 02:01:00:00:01:01 dev w1a nud permanent\n" +
			"route add 10.77.0.2/32 via 169.254.0.1 dev w0a onlink src 10.77.0.1\n" +
			"route add 10.77.0.2/32 via 169.254.0.1 dev w1a onlink src 10.77.0.1 table 1000\n" +
			"rule add from 10.77.0.1 to 10.77.0.2 lookup 1000 pref 1000\n",
		"tc -batch - <qdisc add dev w0a root tbf rate 10000000bit burst 8kb limit 128kb\n" +
			"qdisc add dev w1a root tbf rate 5000000bit burst 8kb limit 128kb\n",
	}, l.NodeCommands(0))
	require.Equal(t, "tc -batch - <qdisc add dev w2a root handle 1: netem delay 2000000ns limit 100000\n"+
		"qdisc add dev w2a parent 1:1 handle 2: tbf rate 10000000bit burst 8kb limit 128kb\n", l.NodeCommands(1)[1])
	require.NotContains(t, strings.Join(l.NodeCommands(3), ""), "rule", "t has the same way to b by itself")
}

func TestLabsThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"rank a b\narc a b 1Mbit":              "no way leads from rank 1 (b)",
		"rank a\nswitch" + manyNames(MaxNodes): "namespaces stand for at most 1000",
		"rank" + manyNames(MaxHosts+1):         "251 ranks",
	} {
		n, err := network.Parse(strings.NewReader(text))
		require.NoError(t, err)
		_, err = NewLab(n, Link{}, 1500)
		require.ErrorContains(t, err, want)
	}
}

// manyNames returns n names, with a blank before each.
func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " n%d", i)
	}
	return b.String()
}
