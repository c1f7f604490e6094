package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestLayout checks that the blocks of hosts are contiguous and as even as possible, that each has
// one master, which is the root in its block, and that slave and slaveIndex are inverse to each
// other.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 200).Draw(t, "ranks")
		p := Params{
			Ranks: ranks,
			Root:  rapid.IntRange(0, ranks-1).Draw(t, "root"),
			Hosts: rapid.IntRange(1, ranks).Draw(t, "hosts"),
		}
		l := newLayout(p)
		require.Equal(t, 0, l.virtual(p.Root))
		require.Equal(t, p.Root, l.master(0))
		checkBlocks(t, l)
		for rank := range ranks {
			checkPlace(t, node{layout: l, rank: rank, v: l.virtual(rank)})
		}
	})
}

func checkBlocks(t *rapid.T, l layout) {
	covered := 0
	for v := range l.hosts {
		size := 1 + l.slavesOf(v)
		require.GreaterOrEqual(t, size, l.ranks/l.hosts)
		require.LessOrEqual(t, size, (l.ranks+l.hosts-1)/l.hosts)
		require.Equal(t, v, l.virtual(l.master(v)))
		covered += size
	}
	require.Equal(t, l.ranks, covered)
}

func checkPlace(t *rapid.T, n node) {
	if n.isMaster() {
		for i := range n.slaves() {
			slave := node{layout: n.layout, rank: n.slave(i), v: n.v}
			require.Equal(t, n.v, n.virtual(slave.rank))
			require.Equal(t, i, slave.slaveIndex())
		}
		return
	}
	master := node{layout: n.layout, rank: n.master(n.v), v: n.v}
	require.Equal(t, n.rank, master.slave(n.slaveIndex()))
}
