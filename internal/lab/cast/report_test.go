//go:build linux

package cast

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/lab/internal/options"
)

func drawRow(t *rapid.T) *row {
	number := func(label string) float64 { return float64(rapid.IntRange(0, 1e6).Draw(t, label)) / 1e3 }
	count := func(label string) int64 { return rapid.Int64Range(0, 1<<40).Draw(t, label) }
	return &row{
		trial: trial{cell{
			rapid.IntRange(1, 1<<30).Draw(t, "bytes"), rapid.IntRange(2, 249).Draw(t, "hosts"), rapid.SampledFrom([]int64{0, 10e6, 1e9}).Draw(t, "rate"),
			rapid.IntRange(0, 999).Draw(t, "loss"), rapid.SampledFrom(faults).Draw(t, "fault"),
		}, rapid.SampledFrom(toolNames()).Draw(t, "tool"), rapid.IntRange(1, 9).Draw(t, "round")},
		Others: -1, Store: inMemory,
		outcome: outcome{
			number("ended"), number("healthy"), number("told"), "mcast", number("cpu"), number("cpus"), count("memory"), count("memories"),
			count("sent"), count("received"), rapid.StringMatching(`([a-z ",;]{1,9}[a-z])?`).Draw(t, "failed"),
		},
	}
}

// TestResultsAreReadAsWritten checks that all written results are read again and can be shown, and
// that their cells are not measured again.
func TestResultsAreReadAsWritten(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		v := &Verb{AgainFlag: options.AgainFlag{Again: true}, Files: options.Files{Out: &dir, Name: "cast"}}
		r, err := v.openReport()
		require.NoError(t, err)
		require.Empty(t, r.aboutKept())
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			require.NoError(t, r.append(drawRow(t)))
		}
		v.Again = false
		again, err := v.openReport()
		require.NoError(t, err)
		require.Equal(t, r, again)
		require.Equal(t, len(again.rows) > 0, len(again.aboutKept()) > 0)
		for _, row := range again.rows {
			require.True(t, again.known(row.trial))
			next := row.trial
			next.Hosts = 250
			require.False(t, again.known(next))
		}
		require.NoError(t, writeMarkdown(io.Discard, nil, lines(again.figures())))
		require.NoError(t, writeSVG(io.Discard, lines(again.figures())))
	})
}

func TestBadResults(t *testing.T) {
	head := strings.Join(table.Names(), ",") + "\n"
	good := "1,2,0,0,none,scp,1,0,memory,,0,1,1,0,0,0,0,0,0,0,\n"
	rows, err := table.Read(strings.NewReader(head + good))
	require.NoError(t, err)
	require.Len(t, rows, 1)
	for text, want := range map[string]string{
		"":                    "EOF",
		"a,b\n":               "wrong number of fields",
		strings.ToUpper(head): "line 1",
		head + strings.Replace(good, "1", "-1", 1):                `line 2: bytes: "-1": is negative`,
		head + strings.Replace(good, "0,memory", "NaN,memory", 1): `others: "NaN": is no time`,
		head + good + strings.Replace(good, ",1,1,", ",1,x,", 1):  "line 3: healthy_s",
	} {
		_, err := table.Read(strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}
}

// sample is a report of a few cells.
func sample() []*line {
	r := new(results)
	add := func(c cell, name string, round int, ended, healthy float64, failed string) {
		r.rows = append(r.rows, &row{trial{c, name, round}, 0.25, inMemory, outcome{Ended: ended, Healthy: healthy, Told: ended / 2,
			SenderCPU: 1, ReceiversCPU: 5, SenderMemory: 50 * mib, ReceiversMemory: 30 * mib, Sent: 70 * mib, Received: 71 * mib, Failed: failed}})
	}
	c := cell{64 * mib, 5, 100e6, 0, faultNone}
	for round, s := range []float64{6.2, 5.8, 5.9} {
		add(c, ours, round+1, s, s-0.1, "")
		add(c, "uftp", round+1, s+1, s+1, "")
	}
	lossy, free, dies := c, c, c
	lossy.PerMille, free.Rate, dies.Fault = 10, 0, faultDies
	add(lossy, ours, 1, 7, 6.9, "")
	add(lossy, "uftp", 1, 7.7, 7.7, "")
	add(lossy, "scp", 1, 0, 0, "did not end after 63 s")
	add(free, ours, 1, 0.5, 0.4, "")
	add(free, "scp", 1, 0.4, 0.4, "")
	add(free, "uftp", 1, 0, 0, "sender: exit status 3: no room")
	add(dies, ours, 1, 6.5, 6, "")
	return lines(r.figures())
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	require.NoError(t, writeMarkdown(&b, []string{"about"}, sample()))
	golden(t, "sample.md", b.String())
}

func TestPicture(t *testing.T) {
	var b strings.Builder
	require.NoError(t, writeSVG(&b, sample()))
	golden(t, "sample.svg", b.String())
}

// TestPublishedPicture checks that the published picture shows the results beside it.
func TestPublishedPicture(t *testing.T) {
	const published = "../../../docs/results/cast"
	text, err := os.Open(published + ".csv")
	require.NoError(t, err)
	defer text.Close()
	rows, err := table.Read(text)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, writeSVG(&b, lines((&results{rows: rows}).figures())))
	golden(t, "../"+published+".svg", b.String())
}

// TestClaims checks the published results against what docs/performance.md says of the picture.
func TestClaims(t *testing.T) {
	text, err := os.Open("../../../docs/results/cast.csv")
	require.NoError(t, err)
	defer text.Close()
	rows, err := table.Read(text)
	require.NoError(t, err)
	var faster []cell
	multiples := map[string][2]float64{} // multiples of one copy on the wire: the least and the greatest
	for _, l := range lines((&results{rows: rows}).figures()) {
		own := l.by[ours]
		if own == nil {
			continue
		}
		require.Positive(t, own.seconds(), "%v", l.cell)
		if best := l.fastest(); best != nil && best.seconds() < own.seconds() {
			faster = append(faster, l.cell)
		}
		if l.Rate == 0 || l.Fault != faultNone {
			continue
		}
		kind := rateWords(l.Rate)
		switch {
		case l.Hosts > 15:
			kind += ", 40 hosts"
		case l.Rate > 100e6 && l.Hosts > 5:
			kind += ", 15 hosts"
		case l.PerMille > 0:
			kind += ", losses"
		}
		m := own.seconds() / l.wire()
		seen, ok := multiples[kind]
		if !ok {
			seen = [2]float64{m, m}
		}
		multiples[kind] = [2]float64{min(seen[0], m), max(seen[1], m)}
	}
	require.Equal(t, []cell{{1024 * mib, 15, 100e6, 0, faultNone}}, faster, "where another tool is faster")
	for kind, want := range map[string][2]float64{
		"100 Mbit/s":           {1.04, 1.09},
		"100 Mbit/s, losses":   {1.04, 1.25},
		"100 Mbit/s, 40 hosts": {1.28, 1.77},
		"1 Gbit/s, 15 hosts":   {2.82, 3.88},
	} {
		got := multiples[kind]
		require.InDelta(t, want[0], got[0], 0.005, kind)
		require.InDelta(t, want[1], got[1], 0.005, kind)
	}
}
