//go:build linux

package links

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/lab/internal/labtest"
	"github.com/schedgen/schedgen/internal/lab/internal/options"
	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/lab/netns"
	"github.com/schedgen/schedgen/internal/simnet"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

func TestMain(m *testing.M) {
	os.Exit(labtest.Main(m, labtest.Program(func() any {
		return new(struct {
			Links   Verb         `cmd:""`
			Predict Predict      `cmd:"" hidden:"" name:"links-predict"`
			Netns   netns.Verb   `cmd:""`
			Bridge  netns.Bridge `cmd:"" hidden:"" name:"netns-bridge"`
			Host    netns.Host   `cmd:"" hidden:"" name:"netns-host"`
			command.About
		})
	})))
}

// parse returns the verb with the given flags.
func parse(t *testing.T, args ...string) (*Verb, error) {
	v, err := labtest.Parse[Verb](t, args...)
	if err == nil {
		err = v.check()
	}
	return v, err
}

func TestOptions(t *testing.T) {
	v, err := parse(t, strings.Fields("--hosts 4 --rate 10mbit,unlimited --loss 2.5% --size 1KiB,2MiB --algorithm bcast/linear")...)
	require.NoError(t, err)
	require.Equal(t, []cell{
		{"bcast/linear", 10e6, 25, 1 << 10, 4}, {"bcast/linear", 10e6, 25, 2 << 20, 4},
		{"bcast/linear", 0, 25, 1 << 10, 4}, {"bcast/linear", 0, 25, 2 << 20, 4},
	}, v.cells())
	v, err = parse(t, "--quick", "--hosts", "7")
	require.NoError(t, err)
	require.Equal(t, filepath.Join("docs/results", "links-quick.csv"), v.Path("csv"))
	require.Len(t, v.cells(), 4)
	v, err = parse(t)
	require.NoError(t, err)
	require.Len(t, v.cells(), 3*3*3*(5+3*2))
	v, err = parse(t, strings.Fields("--algorithm alltoall/linear --hosts 5 --loss 0 --rate 10mbit")...)
	require.NoError(t, err)
	require.Equal(t, []cell{{"alltoall/linear", 10e6, 0, 64 << 10, 5}, {"alltoall/linear", 10e6, 0, 1 << 20, 5}}, v.cells())

	for args, want := range map[string]string{
		"--hosts 1":               "--hosts=1: must be in 2..250",
		"--loss 100%":             "is no loss",
		"--rate 5":                `"5" is no rate`,
		"--rate 0mbit":            "must be 1mbit",
		"--rate 1001gbit":         "must be 1mbit",
		"--size 5":                "has no unit",
		"--size 2GiB":             "must be 1B … 1GiB",
		"--algorithm bcast/no":    `no algorithm that moves blocks is called "bcast/no"`,
		"--algorithm barrier/hsb": "no algorithm that moves blocks",
		"--iterations=-1":         "--iterations=-1",
		"--limit 1ms":             "--limit=1ms",
		"--quiet 2":               "--quiet=2",
		"--only both":             "--only must be one of",
		"--name a/b":              "--name=a/b",
		"--rounds 0":              "--rounds=0",
		"more":                    "unexpected argument more",
		"--collective bcast":      "--collective: needs --network",
		"--network a --quick":     "--quick: not with --network",
	} {
		_, err := parse(t, strings.Fields(args)...)
		require.ErrorContains(t, err, want, args)
	}
}

func drawRow(t *rapid.T) *row {
	outcome := func(label string) (o outcome) {
		switch rapid.IntRange(0, 2).Draw(t, label) {
		case 1:
			o.failed = rapid.StringMatching(`[a-z ",;]{1,9}[a-z]`).Draw(t, "failed")
		case 2:
			x := float64(rapid.IntRange(1, 1e9).Draw(t, "time")) / 1e6
			o.times = times{x, 2 * x, 4 * x}
		}
		return o
	}
	return &row{
		cell: cell{
			rapid.SampledFrom(append([]string{"allgather/mcast", "alltoall/bruck"}, algorithms...)).Draw(t, "algorithm"), rapid.SampledFrom([]int64{0, 10e6, 100e6, 1e9}).Draw(t, "rate"),
			rapid.IntRange(0, 999).Draw(t, "loss"), rapid.IntRange(1, 1<<30).Draw(t, "bytes"), rapid.IntRange(2, 250).Draw(t, "hosts"),
		},
		iterations: rapid.IntRange(0, 100).Draw(t, "iterations"), others: float64(rapid.IntRange(-1, 1).Draw(t, "others")),
		measured: outcome("measured"), predicted: outcome("predicted"),
	}
}

