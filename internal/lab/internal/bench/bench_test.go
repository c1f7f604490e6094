package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// parseThree parses a line of three numbers.
func parseThree(line string) (Times, bool) {
	var t Times
	n, err := fmt.Sscanf(line, "micro %g %g %g", &t.Mean, &t.Median, &t.P99)
	return t, err == nil && n == 3
}

func TestParse(t *testing.T) {
	got, ok := Parse(`{"op":"barrier","algorithm":"barrier/hsb","mean_max_us":12.5,"median_max_us":11,"p99_max_us":40.125}`)
	require.True(t, ok)
	require.Equal(t, Times{12.5, 11, 40.125}, got)
	for _, line := range []string{"", "micro 1 2 3", `{"mean_max_us":1}`, "{", "null"} {
		_, ok := Parse(line)
		require.False(t, ok, line)
	}
}

// TestCapture checks that a result is found in output that comes in any pieces, with any text
// around it.
func TestCapture(t *testing.T) {
	const text = "a warning\nmicro 1 2 3\nmicro 4 5 6\nthe end\n"
	for step := 1; step <= len(text); step++ {
		found := 0
		c := &capture{parse: parseThree, found: func() { found++ }}
		for rest := text; rest != ""; rest = rest[min(step, len(rest)):] {
			n, err := c.Write([]byte(rest[:min(step, len(rest))]))
			require.NoError(t, err)
			require.Equal(t, min(step, len(rest)), n)
		}
		require.Equal(t, 1, found)
		require.Equal(t, Times{1, 2, 3}, *c.result)
		require.Equal(t, "a warning\nmicro 4 5 6\nthe end\n", string(c.rest))
	}
}

// shell runs a line of shell.
func shell(ctx context.Context, line string, limit time.Duration) (Times, error) {
	return Run(ctx, []string{"sh", "-c", line}, nil, limit, parseThree)
}

func TestRun(t *testing.T) {
	ctx := t.Context()
	got, err := shell(ctx, "echo hello; echo micro 1 2 3", time.Minute)
	require.NoError(t, err)
	require.Equal(t, Times{1, 2, 3}, got)

	_, err = shell(ctx, "echo no such thing >&2; exit 3", time.Minute)
	require.EqualError(t, err, "exit status 3: no such thing")
	_, err = shell(ctx, "true", time.Minute)
	require.EqualError(t, err, "it printed no result")
	_, err = shell(ctx, "sleep 1000 & wait", 100*time.Millisecond)
	require.EqualError(t, err, "not finished after 100ms")
	_, err = Run(ctx, []string{"/no/such/program"}, nil, time.Minute, parseThree)
	require.ErrorContains(t, err, "no such file")

	// A result counts, however its program ends.
	got, err = shell(ctx, "echo micro 1 2 3; exit 9", time.Minute)
	require.NoError(t, err)
	require.Equal(t, Times{1, 2, 3}, got)

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = shell(canceled, "sleep 1000", time.Minute)
	require.ErrorIs(t, err, context.Canceled)
}

// TestRunOneThatHangs checks that a program that hangs after its result is ended.
func TestRunOneThatHangs(t *testing.T) {
	t.Parallel()
	got, err := shell(t.Context(), "echo micro 1 2 3; sleep 1000", 5*time.Minute)
	require.NoError(t, err)
	require.Equal(t, Times{1, 2, 3}, got)
}
