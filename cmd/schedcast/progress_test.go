package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast"
)

// The text before the bar names the hosts for which the others wait, as far as there is room.
func TestProgressNamesHosts(t *testing.T) {
	p := &progress{doing: "send by chain", names: []string{"node01", "node02", "node03.cluster.example.org"}}
	slow := []cast.Slow{{Rank: 2, Rate: 12 << 20}, {Rank: 1, Rate: 300 << 20}, {Rank: 3, Rate: 310 << 20}}
	for _, c := range []struct {
		at   cast.Progress
		room int
		want string
	}{
		{cast.Progress{Bytes: 5}, 80, "send by chain"},
		{cast.Progress{Failed: 2}, 80, "send by chain, 2 failed"},
		{cast.Progress{Failed: 2, Slow: slow[:1]}, 80, "send by chain, 2 failed, waits for node02 (12.0 MiB/s)"},
		{cast.Progress{Slow: slow}, 110, "send by chain, waits for node02 (12.0 MiB/s), node01 (300 MiB/s), node03.cluster.example.org (310 MiB/s)"},
		{cast.Progress{Slow: slow}, 78, "send by chain, waits for node02 (12.0 MiB/s), node01 (300 MiB/s), node03.clus…"},
		{cast.Progress{Slow: slow}, 63, "send by chain, waits for node02 (12.0 MiB/s), node01"},
		{cast.Progress{Slow: slow}, 40, "send by chain, waits for node02, node01"},
		{cast.Progress{Slow: slow[2:]}, 40, "send by chain, waits for node03.cluster…"},
		{cast.Progress{Slow: slow}, 20, "send by chain"},
	} {
		p.room = c.room
		require.Equal(t, c.want, p.describe(c.at), "%d columns", c.room)
	}
}
