package compare

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoals(t *testing.T) {
	for _, test := range []struct {
		cell  cell
		ratio float64
		want  string
	}{
		{cell{wire: wireTCP, op: opBarrier, ranks: 4}, 1.004, "1.00"},
		{cell{wire: wireTCP, op: opBarrier, ranks: 4}, 1.02, "**1.02** > 1.0"},
		{cell{wire: wireTCP, op: opBarrier, ranks: 8}, 0.56, "**0.56** > 0.5"},
		{cell{wire: wireTCP, op: opBcast, ranks: 8, bytes: 2 << 10}, 0.51, "**0.51** > 0.5"},
		{cell{wire: wireTCP, op: opBcast, ranks: 32, bytes: 64 << 10}, 0.69, "0.69"},
		{cell{wire: wireTCP, op: opBcastAck, ranks: 16, bytes: 512 << 10}, 0.99, "**0.99** > 0.7"},
		{cell{wire: wireTCP, op: opBcastBarrier, ranks: 2}, 3, "3.00"},
		{cell{wire: wireShm, op: opBcastBarrier, ranks: 2}, 3, "**3.00** > 1.0"},
		{cell{wire: wireShm, op: opBarrier, ranks: 32}, 0.99, "0.99"},
	} {
		v := verdict{cell: test.cell, ratio: test.ratio}
		require.Equal(t, test.want, ratioByGoal(&v), "%v", test.cell)
		var b bytes.Buffer
		ratioTable(&b, []verdict{v})
		require.Contains(t, b.String(), " "+test.want+" |\n")
	}
}
