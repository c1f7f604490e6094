package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/model/fit"
	"github.com/schedgen/schedgen/internal/model/grid"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// recorded returns a recorded measurement of tune over TCP on the loopback interface of a machine
// with two cores. The name is "quiet", or "noisy" for one made while a dozen other processes ran.
// The files hold the sizes of tune --json.
func recorded(t *testing.T, name string) (*fit.Machine, []fit.Samples) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "tune", name+".json"))
	require.NoError(t, err)
	var all []tuneSize
	require.NoError(t, json.Unmarshal(text, &all))
	interval := func(e estimate) fit.Interval { return fit.Interval{Value: e.Value, Low: *e.Low, High: *e.High} }
	var sizes []fit.Size
	var samples []fit.Samples
	for _, s := range all {
		sizes = append(sizes, fit.Size{
			Bytes: s.Bytes, OneWay: interval(s.OneWay), Send: interval(s.Sender), Recv: interval(s.Receiver), Gap: interval(s.Gap),
		})
		samples = append(samples, fit.Samples{Bytes: s.Bytes, RoundTrip: make([]float64, s.Rounds)})
	}
	return fit.NewMachine(sizes), samples
}

// finished makes rules from a recorded measurement, as tune does after measuring. It returns the
// printed text, the text of the file of rules, "" if there is none, and the error.
func finished(t *testing.T, measurement string, change func(*tuned)) (out, rules string, err error) {
	t.Helper()
	var printed bytes.Buffer
	file := filepath.Join(t.TempDir(), "rules.json")
	of := &tuned{
		cmd:  &tuneCmd{Iterations: 10, tuneFlags: tuneFlags{UpTo: 8, Precision: 0.05, Budget: time.Second, Rules: file}},
		std:  terminal.Stdio{Out: &printed, Err: &printed, Getenv: func(string) string { return "" }},
		link: crew.Link{Transport: overTCP},
	}
	of.machine, of.samples = recorded(t, measurement)
	of.wanted = len(of.samples)
	of.cmd.Size = sizeRange{1, byteSize(of.samples[of.wanted-1].Bytes)}
	require.NoError(t, of.cmd.check())
	if change != nil {
		change(of)
	}
	err = of.finish(t.Context())
	text, readErr := os.ReadFile(file)
	if readErr != nil {
		require.ErrorIs(t, readErr, os.ErrNotExist)
	}
	return printed.String(), string(text), err
}

// TestTuneRefusesNoise makes no rules from a measurement that is too bad for a model. tune prints
// which times are off, by how much, and what to do. It writes no file and exits with 1.
func TestTuneRefusesNoise(t *testing.T) {
	out, rules, err := finished(t, "noisy", nil)
	var no *terminal.NoError
	require.ErrorAs(t, err, &no, "exit code 1")
	require.EqualError(t, err, "no rules: 17 times not measured well enough; worst: receiver, 256 B: uncertain by 163 % (allowed: 25 %); "+
		"measure again while the machine is idle, with a longer --budget, or leave sizes out with --size")
	require.Empty(t, rules)
	require.Contains(t, out, `
rules: none, because 17 of 68 times were not measured well enough for a model
  one way, 1 KiB   16.9 µs  [13.0, 19.9]  the model has 23.8 µs, off by 41 % (allowed: 31 %); and 5 other sizes
  receiver, 256 B  13.6 µs  [9.49, 53.9]  uncertain by 163 % (allowed: 25 %); and 10 other sizes
`)
	require.NotContains(t, out, "less than the built-in choice")

	out, _, err = finished(t, "noisy", func(of *tuned) { of.cmd.JSON = true })
	require.ErrorAs(t, err, &no)
	var o tuneObject
	require.NoError(t, json.Unmarshal([]byte(out), &o))
	require.Len(t, o.Misfits, 17)
	require.Empty(t, o.Rules)
	require.Equal(t, "one way", o.Misfits[0].Of)
}

// TestTuneOfAQuietMachine makes rules from a good measurement, although up to four lines do not fit
// its steps: rules use the times themselves.
func TestTuneOfAQuietMachine(t *testing.T) {
	out, rules, err := finished(t, "quiet", nil)
	require.NoError(t, err)
	require.Contains(t, rules, "modelled: takes ")
	require.Contains(t, out, "% less than the built-in choice")
	require.NotContains(t, out, "not measured well enough")
}

// TestTuneKeepsMeasuredRules refuses only the modelled rules of a bad measurement and keeps the
// measured ones.
func TestTuneKeepsMeasuredRules(t *testing.T) {
	out, rules, err := finished(t, "noisy", func(of *tuned) {
		of.cmd.Ranks, of.cmd.Collective = &source.Ranks{Lo: 3, Hi: 3}, []string{schedule.Barrier}
		cases := of.grids(true)[0].Cases()
		timed := cases[len(cases)-1]
		of.timed = map[selection.Case][]timedCell{timed: {
			{Choice: grid.BuiltIn(timed), runs: []fit.Interval{fit.Exactly(100), fit.Exactly(101)}},
			{Choice: grid.Choice{Algorithm: "barrier/exchange"}, runs: []fit.Interval{fit.Exactly(50), fit.Exactly(51)}},
		}}
	})
	require.NoError(t, err)
	require.Contains(t, out, "rules: 1 measured, 0 modelled; the built-in rules decide all other cases\n")
	require.Contains(t, out, "modelled rules: none, because 17 of 68 times")
	require.Contains(t, rules, "measured: takes 50 % less")
}

// TestTuneOfMemoryRefusesNothing checks that nothing is refused for transport mem, since tune makes
// no model of it.
func TestTuneOfMemoryRefusesNothing(t *testing.T) {
	out, rules, err := finished(t, "noisy", func(of *tuned) { of.link.Transport = overMem })
	require.NoError(t, err)
	require.NotEmpty(t, rules)
	require.Contains(t, out, "rules: none is better than the built-in ones\n")
}
