//go:build linux

package netns

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNetworkIsAsAsked(t *testing.T) {
	require.Empty(t, shape(Link{}, "eth0"))
	slow := Link{Rate: "10mbit", Queue: "128kb", Burst: "8kb"}
	require.Equal(t, []string{"tc qdisc add dev eth0 root tbf rate 10mbit burst 8kb limit 128kb"}, shape(slow, "eth0"))
	require.Len(t, BridgeCommands(0), 3)
	require.Contains(t, lossRules(0.05), "random mod 1000000 < 50000 counter drop")
	require.Equal(t, "ip address add 10.77.0.8/24 dev eth0", HostCommands(slow, 7, 9)[2])
	require.Equal(t, "neighbour add 10.77.0.1 lladdr 02:00:0a:4d:00:01 dev eth0 nud permanent\n"+
		"neighbour add 10.77.0.3 lladdr 02:00:0a:4d:00:03 dev eth0 nud permanent\n", neighbours(1, 3))
	require.Equal(t, "ip link add v7 type veth peer name eth0 netns 99", PortCommands(slow, 7, 99)[0])
	require.Equal(t, "ip address add 10.77.1.2/16 dev eth0", JoinCommands(251, "/proc/7/fd/9")[2])
	require.ErrorContains(t, Execute([]string{"cat <in", "ls /no/such/file"}), "ls /no/such/file")
}
