package emit

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

// The lines that the simulator's reader accepts.
var (
	goalLabel = `[a-zA-Z][a-zA-Z0-9_]*`
	goalSend  = regexp.MustCompile(`^(` + goalLabel + `): send ([1-9][0-9]*)b to ([0-9]+) tag ([0-9]+)$`)
	goalRecv  = regexp.MustCompile(`^(` + goalLabel + `): recv ([1-9][0-9]*)b from ([0-9]+) tag ([0-9]+)$`)
	goalCalc  = regexp.MustCompile(`^(` + goalLabel + `): calc [0-9]+$`)
	goalEdge  = regexp.MustCompile(`^(` + goalLabel + `) requires (` + goalLabel + `)$`)
)

// requireGOAL reads text line by line. Ranks must be in order, labels must be defined once and
// before they are used, messages must not be empty, and every message must have both of its ends.
// It returns the number of messages.
func requireGOAL(t *testing.T, text string, ranks int) int {
	t.Helper()
	lines := strings.Split(text, "\n")
	for strings.HasPrefix(lines[0], "//") {
		lines = lines[1:]
	}
	require.Equal(t, fmt.Sprintf("num_ranks %d", ranks), lines[0])
	ends := map[string]int{} // by from, to, tag and bytes: sends minus receives
	rank, messages := -1, 0
	var labels map[string]bool // of the rank that is being read
	define := func(label string) {
		require.False(t, labels[label], "rank %d: %s twice", rank, label)
		labels[label] = true
	}
	for _, line := range lines[1:] {
		switch {
		case line == "":
		case line == fmt.Sprintf("rank %d {", rank+1) && labels == nil:
			rank, labels = rank+1, map[string]bool{}
		case line == "}" && labels != nil:
			require.NotEmpty(t, labels, "rank %d has no operations", rank)
			labels = nil
		case goalSend.MatchString(line):
			m := goalSend.FindStringSubmatch(line)
			define(m[1])
			key := fmt.Sprintf("%d %s %s %s", rank, m[3], m[4], m[2])
			require.LessOrEqual(t, ends[key], 0, "two sends: %s", line)
			ends[key]++
			messages++
		case goalRecv.MatchString(line):
			m := goalRecv.FindStringSubmatch(line)
			define(m[1])
			ends[fmt.Sprintf("%s %d %s %s", m[3], rank, m[4], m[2])]--
		case goalCalc.MatchString(line):
			define(goalCalc.FindStringSubmatch(line)[1])
		case goalEdge.MatchString(line):
			m := goalEdge.FindStringSubmatch(line)
			require.True(t, labels[m[1]] && labels[m[2]], "rank %d: %s", rank, line)
		default:
			require.Fail(t, "no line of GOAL", "%q", line)
		}
	}
	require.Equal(t, ranks-1, rank)
	for key, n := range ends {
		require.Zero(t, n, "from, to, tag and bytes %s", key)
	}
	return messages
}

func TestGOALIsValid(t *testing.T) {
	for _, s := range cases(t) {
		for _, o := range []Options{{}, {Size: 1000, Command: "schedgen emit x"}, {Size: 3, Lost: Loss{Rate: 1}}, {Size: 64, Lost: Loss{Seed: 7, Rate: 0.5}}} {
			requireGOAL(t, written(t, func(b *bytes.Buffer) error { return Write(b, "goal", s, o) }), s.Ranks)
		}
	}
}

// TestGOALChunkOfABarrierIsOneByte checks that the chunk of a barrier's multicast is sent as one
// byte, like a signal, because it has no data.
func TestGOALChunkOfABarrierIsOneByte(t *testing.T) {
	s, err := ir.ParseText(strings.NewReader(`schedule barrier/test ranks=3 chunks=1
rank 0
  enter s0 s1 -> mcast c0
  enter s0 s1 s2 -> put c0 @1
  done s0 s1
rank 1
  enter -> put s0 @0
  c0 s0 -> put c0 @2
  enter unless c0 after 1 -> put s2 @0
  done c0
rank 2
  enter -> put s1 @0
  enter unless c0 after 1 -> put s0 @1
  done c0
`))
	require.NoError(t, err)
	for _, size := range []int{0, 1, 64 << 10} {
		for _, lost := range []Loss{{}, {Rate: 1}} {
			text := written(t, func(b *bytes.Buffer) error { return Write(b, "goal", s, Options{Size: size, Lost: lost}) })
			require.Positive(t, requireGOAL(t, text, 3))
			for line := range strings.Lines(text) {
				if m := goalSend.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
					require.Equal(t, "1", m[2], "a message of %d bytes, lost %v: %s", size, lost, line)
				}
			}
		}
	}
}

