package synth

import (
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/verify"
)

// read reads a network of testdata, or makes one.
func read(t testing.TB, name string) *network.Network {
	kind, sizes, made := strings.Cut(name, " ")
	if made {
		n, err := network.Generate(kind, sizes, network.Options{Rate: 10e9})
		require.NoError(t, err)
		return n
	}
	f, err := os.Open("testdata/" + name + ".net")
	require.NoError(t, err)
	defer f.Close()
	n, err := network.Parse(f)
	require.NoError(t, err, name)
	return n
}

// golden is the bound of a network, and the least number of trees that reaches it.
var golden = []struct {
	network         string
	gather, bcast   [2]int64
	gatherK, bcastK int64
}{
	{"star8", [2]int64{7, 1e9}, [2]int64{1, 1e9}, 1, 1},
	{"slow", [2]int64{4, 10e6}, [2]int64{1, 10e6}, 1, 1},
	{"racks", [2]int64{4, 100e6}, [2]int64{1, 100e6}, 1, 1},
	{"sites", [2]int64{8, 300e6}, [2]int64{1, 300e6}, 3, 3},
	{"mesh 3x3", [2]int64{8, 20e9}, [2]int64{1, 20e9}, 1, 2},
	{"torus 4x4", [2]int64{15, 40e9}, [2]int64{1, 40e9}, 4, 4},
	{"dgx1", [2]int64{7, 6}, [2]int64{1, 6}, 6, 6},
	{"a100x2", [2]int64{15, 325}, [2]int64{1, 200}, 13, 8},
	{"a100x4", [2]int64{24, 200}, [2]int64{1, 200}, 1, 8},
	{"mi250", [2]int64{14, 300}, [2]int64{1, 300}, 3, 6},
	{"mi250x2", [2]int64{30, 332}, [2]int64{1, 256}, 83, 128},
}

func TestGoldenBounds(t *testing.T) {
	for _, g := range golden {
		n := read(t, g.network)
		for _, c := range []struct {
			of   Collective
			want [2]int64
			k    int64
		}{{Allgather, g.gather, g.gatherK}, {Bcast, g.bcast, g.bcastK}} {
			b, err := BoundOf(n, c.of)
			require.NoError(t, err)
			want := big.NewRat(c.want[0], c.want[1])
			require.Equal(t, want.String(), fmt.Sprintf("%d/%d", b.Blocks, b.Rate), "%s %s", g.network, c.of)
			p := newProblem(n, c.of.weights(len(n.Ranks), 0), false)
			cut, err := p.bottleneck()
			require.NoError(t, err)
			w, err := p.optimal(cut)
			require.NoError(t, err)
			require.Equal(t, c.k, w.k, "%s %s", g.network, c.of)
			require.Equal(t, want.String(), w.ratio().String(), "%s %s", g.network, c.of)
		}
	}
}

// With few trees, the reached ratios are those of ForestColl's program.
func TestGoldenFixedTrees(t *testing.T) {
	for _, g := range []struct {
		network string
		k       int64
		num     int64
		den     int64
	}{{"a100x2", 1, 7, 150}, {"a100x2", 8, 37, 800}, {"mi250", 1, 3, 50}, {"mi250", 2, 1, 20}, {"mi250x2", 1, 1, 10}, {"mi250x2", 2, 3, 32}} {
		n := read(t, g.network)
		p := newProblem(n, Allgather.weights(len(n.Ranks), 0), false)
		cut, err := p.bottleneck()
		require.NoError(t, err)
		w, err := p.fixed(cut, g.k)
		require.NoError(t, err)
		require.Equal(t, big.NewRat(g.num, g.den).String(), w.ratio().String(), "%s, %d trees", g.network, g.k)
	}
}

func TestGoldenSchedules(t *testing.T) {
	for _, g := range golden {
		n := read(t, g.network)
		for _, c := range Collectives() {
			p, err := Plan(n, Options{Collective: c})
			require.NoError(t, err, "%s %s", g.network, c)
			s := p.Schedule()
			t.Logf("%s %s: bound %d/%d, %d trees, depth %d, ratio %.4f, detours %+v", g.network, c, p.Bound.Blocks, p.Bound.Rate, p.K, p.Depth, p.Ratio, p.Detours)
			report, err := verify.Run(s)
			require.NoError(t, err)
			require.NoError(t, report.Err(), "%s %s", g.network, c)
		}
	}
}

// Too many pieces are refused before anything is written. Many can be written.
func TestManyPieces(t *testing.T) {
	one, err := network.New("", []string{"a"}, nil, nil)
	require.NoError(t, err)
	for _, n := range []*network.Network{one, read(t, "star8"), read(t, "torus 4x4")} {
		for _, c := range []Collective{Allgather, ReduceScatter, Allreduce, Reduce} {
			_, err := Plan(n, Options{Collective: c, Pieces: 1 << 26})
			require.ErrorContains(t, err, "million puts for each rank: lower --pieces or --trees")
			p, err := Plan(n, Options{Collective: c})
			require.NoError(t, err)
			p.Options.Pieces = int(MaxPuts / p.Puts(1) / 64)
			s := p.Schedule()
			require.NoError(t, ir.Validate(s))
		}
	}
}
