package schedule

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

// anycast/mcast-acktree passes the conformance suite.
func TestAnycastMcastAckTree(t *testing.T) { conform(t, "anycast/mcast-acktree") }

// The acknowledgement of each rank, for each origin, goes to the rank that the overlay names as the
// sender of the origin's messages.
func TestAcknowledgementsClimbTheOverlay(t *testing.T) {
	for ranks := 2; ranks <= 33; ranks++ {
		for origin := range ranks {
			s, err := New("anycast/mcast-acktree", Params{Ranks: ranks, Root: origin})
			require.NoError(t, err)
			o := circulantOverlay{ranks}
			require.Equal(t, circulantOverlay{ranks}, s.Overlay())
			for rank := range ranks {
				p := s.Program(rank)
				var to []int
				for _, rule := range p.Rules {
					for _, act := range rule.Do {
						if act.Op == ir.Put && act.Slot.Kind() == ir.KindSignal && !rule.IsRepair() {
							to = append(to, int(act.To))
						}
					}
				}
				if rank == origin {
					require.Empty(t, to)
					continue
				}
				require.Equal(t, []int{o.Sender(rank, origin)}, to, "rank %d of %d, origin %d", rank, ranks, origin)
				require.True(t, slices.Contains(o.Channels(nil, to[0]), rank), "acknowledgements use the channels")
			}
		}
	}
}
