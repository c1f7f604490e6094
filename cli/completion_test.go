package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/schedule"
)

// TestKindsOfCompletionAreKnown checks that every kind of completion that a field names has values.
func TestKindsOfCompletionAreKnown(t *testing.T) {
	used := map[string]bool{"file": true, "directory": true, "verb": true}
	_ = kong.Visit(parserForTests(t).Model, func(v kong.Visitable, next kong.Next) error {
		if value, ok := v.(*kong.Value); ok && value.Tag.Has(command.CompleteTag) {
			for kind := range strings.SplitSeq(value.Tag.Get(command.CompleteTag), ",") {
				used[kind] = true
			}
		}
		if flag, ok := v.(*kong.Flag); ok && flag.Tag.Has(command.CompleteTag) {
			used[flag.Tag.Get(command.CompleteTag)] = true
		}
		return next(nil)
	})
	for kind := range used {
		require.True(t, completions[kind] != nil || slices.Contains([]string{"file", "directory", "verb"}, kind), kind)
	}
	require.Len(t, used, len(completions)+3)
}

// completed returns the words that may follow the given words of a command line.
func completed(t *testing.T, words ...string) []string {
	t.Helper()
	code, out, stderr := invoke(t.Context(), nil, append([]string{"complete", "--"}, words...)...)
	require.Zero(t, code, stderr)
	var texts []string
	for line := range strings.Lines(out) {
		text, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		texts = append(texts, text)
	}
	return texts
}

// TestCompletedAlgorithms checks that a verb with a collective completes the algorithms of that
// collective, and other verbs all algorithms.
func TestCompletedAlgorithms(t *testing.T) {
	var all, barriers []string
	for _, a := range schedule.Algorithms() {
		all = append(all, a.Name)
		if a.Collective == schedule.Barrier {
			barriers = append(barriers, a.Name)
		}
	}
	require.Equal(t, append(all, ":files"), completed(t, "show", ""))
	require.Equal(t, barriers, completed(t, "run", "barrier", "--algorithm", ""))
	require.Equal(t, barriers, completed(t, "bench", "barrier", "--algorithm", ""))
	require.Equal(t, []string{"bcast/linear"}, completed(t, "bench", "bcast_ack", "--algorithm", "bcast/l"))
	require.Equal(t, []string{"allgather/bruck"}, completed(t, "bench", "allgather", "--algorithm", "allgather/b"))
	require.Equal(t, []string{"gather/linear"}, completed(t, "rank", "gather", "--algorithm", "gather/l"))
	require.Equal(t, all, completed(t, "bench", "--algorithm", ""))
}

func TestCompletedVerbs(t *testing.T) {
	require.Equal(t, runnable(), completed(t, "help", "run", ""))
	require.Empty(t, completed(t, "help", "draw", ""))
	require.Equal(t, completed(t, ""), completed(t, "help", ""))
	require.False(t, slices.Contains(completed(t, ""), "complete"), "a hidden verb")
	require.Contains(t, completed(t, "emit", "x", "--format="), "--format=msccl")
	require.Equal(t, []string{"fixed"}, completed(t, "run", "bcast", "--delay", "f"))
	require.Equal(t, []string{"reduce", "reduce-scatter"}, completed(t, "run", "reduce"))
	require.Equal(t, []string{"run", "rules"}, completed(t, "ru"))
}
