package compare

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/lab/internal/bench"
	"github.com/schedgen/schedgen/internal/lab/internal/labtest"
	"github.com/schedgen/schedgen/internal/lab/internal/options"
)

// lab has the verbs of this package.
var lab = labtest.Program(func() any {
	return new(struct {
		Compare Verb      `cmd:""`
		Limit   LimitRank `cmd:"" hidden:"" name:"compare-limit"`
		command.About
	})
})

func TestMain(m *testing.M) { os.Exit(labtest.Main(m, lab)) }

// parse returns the verb with the given flags.
func parse(t *testing.T, args ...string) (*Verb, error) {
	v, err := labtest.Parse[Verb](t, args...)
	if err == nil {
		err = v.check()
	}
	return v, err
}

func TestParsePeer(t *testing.T) {
	got, ok := parsePeer("micro 12.5 11 40.125")
	require.True(t, ok)
	require.Equal(t, bench.Times{Mean: 12.5, Median: 11, P99: 40.125}, got)
	for _, line := range []string{"", "micro", "micro 1 2", "micro: rank 1: no memory", "macro 1 2 3"} {
		_, ok := parsePeer(line)
		require.False(t, ok, line)
	}
}

// shell returns a contender that runs a line of shell.
func shell(line string) *contender {
	return &contender{side: peer, name: line, args: []string{"sh", "-c", line}, parse: parsePeer,
		tail: func(int, time.Duration) []string { return nil }}
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
	v := &Verb{Keep: 2}
	v.Rounds, v.Budget, v.Measuring = 3, time.Minute, options.Measuring{LimitFlag: options.LimitFlag{Limit: time.Minute}, Quiet: 1}
	c := cell{wireTCP, opBcast, 4, 2}
	rows := measureCell(t.Context(), v, c, all)
	var runs []int
	for i := range rows {
		runs = append(runs, len(rows[i].runs))
	}
	require.Equal(t, []int{1, 3, 3, 0, 3, 3, 0}, runs)
	require.Equal(t, "exit status 1: oh", rows[3].status)
	require.Equal(t, "exit status 1", rows[6].status)
	require.Equal(t, "ours 3.00 µs (echo micro 3 1 1), peer 2.00 µs (echo micro 2 1 1), ratio 1.50", summary(c, rows))

	v.Budget = time.Nanosecond
	rows = measureCell(t.Context(), v, c, all)
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
