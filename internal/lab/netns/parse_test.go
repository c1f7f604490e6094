//go:build linux

package netns

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/lab/internal/labtest"
	"github.com/schedgen/schedgen/internal/test/netns"
)

// parse returns the verb with the given arguments.
func parse(t *testing.T, args string) (*Verb, error) {
	v, err := labtest.Parse[Verb](t, strings.Fields(args)...)
	if err == nil {
		err = v.check()
	}
	return v, err
}

func TestParse(t *testing.T) {
	v, err := parse(t, "--hosts 15 --rate 10mbit --loss 0.05 -- cmd --loss 1")
	require.NoError(t, err)
	require.Equal(t, []string{"cmd", "--loss", "1"}, v.Command)
	require.Equal(t, netns.Link{Rate: "10mbit", Queue: "128kb", Burst: "8kb"}, v.link)
	for args, want := range map[string]string{
		"--hosts 0 -- x":    "--hosts=0",
		"--hosts 251 -- x":  "--hosts=251",
		"--loss 1.5 -- x":   `"1.5" is no share`,
		"--loss NaN -- x":   `"NaN" is no share`,
		"--hosts 2":         `expected "<command> ..."`,
		"--no-such-flag ls": "unknown flag",

		"--network no.net -- x":        "no such file",
		"--network no.net --hosts 3 x": "--hosts: not with --network",
		"--network netns.go -- x":      "netns.go: line 1",
		"--mtu 9 -- x":                 "--mtu=9",
	} {
		_, err := parse(t, args)
		require.ErrorContains(t, err, want, args)
	}
}

func TestAgentArguments(t *testing.T) {
	host, command, err := agentArguments(strings.Fields("-x 10.77.0.3 /usr/bin/hydra_pmi_proxy --rank 2"))
	require.NoError(t, err)
	require.Equal(t, 2, host)
	require.Equal(t, "/usr/bin/hydra_pmi_proxy --rank 2", command)
	for args, want := range map[string]string{
		"":                  "wants a host and a command",
		"-x 10.77.0.1":      "wants a host and a command",
		"node1 orted":       "node1 is no host: they are 10.77.0.1",
		"10.77.0.251 orted": "10.77.0.251 is no host",
	} {
		_, _, err := agentArguments(strings.Fields(args))
		require.ErrorContains(t, err, want, args)
	}
}
