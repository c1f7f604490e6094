package schedule

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/model/loggp"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// claim is an algorithm's statement about the order of its puts compared with another order.
type claim int

const (
	never   claim = iota // the other order is never shorter
	onMean               // the other order is not shorter on average
	equal                // the other order is as long
	fixed                // the order is part of the definition, whatever is shorter
	unclear              // it depends on the case which order is shorter
)

func (c claim) String() string {
	return [...]string{"never shorter", "not shorter on average", "equal", "by definition", "depends"}[c]
}

// orders are the comparisons, by algorithm. The algorithms' comments cite them.
var orders = []struct {
	algorithm string
	other     string
	claim     claim
	cases     func(*Algorithm) []Params
	order     ordering // nil: shortest
}{
	{"bcast/linear", "rank by rank", never, flatBcasts, rankByRank},
	{"bcast/linear", "slaves first", onMean, hostBcasts, slavesFirst},
	{"bcast/linear", "slaves chunk by chunk", onMean, hostBcasts, slavesByChunk},
	{"bcast/binomial", "nearest first", never, flatBcasts, backwards},
	{"bcast/binomial", "longest way first", fixed, trees, nil},
	{"bcast/binomial", "rank by rank", unclear, flatBcasts, rankByRank},
	{"bcast/binomial", "slaves first", onMean, hostBcasts, slavesFirst},
	{"bcast/binomial", "slaves chunk by chunk", onMean, hostBcasts, slavesByChunk},
	{"bcast/binomial-doubling", "farthest first", never, flatBcasts, backwards},
	{"bcast/binomial-doubling", "longest way first", equal, trees, nil},
	{"bcast/binomial-doubling", "rank by rank", unclear, flatBcasts, rankByRank},
	{"bcast/binomial-doubling", "slaves first", onMean, hostBcasts, slavesFirst},
	{"bcast/binomial-doubling", "slaves chunk by chunk", onMean, hostBcasts, slavesByChunk},
	{"bcast/chain", "slaves first", never, hostBcasts, slavesFirst},
	{"bcast/chain", "slaves after all chunks", onMean, hostBcasts, slavesAfterAllChunks},
	{"bcast/mcast-chain", "multicasts last", onMean, flatBcasts, multicastsLast},
	{"bcast/mcast-chain", "chunk by chunk", unclear, flatBcasts, chunkByChunk},
	{"bcast/mcast-chain", "slaves first", unclear, hostBcasts, slavesFirst},
	{"bcast/mcast-binomial", "multicasts last", onMean, flatBcasts, multicastsLast},
	{"bcast/scatter-allgather", "ring before scatter", onMean, wholeGroups, inTurn},
	{"scatter/binomial", "nearest first", onMean, wholeGroups, reversed},
	{"scatter/linear", "backwards", equal, wholeGroups, reversed},
	{"alltoall/linear", "by number", onMean, wholeGroups, toNumber},
	{"allreduce/linear", "by number", onMean, wholeGroups, toNumber},
	{"bcast/mcast-acktree", "multicasts last", onMean, hostBcasts, multicastsLast},
	{"bcast/mcast-acktree", "chunk by chunk", onMean, hostBcasts, chunkByChunk},
	{"bcast/symmetric", "forwards", onMean, symmetrics, backwards},
	{"bcast/symmetric", "by number", onMean, symmetrics, byNumber},
	{"bcast/symmetric", "slaves first", onMean, hostBcasts, slavesFirst},
	{"anycast/skip-ring", "nearest first", never, origins, nearestFirst},
	{"anycast/skip-ring", "farthest first", never, origins, farthestFirst},
	{"anycast/skip-ring", "longest way first", unclear, origins, nil},
	{"anycast/circulant", "nearest first", never, origins, nearestFirst},
	{"anycast/circulant", "farthest first", never, origins, farthestFirst},
	{"anycast/circulant", "longest way first", equal, origins, nil},
	{"barrier/hsb", "backwards", never, flatBarriers, backwards},
	{"barrier/hsb", "slaves first", never, hostBarriers, slavesFirst},
	{"barrier/hsb-mcast", "slaves first", onMean, hostBarriers, slavesFirst},
	{"barrier/exchange", "forwards", onMean, flatBarriers, backwards},
	{"barrier/exchange", "forwards", unclear, hostBarriers, backwards},
	{"barrier/exchange", "slaves first", never, hostBarriers, slavesFirst},
	{"barrier/dissemination", "backwards", equal, flatBarriers, backwards},
	{"barrier/dissemination", "backwards", unclear, hostBarriers, backwards},
	{"barrier/dissemination", "by number", never, flatBarriers, byNumber},
}

