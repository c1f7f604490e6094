package dot

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/network"
)

func text(t testing.TB, n *network.Network) string {
	var b bytes.Buffer
	require.NoError(t, n.Write(&b))
	return b.String()
}

func TestDOT(t *testing.T) {
	n, err := Parse(strings.NewReader(`// two racks
digraph "racks" {
	node [rank=""]
	edge [rate="10Gbit", delay="5us"]
	h0 [rank=0]; "h1" [rank=1]
	subgraph cluster { s0 -> s1 -> h1 [rate="1Gbit"] }
	h0 -> s0
}`))
	require.NoError(t, err)
	require.Equal(t, `network racks
rank h0 h1
switch s0 s1
arc h0 s0 10Gbit delay=5us
arc s0 s1 1Gbit delay=5us
arc s1 h1 1Gbit delay=5us
`, text(t, n))
}

// A network that is written and read back is the same, with links and with arcs.
func TestWrittenAndReadBack(t *testing.T) {
	for _, kind := range [][2]string{{"star", "3"}, {"racks", "2x2"}, {"torus", "2x3"}, {"hypercube", "3"}} {
		n, err := network.Generate(kind[0], kind[1], network.Options{Rate: 10e9, Trunk: 15e8, Delay: 1500})
		require.NoError(t, err)
		oneWay := n.Reversed()
		oneWay.Arcs = oneWay.Arcs[1:]
		for _, n := range []*network.Network{n, oneWay} {
			var b bytes.Buffer
			require.NoError(t, Write(&b, n, nil))
			require.True(t, Is(b.Bytes()))
			back, err := Parse(&b)
			require.NoError(t, err)
			require.Equal(t, n, back)
		}
	}
}

func TestIs(t *testing.T) {
	for text, is := range map[string]bool{
		"graph {": true, "digraph x{": true, "strict graph": true, "// x\n graph {": true, "# x\ngraph {": true, "/* x */ graph {": true,
		"": false, "network graph": false, "rank a": false, "# graph": false,
	} {
		require.Equal(t, is, Is([]byte(text)), text)
	}
}

func TestBad(t *testing.T) {
	for _, test := range []struct{ text, err string }{
		{"graph { a [rank=0]; a -- b }", `DOT: edge a b: no rate: want an attribute, such as rate="10Gbit"`},
		{`graph { a [rank=1]; a -- b [rate="1bit"] }`, "DOT: no node has rank=0"},
		{`graph { a [rank=x] }`, "DOT: node a: rank=x: must be in 0..4095"},
		{`graph { a [rank=0]; b [rank=0] }`, "DOT: node b: rank=0 is node a"},
		{`graph { a [rank=0]; {a b} -- c [rate="1bit"] }`, "DOT: an edge of a subgraph: want edges between nodes"},
		{"graph {", "DOT: "},
	} {
		_, err := Parse(strings.NewReader(test.text))
		require.ErrorContains(t, err, test.err, test.text)
		var at *network.ParseError
		require.ErrorAs(t, err, &at)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`graph { a [rank=0]; a -- b [rate="1bit", delay="1ns"] }`)
	f.Add(`strict digraph "x" { node [shape=box]; subgraph s { "a" [rank=0]; a -> b -> c [rate="1Gbit"] } }`)
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := Parse(strings.NewReader(text)); err == nil {
			require.NoError(t, n.Check())
		}
	})
}