// TestGOALHasNoEmptyRank checks that a rank that neither sends nor receives also has an operation.
func TestGOALHasNoEmptyRank(t *testing.T) {
	for _, text := range []string{
		"schedule bcast/test ranks=1 root=0 chunks=1\nrank 0\n  done enter\n",
		"schedule anycast/test ranks=3 root=1 chunks=1\nrank 0\n  done enter\nrank 1\n  enter -> put c0 @2\n  done enter\nrank 2\n  done c0\n",
	} {
		s, err := ir.ParseText(strings.NewReader(text))
		require.NoError(t, err)
		out := written(t, func(b *bytes.Buffer) error { return Write(b, "goal", s, Options{}) })
		requireGOAL(t, out, s.Ranks)
		require.Contains(t, out, "rank 0 {\nidle: calc 0\n}\n")
	}
}

// twoStage returns a multicast to three ranks with a chain behind it, of three chunks.
func twoStage(t *testing.T) *ir.Schedule {
	s, err := ir.ParseText(strings.NewReader(`schedule bcast/test ranks=3 root=0 chunks=3
rank 0
  enter -> mcast c0, mcast c1, mcast c2, put c0 @1, put c1 @1, put c2 @1
  done enter
rank 1
  c0 -> put c0 @2
  c1 -> put c1 @2
  c2 -> put c2 @2
  done c0 c1 c2
rank 2
  done c0 c1 c2
`))
	require.NoError(t, err)
	return s
}

func TestGOALUnderLosses(t *testing.T) {
	s := twoStage(t)
	text := func(o Options) string {
		return written(t, func(b *bytes.Buffer) error { return Write(b, "goal", s, o) })
	}
	none, all := text(Options{Size: 10}), text(Options{Size: 10, Lost: Loss{Rate: 1}})
	require.Equal(t, 6+6, requireGOAL(t, none, 3), "every multicast is two sends")
	require.Equal(t, 6, requireGOAL(t, all, 3))

	require.Contains(t, none, "c0_to_2: send 3b to 2 tag 0\nc0_to_2 requires c0_from_0\n", "by multicast first")
	require.Contains(t, none, "c0_from_0_2: recv 3b from 0 tag 3\n", "the copy that comes second is received too")
	require.Contains(t, all, "c2_to_2: send 4b to 2 tag 2\nc2_to_2 requires c2_from_0\n")
	require.NotContains(t, all, "c0_from_0_2")

	some := text(Options{Size: 10, Lost: Loss{Seed: 3, Rate: 0.5}})
	require.Equal(t, some, text(Options{Size: 10, Lost: Loss{Seed: 3, Rate: 0.5}}))
	require.NotEqual(t, some, text(Options{Size: 10, Lost: Loss{Seed: 4, Rate: 0.5}}))

	require.ErrorContains(t, Write(new(bytes.Buffer), "goal", s, Options{Size: -1}), "a message of -1 bytes")
}

// TestGOALJoins checks that several sends that wait for several messages share one calc.
func TestGOALJoins(t *testing.T) {
	s, err := ir.ParseText(strings.NewReader(`schedule barrier/test ranks=3
rank 0
  enter s0 s1 -> put s0 @1, put s0 @2
  done s0 s1
rank 1
  enter -> put s0 @0
  done s0
rank 2
  enter -> put s1 @0
  done s0
`))
	require.NoError(t, err)
	text := written(t, func(b *bytes.Buffer) error { return Write(b, "goal", s, Options{}) })
	requireGOAL(t, text, 3)
	require.Contains(t, text, `
rank 0 {
s0_from_1: recv 1b from 1 tag 0
s1_from_2: recv 1b from 2 tag 1
j0: calc 0
j0 requires s0_from_1
j0 requires s1_from_2
s0_to_1: send 1b to 1 tag 0
s0_to_1 requires j0
s0_to_2: send 1b to 2 tag 0
s0_to_2 requires j0
}
`)
}

func TestLossIsAsOftenAsItSays(t *testing.T) {
	for _, rate := range []float64{0, 0.1, 0.3, 0.9, 1} {
		hits := 0
		for i := range 30000 {
			if (Loss{Seed: 1, Rate: rate}).Hits(i%7, i%100, i/100) {
				hits++
			}
		}
		require.InDelta(t, rate, float64(hits)/30000, 0.01)
	}
	require.Equal(t, []string{"none", "all", "5:0.25"},
		[]string{Loss{Seed: 5}.String(), Loss{Rate: 1}.String(), Loss{Seed: 5, Rate: 0.25}.String()})
}

// TestGOALSendsWhatHasCome checks a rule that does not wait for the chunk that it puts, because the
// slots for which it waits imply the chunk. In GOAL the send requires the chunk.
func TestGOALSendsWhatHasCome(t *testing.T) {
	s, err := ir.ParseText(strings.NewReader(`schedule bcast/test ranks=3 root=0 chunks=1
rank 0
  enter -> put c0 @1
  s0 -> put s0 @1
  done s0
rank 1
  c0 -> put s0 @0
  s0 -> put c0 @2
  done c0 s0
rank 2
  done c0
`))
	require.NoError(t, err)
	text := written(t, func(b *bytes.Buffer) error { return Write(b, "goal", s, Options{}) })
	requireGOAL(t, text, 3)
	require.Contains(t, text, "c0_to_2: send 1b to 2 tag 0\nc0_to_2 requires s0_from_0\nc0_to_2 requires c0_from_0\n")
}
