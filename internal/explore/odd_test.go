package explore

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// One rank calls something else, or less, or more. No rank waits forever, and errors say why.
func TestRanksThatDisagree(t *testing.T) {
	for _, c := range []struct{ calls, odd []string }{
		{[]string{"bcast/binomial"}, []string{"barrier/hsb"}},
		{[]string{"barrier/hsb"}, []string{"bcast/binomial"}},
		{[]string{"barrier/dissemination"}, []string{"bcast/chain"}},
		{[]string{"bcast/chain"}, []string{"bcast/binomial"}},
		{[]string{"bcast/mcast-acktree"}, []string{"bcast/mcast-chain"}},
		{[]string{"bcast/mcast-chain"}, []string{"bcast/mcast-acktree"}},
		{[]string{"bcast/mcast-acktree"}, []string{"barrier/hsb"}},
		{[]string{"barrier/hsb"}, []string{}},
		{[]string{"bcast/mcast-acktree"}, []string{}},
		{[]string{"bcast/chain", "barrier/hsb"}, []string{"bcast/chain"}},
		{[]string{"bcast/chain"}, []string{"bcast/chain", "barrier/hsb"}},
		{[]string{"bcast/chain", "barrier/hsb"}, []string{"barrier/hsb", "bcast/chain"}},
		{[]string{"bcast/mcast-acktree", "barrier/hsb"}, []string{"barrier/hsb", "bcast/mcast-acktree"}},
	} {
		for rank := range 3 {
			t.Run(fmt.Sprint(c.calls, c.odd, rank), func(t *testing.T) {
				o := Options{
					Ranks: 3, Calls: calls(t, 3, 1, c.calls...), OddRank: rank,
					Odd: append([]Call{}, calls(t, 3, 1, c.odd...)...), Losses: 1,
				}
				_, r := explored(t, o, nil)
				if r.Violation != nil {
					t.Log(spell(r.Violation))
				}
				require.Nil(t, r.Violation)
				require.True(t, r.Complete)
			})
		}
	}
}
