//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	o, err := parse(strings.Fields("--hosts 15 --rate 10mbit --loss 0.05 -- cmd --loss 1"))
	require.NoError(t, err)
	require.Equal(t, []string{"cmd", "--loss", "1"}, o.command)
	require.Equal(t, []string{"tc qdisc add dev eth0 root tbf rate 10mbit burst 8kb limit 128kb"}, shape(o, "eth0"))
	for args, want := range map[string]string{
		"--hosts 0 -- x":    "--hosts=0",
		"--hosts 251 -- x":  "--hosts=251",
		"--loss 1.5 -- x":   "--loss=1.5",
		"--loss NaN -- x":   "--loss=NaN",
		"--hosts 2":         "a command is needed",
		"--no-such-flag ls": "not defined",
	} {
		_, err := parse(strings.Fields(args))
		require.ErrorContains(t, err, want, args)
	}
}

func TestNetworkIsAsAsked(t *testing.T) {
	plain := &options{hosts: 2}
	require.Empty(t, shape(plain, "eth0"))
	require.Len(t, bridgeCommands(plain), 3)
	require.Contains(t, lossRules(0.05), "random mod 1000000 < 50000 counter drop")
	require.Equal(t, "ip address add 10.77.0.8/24 dev eth0", hostCommands(plain, 7)[1])
	require.Equal(t, "ip link add v7 type veth peer name eth0 netns 99", linkCommands(plain, 7, 99)[0])
}
