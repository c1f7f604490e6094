package astra

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/network"
)

func write(t *testing.T, n *network.Network) string {
	var b strings.Builder
	require.NoError(t, n.Write(&b))
	return b.String()
}

func TestParse(t *testing.T) {
	file, err := os.ReadFile("testdata/three.yml")
	require.NoError(t, err)
	require.True(t, Is(file))
	n, err := Parse(bytes.NewReader(file))
	require.NoError(t, err)
	text := write(t, n)
	for _, line := range []string{
		"rank npu0 npu1 npu2 npu3 npu4 npu5 npu6 npu7 npu8 npu9 npu10 npu11",
		"switch d2s0 d2s1 d2s2 d2s3 d2s4 d2s5",
		"link npu3 npu4 1600Gbit delay=50ns", "link npu3 npu5 1600Gbit delay=50ns",
		"link npu2 npu5 800Gbit delay=500ns",
		"link npu4 d2s4 100Gbit", "link npu10 d2s4 100Gbit",
	} {
		require.Contains(t, text, line+"\n")
	}
	require.Len(t, n.Arcs, 2*(12+6+12))
}

// One dimension needs no lists, and a ring of two has one link.
func TestScalars(t *testing.T) {
	n, err := Parse(strings.NewReader("---\nlatency: 0.6\ntopology: Ring\nnpus_count: 2\nbandwidth: 1e1\nother: [x]\n"))
	require.NoError(t, err)
	require.Equal(t, "rank npu0 npu1\nlink npu0 npu1 80Gbit delay=1ns\n", write(t, n))
}

func TestIs(t *testing.T) {
	for text, is := range map[string]bool{
		"topology: [Ring]": true, "# x\n---\n\nnpus_count : [2]": true,
		"": false, "# topology:": false, "rank a\ntopology:": false, "topology2:": false, "topology": false,
	} {
		require.Equal(t, is, Is([]byte(text)), text)
	}
}

func TestBad(t *testing.T) {
	const good = "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n"
	for _, test := range []struct{ was, is, err string }{
		{good, "", "no key topology"},
		{good, "[ Ring ]", "no key topology"},
		{good, "topology: [", "yaml: "},
		{"latency: [ 1 ]\n", "", "no key latency"},
		{"[ Ring ]", "[ ]", "line 1: topology: an empty list"},
		{"[ 4 ]", "[ 4, 4 ]", "line 2: npus_count: 2 values, and topology has 1"},
		{"latency", "bandwidth", "line 4: bandwidth: also in line 3"},
		{"Ring", "Mesh", `line 1: topology: "Mesh": want Ring, FullyConnected or Switch`},
		{"Ring", "[Ring]", `line 1: topology: "": want Ring, FullyConnected or Switch`},
		{"[ 4 ]", "[ 1 ]", `line 2: npus_count: "1": want a number in 2..4096`},
		{"[ 4 ]", "[ 4.5 ]", `line 2: npus_count: "4.5": want a number in 2..4096`},
		{"[ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]", "[Ring,Ring]\nnpus_count: [65,64]\nbandwidth: [1,1]\nlatency: [1,1]", "more than 4096 NPUs"},
		{"Ring ]\nnpus_count: [ 4 ]", "FullyConnected ]\nnpus_count: [ 4096 ]", "more than 1048576 arcs"},
		{"bandwidth: [ 1 ]", "bandwidth: [ x ]", `line 3: bandwidth: "x": want a number`},
		{"bandwidth: [ 1 ]", "bandwidth: [ 0 ]", "line 3: bandwidth: 0 GB/s: want a rate of more than 0, and of at most 1000000Gbit"},
		{"bandwidth: [ 1 ]", "bandwidth: [ NaN ]", "line 3: bandwidth: NaN GB/s: want a rate of more than 0, and of at most 1000000Gbit"},
		{"latency: [ 1 ]", "latency: [ -1 ]", "line 4: latency: -1 ns: want a latency of at least 0, and of at most 4398046511104"},
		{good, strings.Repeat("#", maxFile+1), "a file of more than 1048576 bytes"},
	} {
		_, err := Parse(strings.NewReader(strings.Replace(good, test.was, test.is, 1)))
		require.ErrorContains(t, err, test.err)
		var at *network.ParseError
		require.ErrorAs(t, err, &at)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("topology: [ Ring, FullyConnected, Switch ]\nnpus_count: [ 3, 2, 2 ]\nbandwidth: [ 200.0, 100.0, 12.5 ]\nlatency: [ 50.0, 500.0, 0 ]\n")
	f.Add("a: &a [1]\ntopology: Ring\nnpus_count: *a\nbandwidth: 2\nlatency: 1")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := Parse(strings.NewReader(text)); err == nil {
			require.NoError(t, n.Check())
		}
	})
}
