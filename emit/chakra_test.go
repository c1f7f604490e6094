package emit

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/schedgen/schedgen/ir"
)

// dumpTraces spells the traces of all ranks, a line for each protobuf message. A field is its
// number and its value. An attribute is its name, the number of its value's field, and the value.
func dumpTraces(t *testing.T, traces [][]byte) string {
	t.Helper()
	var out strings.Builder
	for rank, trace := range traces {
		fmt.Fprintf(&out, "rank %d\n", rank)
		attrs := protowire.Number(2) // of the metadata
		for len(trace) > 0 {
			m, n := protowire.ConsumeBytes(trace)
			require.Positive(t, n)
			trace = trace[n:]
			var words []string
			for len(m) > 0 {
				number, wire, n := protowire.ConsumeTag(m)
				require.Positive(t, n)
				m = m[n:]
				if wire == protowire.VarintType {
					v, n := protowire.ConsumeVarint(m)
					require.Positive(t, n)
					words, m = append(words, fmt.Sprintf("%d:%d", number, v)), m[n:]
					continue
				}
				require.Equal(t, protowire.BytesType, wire)
				v, n := protowire.ConsumeBytes(m)
				require.Positive(t, n)
				m = m[n:]
				switch number {
				case attrs:
					words = append(words, dumpAttr(t, v))
				case 5: // data_deps of a node; a byte for each in so small a trace
					words = append(words, fmt.Sprintf("%d:%d", number, v))
				default:
					words = append(words, fmt.Sprintf("%d:%q", number, v))
				}
			}
			fmt.Fprintf(&out, "  %s\n", strings.Join(words, " "))
			attrs = 10
		}
	}
	return out.String()
}

func dumpAttr(t *testing.T, m []byte) string {
	t.Helper()
	_, wire, n := protowire.ConsumeTag(m)
	require.Equal(t, protowire.BytesType, wire)
	name, k := protowire.ConsumeBytes(m[n:])
	require.Positive(t, k)
	m = m[n+k:]
	number, wire, n := protowire.ConsumeTag(m)
	require.Positive(t, n)
	if wire == protowire.BytesType {
		v, k := protowire.ConsumeBytes(m[n:])
		require.Len(t, m, n+k)
		return fmt.Sprintf("%s=%d:%q", name, number, v)
	}
	v, k := protowire.ConsumeVarint(m[n:])
	require.Len(t, m, n+k)
	return fmt.Sprintf("%s=%d:%d", name, number, v)
}

// tracesOf returns the traces of all ranks.
func tracesOf(t *testing.T, s *ir.Schedule, o Options) (traces [][]byte) {
	t.Helper()
	require.NoError(t, WriteRanks(func(rank int, write func(io.Writer) error) error {
		require.Equal(t, len(traces), rank)
		var b bytes.Buffer
		err := write(&b)
		traces = append(traces, b.Bytes())
		return err
	}, "chakra", s, o))
	require.Len(t, traces, s.Ranks)
	return traces
}

// TestRanksApartOrTogether checks that a format is printed by the function for its kind alone.
func TestRanksApartOrTogether(t *testing.T) {
	none := func(int, func(io.Writer) error) error { return nil }
	require.ErrorContains(t, Write(io.Discard, "chakra", chain(2), Options{}), "emit bcast/chain as chakra: it has a file for each rank")
	require.ErrorContains(t, WriteRanks(none, "goal", chain(2), Options{}), "emit bcast/chain as goal: it has one file for all ranks")
	require.ErrorContains(t, WriteRanks(none, "et", chain(2), Options{}), `unknown format "et"`)
	require.ErrorContains(t, WriteRanks(none, "chakra", chain(2), Options{Size: -1}), "a message of -1 bytes")
}
