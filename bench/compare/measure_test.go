package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childVerb {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestParse(t *testing.T) {
	got, ok := parsePeer("micro 12.5 11 40.125")
	require.True(t, ok)
	require.Equal(t, timing{12.5, 11, 40.125}, got)
	got, ok = parseOurs(`{"op":"barrier","algorithm":"barrier/hsb","mean_max_us":12.5,"median_max_us":11,"p99_max_us":40.125}`)
	require.True(t, ok)
	require.Equal(t, timing{12.5, 11, 40.125}, got)
	for _, line := range []string{"", "micro", "micro 1 2", "micro: rank 1: no memory", "macro 1 2 3", `{"mean_max_us":1}`, "{", "null"} {
		_, ok := parsePeer(line)
		require.False(t, ok, line)
		_, ok = parseOurs(line)
		require.False(t, ok, line)
	}
}

// TestCapture checks that a result is found in output that comes in any pieces, with any text
// around it.
func TestCapture(t *testing.T) {
	const text = "a warning\nmicro 1 2 3\nmicro 4 5 6\nthe end\n"
	for step := 1; step <= len(text); step++ {
		found := 0
		c := &capture{parse: parsePeer, found: func() { found++ }}
		for rest := text; rest != ""; rest = rest[min(step, len(rest)):] {
			n, err := c.Write([]byte(rest[:min(step, len(rest))]))
			require.NoError(t, err)
			require.Equal(t, min(step, len(rest)), n)
		}
		require.Equal(t, 1, found)
		require.Equal(t, timing{1, 2, 3}, *c.result)
		require.Equal(t, "a warning\nmicro 4 5 6\nthe end\n", string(c.rest))
	}
}

// shell returns a contender that runs a line of shell.
func shell(line string) *contender {
	return &contender{side: peer, name: line, args: []string{"sh", "-c", line}, parse: parsePeer,
		tail: func(int, time.Duration) []string { return nil }}
}

func TestMeasure(t *testing.T) {
	ctx := t.Context()
	got, err := measure(ctx, shell("echo hello; echo micro 1 2 3"), 1, time.Minute)
	require.NoError(t, err)
	require.Equal(t, timing{1, 2, 3}, got)

	_, err = measure(ctx, shell("echo no such thing >&2; exit 3"), 1, time.Minute)
	require.EqualError(t, err, "exit status 3: no such thing")
	_, err = measure(ctx, shell("true"), 1, time.Minute)
	require.EqualError(t, err, "it printed no result")
	_, err = measure(ctx, shell("sleep 1000 & wait"), 1, 100*time.Millisecond)
	require.EqualError(t, err, "not finished after 100ms")
	_, err = measure(ctx, &contender{args: []string{"/no/such/program"}, tail: shell("").tail, parse: parsePeer}, 1, time.Minute)
	require.ErrorContains(t, err, "no such file")

	// A result counts, however its program ends.
	got, err = measure(ctx, shell("echo micro 1 2 3; exit 9"), 1, time.Minute)
	require.NoError(t, err)
	require.Equal(t, timing{1, 2, 3}, got)

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = measure(canceled, shell("sleep 1000"), 1, time.Minute)
	require.ErrorIs(t, err, context.Canceled)
}

// TestMeasureOneThatHangs checks that a program that hangs after its result is ended.
func TestMeasureOneThatHangs(t *testing.T) {
	t.Parallel()
	got, err := measure(t.Context(), shell("echo micro 1 2 3; sleep 1000"), 1, 5*time.Minute)
	require.NoError(t, err)
	require.Equal(t, timing{1, 2, 3}, got)
}

// TestMeasureCell checks that a failed contender drops out while the others go on, and that only
// the best of schedgen's algorithms stay.
func TestMeasureCell(t *testing.T) {
	var all []contender
	for _, c := range []struct{ side, line string }{
		{ours, "echo micro 5 1 1"}, {ours, "echo micro 3 1 1"}, {ours, "echo micro 4 1 1"}, {ours, "echo oh; false"},
		{peer, "echo micro 9 1 1"}, {peer, "echo micro 2 1 1"}, {peer, "false"},
	} {
		s := shell(c.line)
		s.side = c.side
		all = append(all, *s)
	}
	o := &options{rounds: 3, keep: 2, limit: time.Minute, budget: time.Minute}
	c := cell{wireTCP, opBcast, 4, 2}
	rows := measureCell(t.Context(), o, c, all)
	var runs []int
	for i := range rows {
		runs = append(runs, len(rows[i].runs))
	}
	require.Equal(t, []int{1, 3, 3, 0, 3, 3, 0}, runs)
	require.Equal(t, "exit status 1: oh", rows[3].status)
	require.Equal(t, "exit status 1", rows[6].status)
	require.Equal(t, "ours 3.00 µs (echo micro 3 1 1), peer 2.00 µs (echo micro 2 1 1), ratio 1.50", summary(c, rows))

	o.budget = 0
	rows = measureCell(t.Context(), o, c, all)
	require.Empty(t, rows[0].runs)
	require.Equal(t, "the cell's time was over after round 0", rows[0].status)
	require.Equal(t, "nobody: the cell's time was over after round 0", summary(c, rows))
}

func TestLimitOverTCP(t *testing.T) {
	times, err := exchangeTCP(t.Context(), &limit{bytes: 100, repeats: 20})
	require.NoError(t, err)
	require.Len(t, times, 20)
	require.Error(t, limitChild([]string{"tcp", "127.0.0.1:1", "0"}, nil))
	require.Error(t, limitChild([]string{"other", "127.0.0.1:1", "1"}, nil))
	require.Error(t, limitChild(nil, nil))
}
