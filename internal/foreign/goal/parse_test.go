package goal_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/internal/foreign/goal"
	"github.com/schedgen/schedgen/ir"
)

const everything = `/* two
   lines */ num_ranks 2 // and one
rank 0 {
  a: send 10b to 1 tag 3 cpu 0 nic 1
  calc 5 cpu 2
  send 0b to 1

  b: recv 7b from 1 /* behind */
  b requires a
}
rank 1
{
  x: recv 10b from 0 tag 3
  y: recv 0b from 0
  z: send 7b to 0
  z irequires x
  z requires y }
`

func TestParse(t *testing.T) {
	g, err := goal.Parse(strings.NewReader(everything))
	require.NoError(t, err)
	require.Equal(t, [][]dag.Op{
		{
			{Kind: dag.Send, Peer: 1, Tag: 3, Size: 10, NIC: 1, Name: "a", Line: 4},
			{Line: 5, CPU: 2, Time: 5},
			{Kind: dag.Send, Peer: 1, Line: 6},
			{Kind: dag.Recv, Peer: 1, Size: 7, Name: "b", Line: 8, After: []int32{0}},
		},
		{
			{Kind: dag.Recv, Peer: 0, Tag: 3, Size: 10, Name: "x", Line: 13, After: []int32{3}},
			{Kind: dag.Recv, Peer: 0, Name: "y", Line: 14},
			{Kind: dag.Send, Peer: 0, Size: 7, Name: "z", Line: 15, After: []int32{1, 3}},
			{StartOf: 1, Name: "x", Line: 13}, // the start of x
		},
	}, g.Ranks)
}

// TestParseMessage checks that a comment above num_ranks may state the length of the message.
func TestParseMessage(t *testing.T) {
	const rest = "num_ranks 1\nrank 0 {\n}\n"
	for head, want := range map[string]int{
		"":                                       0,
		"// message: 4096b\n":                    4096,
		"//message: 10b  \r\n":                   10,
		"// a\n// message: 7b\n// message: 8b\n": 7,
		"// message: 0b\n":                       0,
		"// message: -1b\n":                      0,
		"// message: 4096\n":                     0,
		"// message: 281474976710657b\n":         0,
		"// the message: 5b\n":                   0,
		"/* message: 5b */\n":                    0,
		"// message: 5b" + strings.Repeat(" ", 100) + "of data\n": 0,
	} {
		g, err := goal.Parse(strings.NewReader(head + rest))
		require.NoError(t, err)
		require.Equal(t, want, g.Message, "%q", head)
	}
	g, err := goal.Parse(strings.NewReader("num_ranks 1\n// message: 5b\nrank 0 {\n// message: 5b\n}\n"))
	require.NoError(t, err)
	require.Zero(t, g.Message)
}

// TestStartsInAChain has starts that wait for the starts of other operations.
func TestStartsInAChain(t *testing.T) {
	g, err := goal.Parse(strings.NewReader("num_ranks 1\nrank 0 {\n a: calc 1\n b: calc 1\n c: calc 1\n d: calc 1\n" +
		" a irequires b\n b irequires c\n c requires d\n d irequires d\n}\n"))
	require.NoError(t, err)
	x := dag.NewIndex(g)
	mates, err := dag.Match(g, x)
	require.NoError(t, err)
	_, err = dag.NewRun(g, x, mates)
	require.ErrorContains(t, err, "d (line 6) waits for", "it cannot start before it starts")
}

// requireComesBack writes a graph, reads the text, and requires that writing again gives the same
// text.
func requireComesBack(t *testing.T, g *dag.Graph) (text string) {
	t.Helper()
	var first, second bytes.Buffer
	require.NoError(t, goal.Write(&first, g, 1))
	text = first.String()
	again, err := goal.Parse(&first)
	require.NoError(t, err, text)
	require.Equal(t, g.Message, again.Message)
	require.NoError(t, goal.Write(&second, again, 1))
	require.Equal(t, text, second.String())
	return text
}

func TestWrite(t *testing.T) {
	g, err := goal.Parse(strings.NewReader(everything))
	require.NoError(t, err)
	require.Equal(t, `num_ranks 2

rank 0 {
a: send 10b to 1 tag 3 nic 1
o0: calc 5 cpu 2
o1: send 0b to 1
b: recv 7b from 1
b requires a
}

rank 1 {
x: recv 10b from 0 tag 3
y: recv 0b from 0
z: send 7b to 0
z requires y
z irequires x
}
`, requireComesBack(t, g))

	g, err = goal.Parse(strings.NewReader("// message: 9b\nnum_ranks 2\nrank 0 {\no1: calc 1\ncalc 2\no0: calc 3\no1 irequires o0\no0 requires o0}\nrank 1 {\n}\n"))
	require.NoError(t, err)
	require.Equal(t, `// message: 9b
num_ranks 2

rank 0 {
o1: calc 1
o2: calc 2
o0: calc 3
o1 irequires o0
o0 requires o0
}

rank 1 {
idle: calc 0
}
`, requireComesBack(t, g))
}

// TestWriteOfAnotherGraph checks that names that are not labels are replaced, and that lengths are
// in units.
func TestWriteOfAnotherGraph(t *testing.T) {
	g := &dag.Graph{Ranks: [][]dag.Op{
		{{Kind: dag.Send, Peer: 0, Size: 3, Name: "tb 0 step 0"}, {Kind: dag.Recv, Peer: 0, Size: 3, Name: "r"}, {Name: "r", After: []int32{0}}},
	}}
	var out bytes.Buffer
	require.NoError(t, goal.Write(&out, g, 1000))
	require.Equal(t, "num_ranks 1\n\nrank 0 {\no0: send 3000b to 0\nr: recv 3000b from 0\no1: calc 0\no1 requires o0\n}\n", out.String())
	require.EqualError(t, goal.Write(&out, g, 1<<47), "a message of 3 times 140737488355328 bytes: must have 0..281474976710656 bytes")
	require.ErrorIs(t, goal.Write(fullDisk{}, g, 1), io.ErrShortWrite)
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestEveryPrefixIsRefused(t *testing.T) {
	trimmed := strings.TrimRight(everything, "\n")
	for n := range len(trimmed) {
		_, err := goal.Parse(strings.NewReader(trimmed[:n]))
		var at *ir.ParseError
		require.ErrorAs(t, err, &at, "%q", trimmed[:n])
	}
}

func TestReaderErrorsAreTold(t *testing.T) {
	_, err := goal.Parse(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(everything))))
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

func TestLongWordsAreRefused(t *testing.T) {
	_, err := goal.Parse(strings.NewReader("num_ranks 1\nrank 0 {\n" + strings.Repeat("a", 100) + ": calc 1\n}\n"))
	require.ErrorContains(t, err, "line 3, column 1: aaaaaaaaaaaaaaaa… is longer than 64 bytes")
}

func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Add("num_ranks 1\nrank 0 {\na: calc 1\na irequires a\n}")
	f.Add("num_ranks 1048576\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := goal.Parse(strings.NewReader(text))
		if err != nil {
			var at *ir.ParseError
			require.ErrorAs(t, err, &at)
			return
		}
		requireComesBack(t, g)
		for _, ops := range g.Ranks {
			for _, op := range ops {
				require.True(t, op.Kind == dag.Local || op.Peer >= 0 && op.Peer < len(g.Ranks))
				for _, a := range op.After {
					require.True(t, a >= 0 && int(a) < len(ops))
				}
			}
		}
	})
}
