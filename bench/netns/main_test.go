//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/bench/internal/netns"
)

func TestParse(t *testing.T) {
	o, err := parse(strings.Fields("--hosts 15 --rate 10mbit --loss 0.05 -- cmd --loss 1"))
	require.NoError(t, err)
	require.Equal(t, []string{"cmd", "--loss", "1"}, o.command)
	require.Equal(t, netns.Link{Rate: "10mbit", Queue: "128kb", Burst: "8kb"}, o.link)
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
