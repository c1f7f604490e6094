package mpi

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Engine go learns whether it or the MPI is faster, and writes that as rules, which both engines
// follow. Every result is right, whoever performs a call.
func TestLearnWithTheMPI(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		uneven := w.compile(t, "mpicc", "uneven.c", "-shared", "-fPIC")
		program := w.compile(t, "mpicc", "learn.c", "-O1", "-Wall", "-Wextra", "-Werror")
		w.preload = w.library.Path + ":" + uneven + strings.TrimPrefix(w.preload, w.library.Path)
		engineC := w.env
		w.withGo(t)
		learned := filepath.Join(t.TempDir(), "learned.json")
		for _, ranks := range heavy.Or(nil, []int{2, 5, 8}) {
			for _, transport := range []string{"auto", "tcp"} {
				out, err := w.run(t, ranks, []string{"SCHEDGEN_LEARN=" + learned, "SCHEDGEN_TRANSPORT=" + transport}, program, "160")
				require.NoError(t, err, "%d ranks, %s: %s", ranks, transport, out)
			}
		}
		run := func(env ...string) string {
			out, err := w.run(t, 3, env, program, "160")
			require.NoError(t, err, out)
			require.Contains(t, out, "all calls are right\n")
			return out
		}

		out := run("SCHEDGEN_LEARN=" + learned)
		require.Regexp(t, `schedgen: learned: barrier among 3 ranks: left to the MPI; tried mpi [\d.nµ]+s, barrier/`, out)
		require.Regexp(t, `schedgen: learned: bcast among 3 ranks, up to 16 bytes: bcast/[a-z-]+ takes \d+ % less than the MPI; tried mpi [\d.nµm]+s, bcast/`, out)
		require.Contains(t, out, "learned: bcast among 3 ranks, up to 4096 bytes: ")
		for _, op := range []string{"reduce", "allreduce", "reduce-scatter", "scan", "exscan", "allgather", "gather", "scatter", "alltoall"} {
			require.Regexp(t, `schedgen: learned: `+op+` among 3 ranks, up to 16 bytes: [^;]+; tried mpi `, out)
		}
		require.Regexp(t, `schedgen: learned: scan among 3 ranks, up to 32 bytes: nothing yet, after 3 calls\n`, out, "the duplicate learns by itself")
		tried := regexp.MustCompile(`schedgen: bcast: (\d+) by MPI, as the fastest that was learned, or in its turn to be tried,`).FindStringSubmatch(out)
		require.NotNil(t, tried, out)
		require.Less(t, len(tried[1]), 3, "the MPI has few turns")
		require.Regexp(t, `schedgen: allgatherv: \d+ by MPI, as the fastest that was learned, or in its turn to be tried, in `, out)
		require.Regexp(t, `schedgen: iallreduce: \d+ by engine go, allreduce/`, out)
		require.Regexp(t, `schedgen: set-up: questions of engine go whose turn it is: \d+ in `, out)

		text, err := os.ReadFile(learned)
		require.NoError(t, err)
		rules, err := selection.Parse(text)
		require.NoError(t, err, "%s", text)
		left := func(collective string) bool {
			d, ok := rules.Of(selection.Case{Collective: collective, Ranks: 3, Bytes: 12, Place: selection.OneHost, Memory: true, Multicast: true, MPI: true})
			require.True(t, ok)
			return d.Rule.Algorithm == selection.MPI
		}
		require.Contains(t, string(text), `"algorithm":"mpi","reason":"learned: no other algorithm takes 5 % less"`)
		require.False(t, left("bcast"), "%s", text)

		out = run("SCHEDGEN_RULES=" + learned)
		require.Contains(t, out, "schedgen: barrier: 163 by MPI, left to MPI by rules, in ")
		require.Regexp(t, `schedgen: bcast: \d+ by engine go, bcast/[a-z-]+ among 3 ranks, of \d+ to \d+ bytes, `, out)
		require.NotContains(t, out, "bcast: 163 by MPI")
		require.NotContains(t, out, "learned")

		out = run("SCHEDGEN_RULES="+learned, "SCHEDGEN_LEARN="+learned)
		require.Contains(t, out, "schedgen: learned: barrier among 3 ranks: left to the MPI; ")
		again, err := os.ReadFile(learned)
		require.NoError(t, err)
		_, err = selection.Parse(again)
		require.NoError(t, err, "%s", again)

		w.env = engineC
		rules, err = selection.New([]selection.Rule{
			{Collective: "barrier", Algorithm: selection.MPI}, {Collective: "allreduce", Bytes: selection.Range{To: 100}, Algorithm: selection.MPI},
			{Collective: "allreduce", Algorithm: "allreduce/ring"},
		})
		require.NoError(t, err)
		by, err := w.library.By(rules)
		require.NoError(t, err)
		_, err = WriteTables(by.TablesOf(3), 3, rules)
		require.NoError(t, err)
		out = run("SCHEDGEN_MPI_TABLES=" + by.Tables)
		require.Contains(t, out, "schedgen: barrier: 163 by MPI, left to MPI by rules, in ")
		require.Contains(t, out, "schedgen: allreduce: 80 by allreduce/ring among 3 ranks, ")
		require.Regexp(t, `schedgen: allreduce: \d+ by MPI, left to MPI by rules, in `, out)
	})
}

// The report of engine go names the algorithm of each class of lengths.
func TestReportOfGo(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpicc", "learn.c", "-O1", "-Wall", "-Wextra", "-Werror")
		w.withGo(t)
		file := filepath.Join(t.TempDir(), "rules.json")
		const text = `{"format": "schedgen-rules/1", "rules": [
			{"collective": "bcast", "bytes": {"max": 12}, "algorithm": "bcast/binomial"}, {"collective": "bcast", "algorithm": "bcast/linear"},
			{"collective": "barrier", "algorithm": "barrier/dissemination"}, {"collective": "allreduce", "algorithm": "allreduce/ring"},
			{"collective": "allreduce", "algorithm": "built-in"}]}`
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
		out, err := w.run(t, 3, []string{"SCHEDGEN_RULES=" + file}, program, "10")
		require.NoError(t, err, out)
		require.Contains(t, out, "schedgen: bcast: 5 by engine go, bcast/binomial among 3 ranks, of 8 to 15 bytes, 60 bytes in ")
		require.Contains(t, out, "schedgen: bcast: 8 by engine go, bcast/linear among 3 ranks, of 16 to 4095 bytes, 12060 bytes in ")
		require.Contains(t, out, "schedgen: barrier: 13 by engine go, barrier/dissemination among 3 ranks, 0 bytes in ")
		require.Contains(t, out, "schedgen: iallreduce: 13 by engine go, allreduce/ring among 3 ranks, of 8 to 4095 bytes, ")
		require.Regexp(t, `schedgen: alltoall: 13 by engine go, alltoall/[a-z]+ among 3 ranks, of 8 to 4095 bytes, `, out)
		require.Regexp(t, `schedgen: allgatherv: 13 by engine go, allgather/[a-z]+ among 3 ranks, of 4 to 7 bytes, `, out)
		for line := range strings.Lines(out) {
			require.False(t, strings.Contains(line, " by engine go, ") && !strings.Contains(line, " among 3 ranks"), line)
		}
	})
}
