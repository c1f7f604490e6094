package runtime_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// grouping is a transport that records the posts in its window.
type grouping struct {
	wire.Transport
	posting
}

func (g *grouping) Windows() wire.Windows { return &g.posting }

type posting struct {
	wire.Windows
	groups []string
}

func (g *posting) Post(line int, ranks []int, f wire.Flag) {
	g.groups = append(g.groups, fmt.Sprint("s", (line-wire.FlagLines)%(wire.FlagLines/2), " ", ranks))
	g.Windows.Post(line, ranks, f)
}

// Runs of puts of one signal reach the transport as one post; single puts do not.
func TestSignalsToSeveralRanks(t *testing.T) {
	for _, test := range []struct {
		name  string
		p     schedule.Params
		ranks int
		want  map[int][]string // rank -> what it puts to several at once, in a barrier
	}{
		{"barrier/hsb", schedule.Params{}, 2, nil},
		{"barrier/hsb", schedule.Params{}, 4, map[int][]string{0: {"s0 [1 2 3]"}}},
		{"barrier/hsb", schedule.Params{Hosts: 1}, 6, map[int][]string{0: {"s0 [1 2 3 4 5]"}}},
		{"barrier/hsb", schedule.Params{FanIn: 2, FanOut: 2}, 7, map[int][]string{0: {"s2 [1 2]"}, 1: {"s0 [3 4]"}, 2: {"s0 [5 6]"}}},
		{"barrier/hsb", schedule.Params{FanIn: 2, FanOut: 2}, 6, map[int][]string{1: {"s0 [3 4]"}}}, // ranks 1 and 2 have different numbers of children
		{"barrier/dissemination", schedule.Params{}, 6, nil},
		{"barrier/dissemination", schedule.Params{Hosts: 2}, 8, map[int][]string{0: {"s0 [1 2 3]"}, 4: {"s0 [5 6 7]"}}},
		{"barrier/exchange", schedule.Params{Hosts: 3}, 9, map[int][]string{0: {"s0 [1 2]"}, 3: {"s0 [4 5]"}, 6: {"s0 [7 8]"}}},
	} {
		t.Run(fmt.Sprintf("%s,ranks=%d,%+v", test.name, test.ranks, test.p), func(t *testing.T) {
			p := test.p
			p.Ranks = test.ranks
			barrier := known(t, test.name, p)
			trs, err := mem.New(test.ranks, mem.Options{Windows: true})
			require.NoError(t, err)
			groups, comms := make([]*grouping, test.ranks), make([]*runtime.Comm, test.ranks)
			for rank, tr := range trs {
				groups[rank] = &grouping{Transport: tr, posting: posting{Windows: tr.Windows()}}
				comms[rank], err = runtime.Join(t.Context(), runtime.Config{
					Transport: groups[rank], Algorithms: runtime.Algorithms{"barrier": {Name: test.name, Params: test.p}, "bcast": {Name: "bcast/linear"}},
				})
				require.NoError(t, err)
				defer comms[rank].Close()
			}
			require.NoError(t, each(comms, func(c *runtime.Comm) error {
				if err := c.Barrier(t.Context()); err != nil {
					return err
				}
				return c.Bcast(t.Context(), make([]byte, 10), 0) // chunks go one by one
			}))
			for rank, g := range groups {
				require.Equal(t, test.want[rank], g.groups, "rank %d", rank)
				g.groups = nil
			}
			require.NoError(t, each(comms, func(c *runtime.Comm) error { return errors.Join(c.Use(barrier), c.Barrier(t.Context())) }))
			for rank, g := range groups {
				require.Equal(t, test.want[rank], g.groups, "rank %d, with a schedule that it was given", rank)
			}
		})
	}
}