// orderRanks are the sizes of groups. Most are not powers of two.
var orderRanks = []int{2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 21, 24, 27, 31, 32, 33, 37, 48, 63, 64, 65, 100}

func flatBcasts(*Algorithm) []Params {
	var out []Params
	for _, ranks := range orderRanks {
		for _, chunks := range []int{1, 2, 4, 16} {
			out = append(out, Params{Ranks: ranks, Chunks: chunks})
		}
	}
	return out
}

func hostBcasts(a *Algorithm) []Params {
	return onHosts(flatBcasts(a))
}

// onHosts distributes the ranks over a few hosts, over many, and over nearly one each.
func onHosts(flat []Params) []Params {
	var out []Params
	for _, p := range flat {
		for _, hosts := range []int{2, p.Ranks / 3, p.Ranks / 2, p.Ranks - 1} {
			if p.Hosts = hosts; hosts > 0 {
				out = append(out, p)
			}
		}
	}
	return out
}

func trees(*Algorithm) []Params {
	var out []Params
	for ranks := 2; ranks <= 130; ranks++ {
		out = append(out, Params{Ranks: ranks, Chunks: 1})
	}
	return out
}

// wholeGroups returns parameters that are all at their defaults.
func wholeGroups(*Algorithm) []Params {
	var out []Params
	for _, ranks := range orderRanks {
		if ranks <= 65 {
			out = append(out, Params{Ranks: ranks})
		}
	}
	return out
}

func symmetrics(*Algorithm) []Params {
	var out []Params
	for ranks := 3; ranks <= 40; ranks++ {
		out = append(out, Params{Ranks: ranks})
	}
	return out
}

// origins returns every origin of small groups and some origins of larger ones.
func origins(*Algorithm) []Params {
	var out []Params
	for _, ranks := range append([]int{128, 129, 200}, orderRanks...) {
		for origin := 0; origin < ranks; origin += 1 + ranks/40 {
			out = append(out, Params{Ranks: ranks, Root: origin})
		}
	}
	return out
}

func flatBarriers(a *Algorithm) []Params {
	var out []Params
	for ranks := 2; ranks <= 130; ranks++ {
		out = append(out, fans(a, ranks)...)
	}
	return out
}

func hostBarriers(a *Algorithm) []Params {
	var out []Params
	for _, ranks := range orderRanks {
		out = append(out, fans(a, ranks)...)
	}
	return onHosts(out)
}

// fans returns parameters of a barrier with small and large degrees or fans.
func fans(a *Algorithm, ranks int) []Params {
	var out []Params
	for _, fan := range []int{2, 3, 4, 6, 16} {
		p := Params{Ranks: ranks, Degree: fan}
		if slices.Contains(a.Params, "fan-in") {
			p = Params{Ranks: ranks, FanIn: 7 - min(fan, 6), FanOut: fan}
		}
		out = append(out, p)
	}
	return out
}

// compared is the result of comparing another order with the algorithm's own.
type compared struct {
	cases, shorter, longer int
	sum, least, most       float64 // of the ratios of the other order's time to the algorithm's own
}

func (c *compared) add(own, other loggp.Time) {
	ratio := float64(other) / float64(own)
	if c.cases == 0 {
		c.least, c.most = ratio, ratio
	}
	c.cases++
	c.shorter += count(other < own)
	c.longer += count(other > own)
	c.sum += ratio
	c.least, c.most = min(c.least, ratio), max(c.most, ratio)
}

func (c *compared) mean() float64 { return c.sum / float64(c.cases) }

