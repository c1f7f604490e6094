package simnet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A datagram takes the sender's link, both delays and the receiver's link, exact to the nanosecond.
func TestBroadcastOfOneDatagram(t *testing.T) {
	sc := &Scenario{
		Ranks: 3,
		Net: Net{
			Up: Link{Rate: 100e6, Delay: 7 * Microsecond}, Down: Link{Rate: 10e6, Delay: 3 * Microsecond},
			Multicast: true, Ordered: true,
		},
		Script: []Op{{Kind: OpBcast, Algorithm: "bcast/mcast-chain", Bytes: 1000}},
	}
	r := runs(t, sc)
	up, down := &sc.Net.Up, &sc.Net.Down
	want := 1 + up.Serialize(1000+gramHead) + up.Delay + down.Serialize(1000+gramHead) + down.Delay
	require.Equal(t, want, r.Calls[1].Return)
	require.Equal(t, 1, r.Cores[1].LastMcastChunks)
}
