package network

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

func parse(t testing.TB, text string) *Network {
	n, err := Parse(strings.NewReader(text))
	require.NoError(t, err, text)
	return n
}

func write(t testing.TB, n *Network) string {
	var b bytes.Buffer
	require.NoError(t, n.Write(&b))
	return b.String()
}

const servers = `network two-servers
rank a0 a1 b0 b1
switch a b # the servers' memory
link a0 a 80Gbit
link a1 a 80Gbit

link b0 b 80Gbit
link b1 b 80Gbit
link a b 10Gbit delay=1.5us
arc a0 b0 1Gbit
arc a0 b0 500Mbit delay=2us
route a0 b1 a b
`

func TestText(t *testing.T) {
	n := parse(t, servers)
	require.Equal(t, "two-servers", n.Name)
	require.Equal(t, []string{"a0", "a1", "b0", "b1"}, n.Ranks)
	require.Equal(t, []string{"a", "b"}, n.Switches)
	require.Len(t, n.Arcs, 11)
	require.Equal(t, Arc{0, 2, 1.5e9, 2000}, n.Arcs[n.Find(0, 2)], "parallel arcs add up")
	require.Equal(t, Arc{5, 4, 10e9, 1500}, n.Arcs[n.Find(5, 4)])
	require.Equal(t, []Route{{0, 4, 5, 3}}, n.Routes)
	require.Equal(t, `network two-servers
rank a0 a1 b0 b1
switch a b
arc a0 b0 1.5Gbit delay=2us
link a0 a 80Gbit
link a1 a 80Gbit
link b0 b 80Gbit
link b1 b 80Gbit
link a b 10Gbit delay=1.5us
route a0 b1 a b
`, write(t, n))
	require.Equal(t, n, parse(t, write(t, n)))
	require.Equal(t, n, n.Reversed().Reversed().with(n.Routes))
}

func (n *Network) with(routes []Route) *Network { n.Routes = routes; return n }

// random returns any network.
func random(rnd *rand.Rand) *Network {
	d := newDraft([]string{"", "x", "a-b.c_9"}[rnd.IntN(3)])
	ranks, switches := 1+rnd.IntN(6), rnd.IntN(4)
	var names []string
	for v := range ranks + switches {
		names = append(names, fmt.Sprint("n", v))
		if err := d.node(names[v], v < ranks); err != nil {
			panic(err)
		}
	}
	for range rnd.IntN(20) {
		a, b := rnd.IntN(len(names)), rnd.IntN(len(names))
		if a == b {
			continue
		}
		add := []func(a, b string, rate, delay int64) error{d.arc, d.link}[rnd.IntN(2)]
		if err := add(names[a], names[b], 1+rnd.Int64N([]int64{10, 1e6, 1e12}[rnd.IntN(3)]), rnd.Int64N([]int64{1, 1e4, 1e10}[rnd.IntN(3)])); err != nil {
			panic(err)
		}
	}
	n, err := d.finish()
	if err != nil {
		panic(err)
	}
	return n
}

// A network that is written and read back is the same.
func TestWrittenAndReadBack(t *testing.T) {
	for seed := range heavy.Seeds(heavy.Or(300, 5000)) {
		n := random(rand.New(rand.NewPCG(seed, 0)))
		require.NoError(t, n.Check())
		require.Equal(t, n, parse(t, write(t, n)), "seed %d", seed)
	}
}

