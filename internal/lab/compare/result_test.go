package compare

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/lab/internal/bench"
	"github.com/schedgen/schedgen/internal/lab/internal/labtest"
	"github.com/schedgen/schedgen/internal/outfile"
	"github.com/schedgen/schedgen/internal/terminal"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// means returns a row whose runs have these means.
func means(c cell, side, name string, values ...float64) row {
	r := row{cell: c, side: side, contender: name, iterations: 10}
	for _, v := range values {
		r.runs = append(r.runs, bench.Times{Mean: v, Median: v / 2, P99: 2 * v})
	}
	return r
}

var (
	one   = cell{wireTCP, opBcast, 4, 2}
	two   = cell{wireTCP, opBcast, 8, 2}
	three = cell{wireShm, opBarrier, 8, 0}
)

func sample() *results {
	failed := means(three, ours, "shm barrier/hsb")
	failed.status = "not, finished \"yet\""
	return &results{about: []string{"4 cores"}, rows: []row{
		means(one, ours, "slow in the first round", 1),
		means(one, ours, "mcast bcast/mcast-acktree", 20, 30, 10),
		means(one, peer, "openmpi", 40, 40, 50),
		means(one, peer, "mpich yield", 60, 60, 60),
		means(two, ours, "tcp bcast/chain", 100, 110, 120),
		means(two, peer, "openmpi", 100, 100, 100),
		failed,
		means(three, peer, "openmpi", 1, 2, 3),
		means(cell{wireTCP, "limit", 2, 16 << 20}, raw, "TCP", 16384),
	}}
}

func TestVerdicts(t *testing.T) {
	all := sample().verdicts()
	require.Len(t, all, 3)
	require.Equal(t, "mcast bcast/mcast-acktree", all[0].ours.contender, "who has all runs counts")
	require.Equal(t, "openmpi", all[0].peer.contender)
	require.InDelta(t, 0.5, all[0].ratio, 1e-9)
	require.InDelta(t, 0.2, all[0].lo, 1e-9)
	require.InDelta(t, 0.75, all[0].hi, 1e-9)
	require.InDelta(t, 1.1, all[1].ratio, 1e-9)
	require.Nil(t, all[2].ours)
	require.True(t, math.IsNaN(all[2].ratio))
}

func TestMedian(t *testing.T) {
	require.InDelta(t, 2.0, median([]float64{3, 1, 2}), 0)
	require.InDelta(t, 2.5, median([]float64{4, 1, 2, 3}), 0)
	require.True(t, math.IsNaN(median(nil)))
}

func TestCSVReadsWhatItWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := new(results)
		micros := rapid.Map(rapid.IntRange(1, 1e12), func(n int) float64 { return float64(n) / 1e3 })
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			w := row{cell: cell{rapid.String().Draw(t, "wire"), "bcast", rapid.IntRange(1, 1000).Draw(t, "ranks"), 2},
				side: ours, contender: "x,y\"z\n", status: "a;b", iterations: 7}
			for range rapid.IntRange(0, 4).Draw(t, "runs") {
				w.runs = append(w.runs, bench.Times{Mean: micros.Draw(t, "mean"), Median: micros.Draw(t, "median"), P99: micros.Draw(t, "p99")})
			}
			w.wire = strings.ReplaceAll(w.wire, "\r", "")
			r.rows = append(r.rows, w)
		}
		var b bytes.Buffer
		require.NoError(t, r.writeCSV(&b))
		got, err := table.Read(&b)
		require.NoError(t, err)
		require.Len(t, got, len(r.rows))
		for i := range got {
			require.Equal(t, &r.rows[i], got[i])
		}
	})
}

func TestCSVRefuses(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().writeCSV(&b))
	good := b.String()
	for what, c := range map[string]struct{ old, new, want string }{
		"other columns": {"wire,op", "wire,po", "these are not the columns"},
		"no number":     {",4,2,", ",x,2,", "line 2: ranks: \"x\": strconv.ParseInt"},
		"no time":       {"20.000;30.000", "20.000;-3.000", `line 3: means_us: "20.000;-3.000;10.000": "-3.000" is no time`},
		"not a number":  {"20.000;30.000", "20.000;NaN", `"NaN" is no time`},
		"runs missing":  {"20.000;30.000;10.000", "20.000;30.000", "the runs differ in number"},
		"field missing": {"tcp,bcast,4,2,ours,slow", "bcast,4,2,ours,slow", "wrong number of fields"},
	} {
		require.Contains(t, good, c.old, what)
		_, err := table.Read(strings.NewReader(strings.Replace(good, c.old, c.new, 1)))
		require.ErrorContains(t, err, c.want, what)
	}
	_, err := table.Read(strings.NewReader(""))
	require.ErrorIs(t, err, io.EOF)
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().writeMarkdown(&b, "test"))
	for _, want := range []string{
		"- 4 cores\n",
		"| | P=4 | P=8 |\n|---|---|---|\n| bcast 2 B | 0.50 | **1.10** > 0.5 |\n",
		"| bcast 2 B | 4 | 20.0 | 10.0–30.0 | mcast bcast/mcast-acktree | 40.0 | 40.0–50.0 | openmpi | 0.50 | 0.20–0.75 | 0.50 |\n",
		"| barrier | 8 | - | - | - | 2.00 | 1.00–3.00 | openmpi | - | -–- | - |\n",
		"- not, finished \"yet\": 1 times, first shm barrier P=8, shm barrier/hsb, after 0 good runs\n",
		"| TCP (1.02 GB/s) | 16384 |",
	} {
		require.Contains(t, b.String(), want)
	}
}