// TestResultsAreReadAsWritten checks that all written results are read again.
func TestResultsAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := new(results)
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			r.put(drawRow(t))
		}
		var text bytes.Buffer
		require.NoError(t, r.writeCSV(&text))
		got, err := table.Read(&text)
		require.NoError(t, err)
		require.Equal(t, r.rows, got)
		require.NoError(t, r.writeMarkdown(io.Discard, nil))
	})
}

func TestBadResults(t *testing.T) {
	good := strings.Join(table.Names(), ",") + "\n"
	for text, want := range map[string]string{
		"":                              "EOF",
		"a,b\n":                         "wrong number of fields",
		strings.ToUpper(good):           "line 1",
		good + "x,0,0,1,2,,,,,,,,,,,\n": "line 2",
		good + "x,0,0,1,-2,1,0,0,0,0,0,,0,0,0,\n":  `"-2": is negative`,
		good + "x,0,0,1,2,1,0,0,NaN,0,0,,0,0,0,\n": `min_s: "NaN": is no time`,
	} {
		_, err := table.Read(strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}
	r, err := readResults(filepath.Join(t.TempDir(), "none.csv"))
	require.NoError(t, err)
	require.Empty(t, r.rows)
}

func TestMarkdown(t *testing.T) {
	c := cell{"bcast/chain", 100e6, 10, 512 << 10, 15}
	free := c
	free.rate = 0
	r := new(results)
	r.put(&row{cell: free, measured: outcome{times: times{0.01, 0.012, 0.03}}})
	r.put(&row{cell: c, measured: outcome{times: times{0.05, 0.0512, 0.1}}, predicted: outcome{times: times{0.04, 0.0461, 0.05}}})
	late := c
	late.hosts = 3
	r.put(&row{cell: late, measured: outcome{failed: "not finished after 1m0s"}})
	var b strings.Builder
	require.NoError(t, r.writeMarkdown(&b, []string{"about"}))
	_, tables, _ := strings.Cut(b.String(), "## ")
	require.Equal(t, `bcast/chain, 100mbit

| size | loss | hosts | wire | measured | min–max | measured / wire | predicted | measured / predicted | |
|---|--:|--:|--:|--:|---|--:|--:|--:|---|
| 512 KiB | 1 % | 3 | 0.0431 | not finished after 1m0s | - | - | - | - | |
| 512 KiB | 1 % | 15 | 0.0431 | 0.0512 | 0.0500–0.100 | 1.19 | 0.0461 | 1.11 | |

## bcast/chain, unlimited

| size | loss | hosts | wire | measured | min–max | measured / wire | predicted | measured / predicted | |
|---|--:|--:|--:|--:|---|--:|--:|--:|---|
| 512 KiB | 1 % | 15 | - | 0.0120 | 0.0100–0.0300 | - | - | - | cores |
`, tables)
	r.find(free).measured.median = 0.03
	require.True(t, r.byCores(r.find(c)))
}

// TestLimit checks that a program that takes too long is ended, with all processes that it has
// started.
func TestLimit(t *testing.T) {
	shell := func(limit time.Duration, line string) (times, error) {
		return timesBy(t.Context(), limit, []string{"sh", "-c", line}, nil, parseTimes)
	}
	_, err := shell(50*time.Millisecond, "sleep 1000 & wait")
	require.EqualError(t, err, "not finished after 50ms")
	_, err = shell(time.Minute, "echo no such thing >&2; exit 3")
	require.EqualError(t, err, "exit status 3: no such thing")
	_, err = shell(time.Minute, "echo nonsense")
	require.ErrorContains(t, err, "the outcome cannot be read")
	_, err = shell(time.Minute, `echo '{"good":false}'`)
	require.ErrorContains(t, err, "other bytes")
	_, err = shell(time.Minute, `echo '{"good":true}'`)
	require.ErrorContains(t, err, "no times")
	slowest := `"slowest":{"min":5,"median":6,"p99":7,"max":8}`
	got, err := shell(time.Minute, `echo '{"good":true,"replied":{"min":1,"median":2,"p99":3,"max":4},`+slowest+`}'`)
	require.NoError(t, err)
	require.Equal(t, times{1, 2, 4}, got)
	got, err = shell(time.Minute, `echo '{"good":true,`+slowest+`}'`)
	require.NoError(t, err)
	require.Equal(t, times{5, 6, 8}, got)
}

// TestPrediction checks predictions of the simulator: about one copy of the message on the wire, if
// nothing is lost and the links are the limit.
func TestPrediction(t *testing.T) {
	for _, c := range []cell{
		{"bcast/mcast-acktree", 100e6, 0, 512 << 10, 5},
		{"bcast/chain", 100e6, 0, 512 << 10, 15},
		{"bcast/mcast-acktree", 1e9, 10, 1 << 20, 3},
	} {
		got, err := predict(t.Context(), time.Minute, &row{cell: c, iterations: 3})
		require.NoError(t, err)
		require.InDelta(t, 1.06*c.wire(), got.median, 0.06*c.wire(), "%v", c)
	}
	_, err := predict(t.Context(), time.Minute, &row{cell: cell{"bcast/no", 1e6, 0, 1, 3}})
	require.ErrorContains(t, err, "bcast/no")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = predict(canceled, time.Minute, &row{cell: cell{"bcast/chain", 1e6, 0, 1, 3}})
	require.ErrorIs(t, err, context.Canceled)
}

// TestResumes checks that recorded cells are not measured again unless a flag asks for it.
func TestResumes(t *testing.T) {
	done := outcome{times: times{1, 2, 3}}
	full := &row{cell: cell{"bcast/chain", 1e6, 0, 1, 3}, iterations: 1, measured: done, predicted: outcome{failed: "late"}}
	v := &Verb{Measuring: options.Measuring{LimitFlag: options.LimitFlag{Limit: time.Minute}}}
	require.False(t, v.fill(t.Context(), program.Programs{}, full))
	v.Only, v.Again = onlyPredict, true
	require.True(t, v.fill(t.Context(), program.Programs{}, full))
	require.Equal(t, done, full.measured)
	require.True(t, full.predicted.good())
}

// TestBusiest checks the bound of a cell: the fewest bytes that the busiest end of a link carries
// with any algorithm.
func TestBusiest(t *testing.T) {
	for algorithm, want := range map[string]float64{
		"bcast/chain": 1, "scatter/linear": 4, "gather/binomial": 4, "allgather/mcast": 4, "allgather/ring": 4, "alltoall/bruck": 4,
		"reduce/linear": 1, "allreduce/ring": 1.6, "reduce-scatter/halving": 4, "scan/doubling": 1,
		"barrier/hsb": 0, "no/such": 0,
	} {
		require.Equal(t, want, cell{algorithm: algorithm, hosts: 5}.busiest(), algorithm)
	}
	one, five := cell{"bcast/chain", 100e6, 0, 1 << 20, 5}, cell{"allgather/ring", 100e6, 0, 1 << 20, 5}
	require.Equal(t, 4*one.wire(), five.wire())
}

// TestOrder checks that rows of collectives outside the matrix come together, after the others.
func TestOrder(t *testing.T) {
	r := new(results)
	for _, algorithm := range []string{"allgather/ring", "allgather/mcast", "bcast/symmetric"} {
		for _, rate := range []int64{0, 100e6} {
			r.put(&row{cell: cell{algorithm, rate, 0, 1, 5}})
		}
	}
	var got []string
	for _, row := range r.rows {
		got = append(got, row.algorithm)
	}
	require.Equal(t, strings.Fields("bcast/symmetric bcast/symmetric allgather/mcast allgather/mcast allgather/ring allgather/ring"), got)
}

func TestBurst(t *testing.T) {
	for rate, want := range map[int64]int{0: 8 << 10, 10e6: 8 << 10, 100e6: 8 << 10, 1e9: 62500, 10e9: 625000} {
		require.Equal(t, want, burst(rate), "%d", rate)
	}
}

// TestPredictionOfAnAllgather checks that the predicted time is slightly more than the links need
// for the blocks.
func TestPredictionOfAnAllgather(t *testing.T) {
	c := cell{"allgather/ring", 100e6, 0, 64 << 10, 5}
	s := scenario(c, 3)
	r, err := simnet.Run(s, nil)
	require.NoError(t, err)
	times, err := timesOf(s, r)
	require.NoError(t, err)
	require.Greater(t, times.min, c.wire())
	require.Less(t, times.max, 2*c.wire())
}