func TestBadText(t *testing.T) {
	for _, test := range []struct{ text, err string }{
		{"", "no ranks"},
		{"switch s", "no ranks"},
		{"rank a\nlink a b 1Gbit", "line 2: link a b: no node b"},
		{"rank a b\n# x\n\nrank c a", "line 4: rank a: named twice"},
		{"rank a\nswitch a", "line 2: switch a: named twice"},
		{"rank a b\nlink a b 0Mbit", "line 2: link a b: 0Mbit: a rate must be positive"},
		{"rank a b\nlink a b -1Mbit", `line 2: link a b: "-1Mbit" is not a rate: it must be a number and a unit, such as 100Mbit (bit, kbit, Mbit, Gbit)`},
		{"rank a b\nlink a b 0.5bit", "line 2: link a b: 0.5bit: a rate must be a whole number of bit/s, at most 1000000Gbit"},
		{"rank a b\nlink a b 1000001Gbit", "at most 1000000Gbit"},
		{"rank a b\nlink a b 1Gbit\nlink a b 1000000Gbit", "arc a b: 1000000000000001 bit/s: a rate must be in 1..1000000000000000"},
		{"rank a b\nlink a b 1Gbit 5us", `line 2: link a b: "5us": want a delay, such as delay=5us`},
		{"rank a b\nlink a b 1Gbit delay=2h", `line 2: link a b: "2h" is not a delay`},
		{"rank a b\nlink a b 1Gbit delay=99999s", "at most an hour"},
		{"rank a b\nlink a b", "line 2: link a b: want two nodes, a rate and perhaps a delay, such as link a b 10Gbit delay=5us"},
		{"rank a b\narc a a 1bit", "line 2: arc a a: from a node to itself"},
		{"rank a b\nroute a c", "line 2: route a c: no node c"},
		{"rank a b\nswitch s\nroute a s b", "line 3: route a s b: want two ranks, and then the nodes between them"},
		{"rank a b\nroute a b", "route a b: no arc from a to b"},
		{"rank a b c\nlink a b 1bit\nlink b c 1bit\nroute a c b\nroute a c b", "route a b c: routes must be in ascending order, each once"},
		{"network a b", "line 1: network a b: want one name: a name has letters, digits, '.', '-' and '_'"},
		{"network a\nnetwork b", "line 2: network b: the network is already called a"},
		{"rank a/b", `line 1: rank "a/b": a name has letters, digits, '.', '-' and '_'`},
		{"rank", "line 1: rank: want names"},
		{"node a", `line 1: "node": want network, rank, switch, link, arc or route`},
	} {
		_, err := Parse(strings.NewReader(test.text))
		require.ErrorContains(t, err, test.err, test.text)
		var at *ParseError
		require.ErrorAs(t, err, &at)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(servers)
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		require.NoError(t, n.Check())
		require.Equal(t, write(t, n), write(t, parse(t, write(t, n))))
	})
}

func TestQuantities(t *testing.T) {
	for _, test := range []struct {
		text string
		of   int64
	}{{"1bit", 1}, {"1.5kbit", 1500}, {"100Mbit", 100e6}, {"1.000000001Gbit", 1_000_000_001}, {"1000000Gbit", MaxRate}} {
		rate, err := ParseRate(test.text)
		require.NoError(t, err)
		require.Equal(t, test.of, rate)
		require.Equal(t, test.text, FormatRate(rate))
	}
	for _, test := range []struct {
		text string
		of   int64
	}{{"0ns", 0}, {"1.5us", 1500}, {"5ms", 5e6}, {"3600s", 3600e9}} {
		delay, err := ParseDelay(test.text)
		require.NoError(t, err)
		require.Equal(t, test.of, delay)
		require.Equal(t, test.text, FormatDelay(delay))
	}
}

// route returns the names of the nodes on the way between two.
func route(t testing.TB, n *Network, from, to string) string {
	number := func(name string) int {
		for v := range n.Nodes() {
			if n.NameOf(v) == name {
				return v
			}
		}
		t.Fatal(name)
		return 0
	}
	arcs, err := NewRouter(n).Route(nil, number(from), number(to))
	require.NoError(t, err)
	names := []string{from}
	for _, arc := range arcs {
		names = append(names, n.NameOf(n.Arcs[arc].To))
	}
	return strings.Join(names, " ")
}