// requireHolds requires that the result supports the claim. Means are rounded to three digits, as
// they are printed.
func (c *compared) requireHolds(t *testing.T, what claim) {
	t.Helper()
	switch what {
	case never:
		require.Zero(t, c.shorter)
		require.Positive(t, c.longer, "nothing depends on the order")
	case onMean:
		require.Greater(t, c.mean(), 0.9995)
	case equal:
		require.Zero(t, c.shorter+c.longer)
	case fixed, unclear:
		require.Positive(t, c.shorter, "the order could claim more")
	}
}

// TestOrders runs every algorithm with its own and with other orders of its puts in the LogGP
// model, with a message of 1 byte and one of 64 KiB. It checks the algorithm's claims and keeps the
// figures in testdata/orders.txt. SCHEDGEN_UPDATE=1 records. The daily tests take the first
// comparison of each algorithm.
func TestOrders(t *testing.T) {
	update := os.Getenv("SCHEDGEN_UPDATE") != ""
	all := update || heavy.Tests()
	var own ownTimes
	lines := make([]string, len(orders))
	t.Run("claims", func(t *testing.T) { // ends when all parallel subtests have ended
		for i, o := range orders {
			if !all && i > 0 && orders[i-1].algorithm == o.algorithm {
				continue
			}
			alg, err := find(o.algorithm)
			require.NoError(t, err)
			cases := o.cases(&alg)
			name := o.other
			if cases[0].Hosts > 0 {
				name += ", on hosts"
			}
			t.Run(o.algorithm+"/"+name, func(t *testing.T) {
				t.Parallel()
				var c compared
				for _, p := range cases {
					compareOrders(t, &c, &own, o.algorithm, p, o.order)
				}
				lines[i] = fmt.Sprintf("%s\t%s\t%v\t%d\t%d\t%d\t%.3f\t%.3f\t%.3f\n", o.algorithm, name, o.claim, c.cases, c.shorter, c.longer, c.mean(), c.least, c.most)
				c.requireHolds(t, o.claim)
			})
		}
	})
	path := filepath.Join("testdata", "orders.txt")
	if !all {
		golden, err := os.ReadFile(path)
		require.NoError(t, err)
		known := map[string]bool{"": true} // also the comparisons that were not made
		for line := range strings.Lines(string(golden)) {
			known[spaced(line)] = true
		}
		for _, line := range lines {
			require.True(t, known[spaced(line)], "not in %s: %s", path, line)
		}
		return
	}
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "algorithm\tother order\tclaim\tcases\tshorter\tlonger\tmean\tleast\tmost")
	fmt.Fprint(w, strings.Join(lines, ""))
	require.NoError(t, w.Flush())
	if update {
		require.NoError(t, os.WriteFile(path, out.Bytes(), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "no golden; SCHEDGEN_UPDATE=1 records it")
	require.Equal(t, string(want), out.String())
}

// ownTimes caches the makespans of schedules in their own order, by algorithm, parameters and
// bytes, because several other orders are compared with each.
type ownTimes struct{ sync.Map }

func (o *ownTimes) of(t *testing.T, s *ir.Schedule, name string, p Params, bytes int) loggp.Time {
	t.Helper()
	key := fmt.Sprint(name, p, bytes)
	if known, ok := o.Load(key); ok {
		return known.(loggp.Time)
	}
	time := makespan(t, s, bytes)
	o.Store(key, time)
	return time
}

func compareOrders(t *testing.T, c *compared, own *ownTimes, name string, p Params, o ordering) {
	t.Helper()
	spec, err := New(name, p)
	require.NoError(t, err)
	s := spec.Schedule()
	sizes := []int{1, 64 << 10}
	if s.Chunks == 0 {
		sizes = sizes[:1]
	}
	var other *ir.Schedule
	if o != nil {
		other = reordered(s, p, o)
	}
	for _, bytes := range sizes {
		if o == nil {
			other = shortest(s, loggp.Defaults(), bytes)
		}
		c.add(own.of(t, s, name, p, bytes), makespan(t, other, bytes))
	}
}

// makespan returns the time of a schedule with the parameters of LogGOPSim.
func makespan(t *testing.T, s *ir.Schedule, bytes int) loggp.Time {
	t.Helper()
	r, err := loggp.Run(s, loggp.Defaults(), bytes)
	require.NoError(t, err)
	require.NotEqual(t, loggp.Never, r.Makespan)
	return r.Makespan
}