// TestSVG checks that the picture is XML with a panel for each operation and size.
func TestSVG(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().writeSVG(&b))
	require.NotContains(t, b.String(), "NaN")
	require.NotContains(t, b.String(), "Inf")
	text := b.String()
	count := map[string]int{}
	d := xml.NewDecoder(&b)
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok {
			count[start.Name.Local]++
		}
	}
	require.Equal(t, 1, strings.Count(text, "our best algorithm"))
	require.Equal(t, 5, count["circle"])
}

func TestAgainst(t *testing.T) {
	cellOf := func(ours1, ours2 float64) *results {
		return &results{rows: []row{means(one, ours, "a", ours1, ours2, ours1), means(one, peer, "b", 100, 100, 100)}}
	}
	stored := cellOf(50, 60)
	for name, c := range map[string]struct {
		now  *results
		want string
	}{
		"same":      {cellOf(50, 60), same},
		"noise":     {cellOf(59, 90), same},
		"a little":  {&results{rows: []row{means(one, ours, "a", 57), means(one, peer, "b", 100)}}, same},
		"worse":     {cellOf(80, 90), worse},
		"better":    {cellOf(20, 30), better},
		"not there": {&results{rows: []row{means(one, peer, "b", 100)}}, missing},
	} {
		var b bytes.Buffer
		err := against(&b, stored, c.now)
		require.Contains(t, b.String(), "tcp bcast 2 B P=4")
		var e *worseError
		if c.want == worse || c.want == missing {
			require.ErrorAs(t, err, &e, name)
			require.Equal(t, worseError{1, 1}, *e)
			require.Contains(t, b.String(), c.want)
		} else {
			require.NoError(t, err, name)
			require.Equal(t, c.want == better, strings.Contains(b.String(), better), name)
		}
	}
	require.ErrorContains(t, against(io.Discard, stored, &results{}), "no cell in common")
}

// TestCompareFiles runs the command on recorded results.
func TestCompareFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, r *results) string {
		name = filepath.Join(dir, name)
		require.NoError(t, outfile.Write(name, r.writeCSV))
		return name
	}
	stored := write("stored.csv", sample())
	slow := sample()
	for i := range slow.rows[1].runs {
		slow.rows[1].runs[i].Mean *= 10
	}
	later := write("later.csv", slow)
	run := func(args ...string) (int, string, string) {
		return labtest.Run(t, lab, append([]string{"compare"}, args...)...)
	}
	code, _, _ := run("--measured", stored, "--against", stored)
	require.Equal(t, terminal.Good, code)
	code, _, said := run("--measured", later, "--against", stored)
	require.Equal(t, terminal.No, code)
	require.Contains(t, said, "worse than stored, by more than noise, in 1 of 2 cells")
	code, out, _ := run("--measured", later, "--out", filepath.Join(dir, "again"), "--name", "later")
	require.Equal(t, terminal.Good, code)
	require.Contains(t, out, "# schedgen beside MPI")
	for _, extension := range []string{"csv", "md", "svg"} {
		require.FileExists(t, filepath.Join(dir, "again", "later."+extension))
	}
	require.NoError(t, os.WriteFile(stored, []byte("x"), 0o666))
	for _, bad := range []string{"--measured " + stored, "--measured /no/such", "-p 0", "--wire verbs", "--op fold", "--rounds 0", "--limit 1ms", "--keep=-1", "x"} {
		code, _, _ := run(strings.Fields(bad)...)
		require.Equal(t, terminal.Bad, code, bad)
	}
}

func TestCells(t *testing.T) {
	v, err := parse(t, "--quick", "--wire", "tcp", "--size", "7B")
	require.NoError(t, err)
	require.Len(t, v.cells, 3+(3+4+5)*3)
	require.Equal(t, cell{wireTCP, opBarrier, 2, 0}, v.cells[0])
	require.Equal(t, "tcp bcast 7 B P=2", v.cells[3].String())
	full, err := parse(t)
	require.NoError(t, err)
	require.Len(t, full.cells, 2*5*(1+3*4+4*4)+2*5*(4*5+2)) // vectors of 16 MiB are measured at up to four ranks
	b := &built{openMPI: "mpirun", mpich: "mpirun"}
	for _, c := range full.cells {
		require.Positive(t, c.iterations(true))
		sides := map[string]int{}
		for _, x := range b.contenders(c) {
			sides[x.side]++
			require.NotEmpty(t, x.command(10, v.Limit))
		}
		require.GreaterOrEqual(t, sides[ours], 2, c)
		require.GreaterOrEqual(t, sides[peer], 2, c)
	}
}
