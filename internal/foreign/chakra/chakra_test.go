package chakra_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/schedgen/schedgen/internal/foreign/chakra"
	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/internal/foreign/goal"
)

// parse reads the traces of all ranks.
func parse(traces ...[]byte) (*dag.Graph, error) {
	return chakra.Parse(len(traces), func(rank int) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(traces[rank])), nil
	})
}

// write writes a graph and returns the traces.
func write(g *dag.Graph, unit int) (traces [][]byte, err error) {
	err = chakra.Write(func(_ int, write func(io.Writer) error) error {
		var out bytes.Buffer
		err := write(&out)
		traces = append(traces, out.Bytes())
		return err
	}, g, unit, []chakra.Note{{Name: "schedule", Text: "bcast/test"}})
	return traces, err
}

// everything has one operation of each kind in each rank.
const everything = `// message: 10b
num_ranks 2
rank 0 {
a: send 10b to 1 tag 3
c: calc 5000
b: recv 7b from 1
b requires a
b requires c
}
rank 1 {
x: recv 10b from 0 tag 3
z: send 7b to 0
z requires x
}
`

func ofGOAL(t *testing.T, text string) *dag.Graph {
	t.Helper()
	g, err := goal.Parse(strings.NewReader(text))
	require.NoError(t, err)
	return g
}

// written returns the traces of a GOAL text.
func written(t *testing.T, text string) [][]byte {
	t.Helper()
	traces, err := write(ofGOAL(t, text), 1)
	require.NoError(t, err)
	return traces
}

func TestComesBack(t *testing.T) {
	want := ofGOAL(t, everything)
	got, err := parse(written(t, everything)...)
	require.NoError(t, err)
	require.Equal(t, 10, got.Message)
	require.Equal(t, "rank 0: recv b (node 2)", got.Tell(dag.Ref{Rank: 0, I: 2}))
	got.Place = ""
	for _, g := range []*dag.Graph{want, got} {
		for _, ops := range g.Ranks {
			for i := range ops {
				ops[i].Line = 0
			}
		}
	}
	require.Equal(t, want, got)
}

// TestWriteScales checks that lengths are in units, that times are rounded to microseconds, and
// that a rank without operations gets one.
func TestWriteScales(t *testing.T) {
	g := &dag.Graph{Message: 2, Ranks: [][]dag.Op{
		{{Kind: dag.Send, Peer: 2, Size: 3}, {Time: 1499, Size: 4}, {Time: 499, After: []int32{0, 1}}},
		{},
		{{Kind: dag.Recv, Size: 3}},
	}}
	traces, err := write(g, 1000)
	require.NoError(t, err)
	got, err := parse(traces...)
	require.NoError(t, err)
	require.Equal(t, &dag.Graph{Unit: "bytes", Place: "node", Message: 2000, Ranks: [][]dag.Op{
		{{Kind: dag.Send, Peer: 2, Size: 3000}, {Time: 1000, Size: 4000, Line: 1}, {Line: 2, After: []int32{0, 1}}},
		{{Name: "idle"}},
		{{Kind: dag.Recv, Size: 3000}},
	}}, got)
}

func TestWriteRefuses(t *testing.T) {
	for text, reason := range map[string]string{
		"a: calc 1\nb: calc 1\na irequires b\n": "rank 0: work b (line 4) is waited for when it starts",
		"a: calc 1 cpu 1\n":                     "rank 0: work a (line 3) is on CPU 1",
		"a: send 1b to 0 nic 2\n":               "rank 0: send a (line 3) is on network interface 2",
	} {
		_, err := write(ofGOAL(t, "num_ranks 1\nrank 0 {\n"+text+"}\n"), 1)
		require.ErrorContains(t, err, reason)
	}
	for _, op := range []dag.Op{{Kind: dag.Send, Tag: 1 << 31}, {Kind: dag.Send, Tag: -1}, {Kind: dag.Recv, Size: -1}, {Kind: dag.Send, Size: 1 << 48}, {Time: -1}} {
		_, err := write(&dag.Graph{Ranks: [][]dag.Op{{op}}}, 2)
		require.ErrorContains(t, err, "rank 0: ")
	}
	_, err := write(&dag.Graph{Ranks: [][]dag.Op{{}}, Message: 1 << 48}, 2)
	require.ErrorContains(t, err, "a block of 281474976710656 times 2 bytes")
}

// part is a field of a protobuf message. Its value is an int, a string or a list of parts.
type part struct {
	number protowire.Number
	value  any
}

func message(parts ...part) []byte {
	var m []byte
	for _, p := range parts {
		switch v := p.value.(type) {
		case int:
			m = protowire.AppendVarint(protowire.AppendTag(m, p.number, protowire.VarintType), uint64(v))
		case string:
			m = protowire.AppendString(protowire.AppendTag(m, p.number, protowire.BytesType), v)
		case []part:
			m = protowire.AppendBytes(protowire.AppendTag(m, p.number, protowire.BytesType), message(v...))
		}
	}
	return m
}

