package compare

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStandards(t *testing.T) {
	r := &results{rows: []row{
		means(one, ours, "tcp bcast/linear", 12),
		means(one, ours, "tcp bcast/chain", 10, 20, 30),
		means(one, ours, "mcast bcast/mcast-acktree", 1, 1, 1),
		means(one, peer, "openmpi", 40, 40, 50),
	}}
	all := r.standards()
	require.Len(t, all, 2)
	require.Equal(t, "tcp bcast/linear", all[0].row.contender)
	require.InDelta(t, 1.2, all[0].ratio, 1e-9, "the rounds that both were in")
	require.False(t, all[0].isNear())
	require.Nil(t, all[1].row)
	require.False(t, all[1].isNear(), "what was not measured is not good")

	r.rows[0].runs[0].Mean = 11
	var b bytes.Buffer
	r.standardTable(&b)
	require.Contains(t, b.String(), "in 1 of 2 cells (50 %) within 10 %")
	require.Contains(t, b.String(), "| bcast 2 B | 4 | tcp | bcast/linear | 11.0 | bcast/chain | 20.0 | 1.10 |\n")
	require.Contains(t, b.String(), "| bcast 2 B | 4 | mcast | bcast/linear | not measured | bcast/mcast-acktree | 1.00 | - |\n")
}

// TestStandardsAreMeasured checks that the library's choice is among the measured algorithms in
// every cell.
func TestStandardsAreMeasured(t *testing.T) {
	v, err := parse(t)
	require.NoError(t, err)
	for _, c := range v.cells {
		for _, transport := range standardTransports(c) {
			found := 0
			for _, of := range new(built).ourContenders(c) {
				if of.own && of.name == standardName(c, transport) {
					found++
				}
			}
			require.Equal(t, 1, found, "%v: %s", c, standardName(c, transport))
		}
	}
}

func TestDropKeepsWhatTheLibraryChooses(t *testing.T) {
	all := []contender{{side: ours}, {side: ours, own: true}, {side: ours}, {side: peer}}
	rows := []row{means(one, ours, "tcp a", 1), means(one, ours, "tcp b", 3), means(one, ours, "tcp c", 2), means(one, peer, "openmpi", 9)}
	out := make([]bool, len(rows))
	drop(all, rows, out, 1)
	require.Equal(t, []bool{false, false, true, false}, out)
}