func TestRoutes(t *testing.T) {
	n := parse(t, servers)
	require.Equal(t, "a0 a b b1", route(t, n, "a0", "b1"), "as the network says")
	require.Equal(t, "b1 b a a0", route(t, n, "b1", "a0"))
	require.Equal(t, "a0 b0", route(t, n, "a0", "b0"))
	require.Equal(t, "a1 a b b0", route(t, n, "a1", "b0"), "a0 does not forward, although a way over it is as short")

	ring := parse(t, "rank a b c d\nlink a b 1bit\nlink b c 1bit\nlink c d 1bit\nlink d a 1bit")
	require.Equal(t, "a b c", route(t, ring, "a", "c"), "hosts forward, and the lower number is taken")
	require.Equal(t, "d a b", route(t, ring, "d", "b"))
	_, err := NewRouter(parse(t, "rank a b\narc a b 1bit")).Route(nil, 1, 0)
	require.EqualError(t, err, "no way leads from rank 1 (b) to rank 0 (a)")

	spines := parse(t, "rank a b\nswitch s t\nlink a t 1bit\nlink t b 1bit\nlink a s 1bit\nlink s b 1bit")
	require.Equal(t, "a s b", route(t, spines, "a", "b"))
}

func TestKinds(t *testing.T) {
	for _, test := range []struct {
		kind, sizes         string
		ranks, nodes, links int
	}{
		{"star", "8", 8, 9, 8},
		{"racks", "3x4", 12, 16, 15},
		{"torus", "4x4", 16, 16, 32},
		{"torus", "2x3x4", 24, 24, 60}, // links of a side of two add up
		{"torus", "5", 5, 5, 5},
		{"mesh", "3x3", 9, 9, 12},
		{"mesh", "1x1", 1, 1, 0},
		{"hypercube", "4", 16, 16, 32},
		{"fat-tree", "4x2x3", 8, 15, 20},
	} {
		n, err := Generate(test.kind, test.sizes, Options{Rate: 1e9, Trunk: 2e9})
		require.NoError(t, err)
		require.Equal(t, []int{test.ranks, test.nodes, 2 * test.links}, []int{len(n.Ranks), n.Nodes(), len(n.Arcs)}, "%s %s", test.kind, test.sizes)
		require.Equal(t, n, parse(t, write(t, n)))
	}
	for _, test := range []struct{ kind, sizes, err string }{
		{"ring", "4", `"ring": want one of star, racks, torus, mesh, hypercube, fat-tree`},
		{"torus", "4x", `torus 4x: "" is not a size: want SIDExSIDE…`},
		{"torus", "100x100", "torus 100x100: more than 4096 ranks"},
		{"star", "2x2", "star 2x2: want HOSTS"},
		{"star", "5000", "star 5000: more than 4096 ranks"},
		{"hypercube", "13", "hypercube 13: want DIMENSION"},
		{"fat-tree", "64x65x1", "more than 4096 ranks"},
	} {
		_, err := Generate(test.kind, test.sizes, Options{Rate: 1e9})
		require.ErrorContains(t, err, test.err)
	}
}

// A ring among racks whose ranks alternate crosses the trunk with every message; in the proposed
// order two messages do.
func TestOrder(t *testing.T) {
	n := parse(t, `rank a0 b0 a1 b1 a2 b2
switch a b
link a0 a 1Gbit
link a1 a 1Gbit
link a2 a 1Gbit
link b0 b 1Gbit
link b1 b 1Gbit
link b2 b 1Gbit
link a b 1Gbit`)
	o := n.Ordered(Order(n))
	require.Equal(t, []string{"a0", "a1", "a2", "b0", "b1", "b2"}, o.Ranks)
	require.Equal(t, ringCost{3e-9, 18}, roundCost(n))
	require.Equal(t, ringCost{1e-9, 14}, roundCost(o))
	torus, err := Generate("torus", "4x4", Options{Rate: 1e9})
	require.NoError(t, err)
	require.Equal(t, ringCost{1e-9, 16}, roundCost(torus.Ordered(Order(torus))), "a ring of neighbours")
	require.NoError(t, torus.Ordered(Order(torus)).Check())
}

func roundCost(n *Network) ringCost {
	order := make([]int, len(n.Ranks))
	for i := range order {
		order[i] = i
	}
	c := NewRouter(n).ring(order)
	c.busiest = float64(int(c.busiest*1e10+0.5)) / 1e10
	return c
}