// trace returns a trace with some metadata and the given nodes.
func trace(nodes ...[]part) []byte {
	out := protowire.AppendBytes(nil, message(part{1, "0.0.4"}))
	for _, n := range nodes {
		out = protowire.AppendBytes(out, message(n...))
	}
	return out
}

// node returns a node without attributes.
func node(id, kind int, more ...part) []part {
	return append([]part{{1, id}, {3, kind}}, more...)
}

// attr returns an attribute of a node with a value in the field of its type.
func attr(name string, field protowire.Number, v any) part {
	return part{10, []part{{1, name}, {field, v}}}
}

// TestOtherWriters reads what others write: integers of other types, dependencies that are not
// packed or name later nodes, control dependencies, unknown fields and sends without comm_src.
func TestOtherWriters(t *testing.T) {
	g, err := parse(trace(
		node(7, 5, part{4, "\x09"}, part{5, 11}, attr("comm_type", 9, 5), attr("comm_size", 13, 8), attr("comm_dst", 11, 1), attr("comm_tag", 17, 6), part{99, 1}),
		node(9, 4, part{7, 3}, part{2, "fold"}, attr("tensor_size", 27, 1), part{8, []part{{1, "in"}}})[:4],
		node(11, 1),
	), trace(
		node(0, 6, attr("comm_src", 7, 0), attr("comm_dst", 7, 1), attr("comm_size", 9, 8), attr("comm_tag", 7, 3)),
	))
	require.NoError(t, err)
	require.Equal(t, [][]dag.Op{
		{{Kind: dag.Send, Peer: 1, Size: 8, Tag: 3, Line: 7, After: []int32{1, 2}}, {Name: "fold", Time: 3000, Line: 9}, {Line: 11}},
		{{Kind: dag.Recv, Size: 8, Tag: 3}},
	}, g.Ranks)
}

func TestBadTraces(t *testing.T) {
	send := func(more ...part) []part {
		return node(3, 5, append([]part{attr("comm_dst", 7, 0), attr("comm_size", 9, 8)}, more...)...)
	}
	for want, bad := range map[string][]byte{
		"the file is empty":                                                         {},
		"the file is compressed by gzip":                                            []byte("\x1f\x8b\x08\x00"),
		"byte 0: the file ends within the length of a message":                      {0x80},
		"byte 0: the length of a message is no varint of 64 bits":                   bytes.Repeat([]byte{0xff}, 20),
		"byte 0: a message of 268435457 bytes: at most 268435456 are read":          protowire.AppendVarint(nil, 1<<28+1),
		"byte 0: a message of 268435456 bytes, of which the file has 3":             append(protowire.AppendVarint(nil, 1<<28), 1, 2, 3),
		"byte 8: a message of 100 bytes, of which the file has 1":                   append(trace(), 100, 8),
		"byte 0: the first message is no GlobalMetadata: field 1 has wire type 0":   protowire.AppendBytes(nil, message(node(1, 4)...)),
		"byte 0: the first message is no GlobalMetadata: no protobuf message":       protowire.AppendBytes(nil, []byte{0xff}),
		"byte 8: node 3: field 2 has wire type 0":                                   trace(node(3, 4, part{2, 1})),
		"byte 8: node 3: field 5: unexpected EOF":                                   trace(node(3, 4, part{5, "\x80"})),
		"byte 8: node 3: two attributes comm_size":                                  trace(send(attr("comm_size", 9, 8))),
		"node 3: COMM_COLL_NODE is not supported":                                   trace(node(3, 7)),
		"node 3: MEM_LOAD_NODE is not supported":                                    trace(node(3, 2)),
		"node 3: INVALID_NODE is not supported":                                     trace(node(3, 0)),
		"node 3: type 12 is not supported":                                          trace(node(3, 12)),
		"node 3: a second node with this id":                                        trace(node(3, 4), node(4, 4), node(3, 4)),
		"node 3: depends on node 9, which the trace does not have":                  trace(node(2, 4), node(3, 4, part{5, "\x02\x09"})),
		"node 18446744073709551615: an id must have at most 63 bits":                trace(node(-1, 4)),
		"node 3: has no comm_dst":                                                   trace(node(3, 5, attr("comm_size", 9, 8))),
		"node 3: has no comm_src":                                                   trace(node(3, 6, attr("comm_size", 9, 8))),
		"node 3: has no comm_size":                                                  trace(node(3, 6, attr("comm_src", 7, 0))),
		"node 3: comm_src is not 0, the rank of the trace":                          trace(send(attr("comm_src", 7, 1))),
		"node 3: comm_dst is 1, and there are traces of ranks 0 … 0 alone":          trace(node(3, 5, attr("comm_dst", 7, 1), attr("comm_size", 9, 8))),
		"node 3: comm_dst is -1: must be in 0..0":                                   trace(node(3, 5, attr("comm_dst", 7, -1), attr("comm_size", 9, 8))),
		"node 3: comm_dst is no integer":                                            trace(node(3, 5, attr("comm_dst", 29, "1"), attr("comm_size", 9, 8))),
		"node 3: comm_size is -8: must be in 0..281474976710656":                    trace(node(3, 5, attr("comm_dst", 7, 0), attr("comm_size", 9, -8))),
		"node 3: comm_size is 9223372036854775807: must be in 0..281474976710656":   trace(node(3, 5, attr("comm_dst", 7, 0), attr("comm_size", 13, -1))),
		"node 3: comm_tag is -1: must be in 0..2147483647":                          trace(send(attr("comm_tag", 7, -1))),
		"node 3: takes 281474976711 µs: at most 281474976710":                       trace(node(3, 4, part{7, 281474976711})),
		"node 3: tensor_size is 9223372036854775807: must be in 0..281474976710656": trace(node(3, 4, attr("tensor_size", 13, -1))),
	} {
		_, err := parse(bad)
		var at *chakra.Error
		require.ErrorAs(t, err, &at, want)
		require.ErrorContains(t, err, "the trace of rank 0: "+want)
	}
}

