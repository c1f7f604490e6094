package schedule

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/model/loggp"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// costSizes are the numbers of ranks of the cost goldens: small ones, some around powers of two and
// three, and large ones.
var costSizes = []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 27, 28, 31, 32, 33, 36, 37, 64, 65, 81, 128, 256}

// dailyCosted is the largest number of ranks whose cost the daily tests check.
const dailyCosted = 17

// mostCosted is the largest number of blocks for which all ranks together have slots: as many as in
// an alltoall of 64 ranks.
const mostCosted = 1 << 18

// costCases are the columns of the cost goldens: parameters that are used where they are legal.
var costCases = []Params{
	{},
	{Chunks: 4},
	{Root: 1},
	{Degree: 2},
	{Degree: 3},
	{FanIn: 2, FanOut: 2},
	{FanIn: 3, FanOut: 8},
	{Hosts: 4},
	{Hosts: 4, Chunks: 4},
}

// TestCost compares the cost of every algorithm with testdata/cost, one file an algorithm and one
// line a schedule. The lines also have the makespans in µs of 1 byte and of 64 KiB in the LogGP
// model with the parameters of LogGOPSim. SCHEDGEN_UPDATE=1 records all sizes, and SCHEDGEN_HEAVY=1
// compares all sizes.
func TestCost(t *testing.T) {
	update := os.Getenv("SCHEDGEN_UPDATE") != ""
	most := heavy.Or(dailyCosted, slices.Max(costSizes))
	if update {
		most = slices.Max(costSizes)
	}
	for _, alg := range Algorithms() {
		t.Run(alg.Name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", "cost", filepath.FromSlash(alg.Name)+".txt")
			got := costTable(t, &alg, most)
			if update {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, got, 0o644))
				return
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err, "no golden; SCHEDGEN_UPDATE=1 records it")
			if most == slices.Max(costSizes) {
				require.Equal(t, string(want), string(got))
			}
			require.Equal(t, costsUpTo(t, most, want), costsUpTo(t, most, got))
		})
	}
}

// spaced returns a line of a table with one space between words, because the widths of columns
// depend on all lines.
func spaced(line string) string { return strings.Join(strings.Fields(line), " ") }

// costsUpTo returns the lines of a table up to the given number of ranks, as spaced spells them.
func costsUpTo(t *testing.T, most int, table []byte) (lines []string) {
	t.Helper()
	for line := range strings.Lines(string(table)) {
		words := strings.Fields(line)
		if ranks, err := strconv.Atoi(words[0]); err != nil || ranks <= most {
			lines = append(lines, spaced(line))
		}
	}
	require.Greater(t, len(lines), 1)
	return lines
}

func costTable(t *testing.T, alg *Algorithm, most int) []byte {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ranks\tparams\trounds\tputs\tmcasts\tsignals\tmessages\tbytes\tout\tin\t1 B\t64 KiB")
	for _, c := range costCases {
		for _, c.Ranks = range costSizes {
			if c.Ranks <= most && c.check(alg) == nil && blocksEverywhere(alg, c.Ranks) <= mostCosted {
				costLine(t, w, alg, c)
			}
		}
	}
	require.NoError(t, w.Flush())
	return out.Bytes()
}

func costLine(t *testing.T, w *tabwriter.Writer, alg *Algorithm, p Params) {
	t.Helper()
	s, err := New(alg.Name, p)
	require.NoError(t, err)
	all := s.Schedule()
	c, err := verify.CostOf(all)
	require.NoError(t, err)
	_, err = fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t%.4g\t%d\t%d\t%s\t%s\n", p.Ranks, given(p),
		c.Rounds, c.Puts, c.Mcasts, c.Signals, c.Messages, c.Bytes, c.MaxOut, c.MaxIn,
		micros(makespan(t, all, 1)), longMessage(t, all))
	require.NoError(t, err)
}

// longMessage returns the makespan of 64 KiB, or "-" for a barrier, which moves no bytes.
func longMessage(t *testing.T, s *ir.Schedule) string {
	t.Helper()
	if s.Chunks == 0 {
		return "-"
	}
	return micros(makespan(t, s, 64<<10))
}

func micros(t loggp.Time) string { return strconv.FormatFloat(float64(t)/1000, 'f', -1, 64) }

// given spells the parameters that are not left to their defaults.
func given(p Params) string {
	out := ""
	for _, f := range []struct {
		name  string
		value int
	}{
		{"root", p.Root}, {"chunks", p.Chunks}, {"degree", p.Degree},
		{"fan-in", p.FanIn}, {"fan-out", p.FanOut}, {"hosts", p.Hosts},
	} {
		if f.value != 0 {
			out += fmt.Sprintf(",%s=%d", f.name, f.value)
		}
	}
	if out == "" {
		return "-"
	}
	return out[1:]
}
