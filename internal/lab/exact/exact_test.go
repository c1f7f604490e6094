//go:build linux

package exact

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSent(t *testing.T) {
	_, err := sent("lo")
	require.NoError(t, err)
	_, err = sent("nowhere")
	require.EqualError(t, err, "/proc/net/dev has no interface nowhere")
}

// TestTable checks that one rank alone can measure, and that it writes a line for each operation.
func TestTable(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out, 2, "lo"))
	require.Contains(t, out.String(), "AllreduceExact of 131072")
	out.Reset()
	write(&out, []*operation{
		{bytes: 10, times: []time.Duration{1}},
		{name: "rounded", bytes: 110, times: []time.Duration{1, 4, 7}},
		{name: "exact", bytes: 160, times: []time.Duration{6, 1, 9}},
	}, 4)
	require.Equal(t, []string{"4", "ranks", "bytes", "sent", "by", "a", "rank", "of", "the", "rounded", "time,", "of", "the", "rounded",
		"rounded", "100", "exact", "150", "1.50", "1.50"}, strings.Fields(out.String()))
}