func TestRanksMustAgree(t *testing.T) {
	traces := written(t, everything)
	_, err := parse(traces[0], trace())
	require.EqualError(t, err, "the trace of rank 1: byte 0: block_size is 0, and in the trace of rank 0 10")
	_, err = chakra.Parse(0, nil)
	require.ErrorContains(t, err, "traces of 0 ranks")
	_, err = chakra.Parse(2, func(int) (io.ReadCloser, error) { return nil, os.ErrNotExist })
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = chakra.Parse(1, func(int) (io.ReadCloser, error) {
		return io.NopCloser(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(trace())))), nil
	})
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

// TestEveryPrefix checks that a trace that ends within a message is refused.
func TestEveryPrefix(t *testing.T) {
	traces := written(t, everything)
	whole := []int{len(traces[0])} // where messages end
	for at := 0; at < len(traces[0]); {
		_, n := protowire.ConsumeBytes(traces[0][at:])
		at += n
		whole = append(whole, at)
	}
	for n := range traces[0] {
		_, err := parse(traces[0][:n], traces[1])
		if slices.Contains(whole, n) && n > 0 {
			continue
		}
		var at *chakra.Error
		require.ErrorAs(t, err, &at, "%d bytes", n)
		require.Zero(t, at.Rank)
	}
}

// TestCycle checks that nodes that wait for each other are told by their ids.
func TestCycle(t *testing.T) {
	g, err := parse(trace(node(5, 4, part{5, 6}), node(6, 4, part{5, 5})))
	require.NoError(t, err)
	x := dag.NewIndex(g)
	mates, err := dag.Match(g, x)
	require.NoError(t, err)
	_, err = dag.NewRun(g, x, mates)
	require.EqualError(t, err, "rank 0: work (node 5) waits for rank 0: work (node 6) waits for rank 0: work (node 5), a cycle")
}

func TestWriteErrorsAreTold(t *testing.T) {
	full := errors.New("full")
	err := chakra.Write(func(_ int, write func(io.Writer) error) error { return write(fullDisk{full}) }, ofGOAL(t, everything), 1, nil)
	require.ErrorIs(t, err, full)
}

type fullDisk struct{ err error }

func (f fullDisk) Write([]byte) (int, error) { return 0, f.err }

func FuzzParse(f *testing.F) {
	var out [][]byte
	for _, ops := range []string{everything, "num_ranks 2\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\nrank 1 {\n}"} {
		g, err := goal.Parse(strings.NewReader(ops))
		require.NoError(f, err)
		out, err = write(g, 1)
		require.NoError(f, err)
		f.Add(out[0], out[1])
	}
	f.Add(trace(node(1, 7)), trace(node(0, 0)))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		g, err := parse(a, b)
		if err != nil {
			var at *chakra.Error
			require.ErrorAs(t, err, &at)
			return
		}
		for _, ops := range g.Ranks {
			for _, op := range ops {
				require.True(t, op.Kind == dag.Local || op.Peer >= 0 && op.Peer < len(g.Ranks))
				for _, a := range op.After {
					require.True(t, a >= 0 && int(a) < len(ops))
				}
			}
		}
		first, err := write(g, 1)
		require.NoError(t, err)
		again, err := parse(first...)
		require.NoError(t, err)
		second, err := write(again, 1)
		require.NoError(t, err)
		require.Equal(t, first, second)
	})
}
