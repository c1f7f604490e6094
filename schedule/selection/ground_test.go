package selection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule/selection"
)

// hostsOf returns the numbers of hosts that letters name.
func hostsOf(letters string) (host []int) {
	for _, l := range letters {
		host = append(host, int(l))
	}
	return host
}

func TestBlocks(t *testing.T) {
	for hosts, want := range map[string]int{
		"": 0, "a": 1, "aa": 1, "ab": 2, "aab": 2, "abb": 0, "aabbcc": 3, "aba": 0, "aabbaa": 0, "aaaab": 0,
		"aaaabbbbccccdddd": 4, "aaabbccc": 0, "aaabbbcc": 3, "abcdefgh": 8,
	} {
		require.Equal(t, want, selection.Blocks(hostsOf(hosts)), hosts)
	}
}

// Blocks recognizes the blocks of package schedule.
func TestBlocksAreThoseOfSchedules(t *testing.T) {
	for ranks := 1; ranks <= 40; ranks++ {
		for hosts := 1; hosts <= ranks; hosts++ {
			host := make([]int, ranks)
			for r := range host {
				host[r] = -(r * hosts / ranks)
			}
			require.Equal(t, hosts, selection.Blocks(host), "%d ranks", ranks)
		}
	}
}

// slowPulls are the costs of an AMD EPYC whose system copies slowly between processes.
var slowPulls = &wire.Pace{Ring: 40, Pull: 68, Call: 1020, Line: 25, Fold: 15, Yield: 495, Cores: 2}

func TestCaseOfGround(t *testing.T) {
	lent := selection.Ground{OneHost: true, Lends: true, Pace: slowPulls}
	for _, c := range []struct {
		hosts string
		of    selection.Ground
		want  selection.Case
	}{
		{hosts: "", want: selection.Case{Place: selection.Anywhere}},
		{hosts: "aaaa", of: lent, want: selection.Case{Place: selection.OneHost, Memory: true, Rings: true, Pace: slowPulls}},
		{hosts: "", of: lent, want: selection.Case{Place: selection.OneHost, Memory: true, Rings: true, Pace: slowPulls}},
		{hosts: "aaaa", of: selection.Ground{OneHost: true, Lends: true}, want: selection.Case{Place: selection.OneHost, Memory: true}},
		{hosts: "", of: selection.Ground{OneHost: true, Pace: slowPulls}, want: selection.Case{Place: selection.OneHost}},
		{hosts: "aabb", of: selection.Ground{Lends: true, Pace: slowPulls}, want: selection.Case{Hosts: 2}},
		{hosts: "abab", want: selection.Case{Place: selection.Anywhere}},
		{hosts: "dbca", of: selection.Ground{Multicast: true, RDMA: true}, want: selection.Case{Place: selection.OneEach, Multicast: true, RDMA: true}},
	} {
		c.of.Ranks, c.want.Ranks, c.of.Host = 4, 4, hostsOf(c.hosts)
		require.Equal(t, c.want, c.of.Case(), "%+v", c.of)
	}
}
