package rdma

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// echo is a sink that puts arrivals to the next rank.
type echo struct {
	gulp
	tr *Transport
	to int
}

func (e *echo) Arrived(h *wire.Header, body []byte) {
	e.got++
	e.tr.Put(e.to, slot(h.Seq+1, body))
}

// An operation with one message each way crosses into C at most twice at each rank, even if it is
// one message in pieces. One call sends messages and takes arrivals, and a second call sends the
// reactions. Buffers, places and completions need no calls of their own.
func TestCrossings(t *testing.T) {
	const rounds = 1000
	for _, size := range []int{2, 3, 5} {
		t.Run(fmt.Sprintf("ranks=%d", size), func(t *testing.T) {
			n, trs := joined(t, size, nil)
			var sinks []*echo
			for rank, tr := range trs {
				sinks = append(sinks, &echo{tr: tr, to: (rank + 1) % size})
			}
			before := n.Counts()
			trs[0].Put(1, slot(0, make([]byte, 3000)))
			for range rounds {
				for rank, tr := range trs {
					require.True(t, tr.Poll(sinks[rank]))
				}
			}
			after := n.Counts()
			require.Equal(t, rounds, sinks[1].got)
			require.LessOrEqual(t, after.Calls-before.Calls, 2*rounds*size)
			require.LessOrEqual(t, after.Sending-before.Sending, rounds*size+1)
			require.Zero(t, n.Starved)
		})
	}
}
