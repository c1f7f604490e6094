package simnet

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// lossy returns a fault that loses packets of every host, also packets of puts.
func lossy(perMille int) Fault {
	return Fault{Kind: FaultLoss, Host: -1, Until: 600 * Second, PerMille: perMille}
}

// Multicast messages reach all of 15 ranks while all publish, however many packets are lost, and
// Flush returns. Lost messages come by puts. Without losses, no message is put.
func TestMulticastMessages(t *testing.T) {
	for _, perMille := range []int{0, 10, 100, 300, 500} {
		t.Run(fmt.Sprint(perMille), func(t *testing.T) {
			sc := still(15, nil)
			sc.Comm.Anycast, sc.Net.Datagram = "anycast/mcast-acktree", 1400
			if perMille > 0 {
				sc.Faults, sc.Net.Ordered = []Fault{lossy(perMille)}, false
			}
			for range 3 {
				sc.Script = append(sc.Script, Op{Kind: OpPublish, Root: -1, Count: 10, Bytes: 3000}, Op{Kind: OpTake})
			}
			sc.Script = append(append(sc.Script, sc.flushing()...), Op{Kind: OpPublish, Root: 3, Count: 5, Bytes: 100}, Op{Kind: OpTake})
			r := runs(t, sc)
			given := uint64(0)
			for _, c := range r.Calls {
				require.NoError(t, c.Err)
			}
			for rank, c := range r.Cores {
				given += c.Given
				require.EqualValues(t, 30*14+5*min(1, max(rank-3, 3-rank)), c.Delivered, "rank %d", rank)
			}
			require.Equal(t, perMille > 0, given > 0, "%d messages are put", given)
		})
	}
}

// Ranks that close as soon as they have their messages break no tree of acknowledgements. The other
// ranks get all messages under any losses.
func TestMulticastMessagesOfLeavingRanks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := casting(rt, 20)
		sc.Comm.Anycast = "anycast/mcast-acktree"
		if perMille := rapid.SampledFrom([]int{0, 10, 200, 500}).Draw(rt, "per mille"); perMille > 0 {
			sc.Faults = []Fault{lossy(perMille)}
		}
		root := rapid.IntRange(-1, sc.Ranks-1).Draw(rt, "last origin")
		sc.Script = append(sc.Script, Op{Kind: OpPublish, Root: root, Count: sc.Comm.PublishWindow, Bytes: 200}, Op{Kind: OpTake})
		for _, c := range runs(rt, sc).Calls {
			require.NoError(rt, c.Err)
		}
	})
}
