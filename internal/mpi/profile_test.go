package mpi

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// profile is a profile as the library writes it.
type profile struct {
	Ranks      int     `json:"ranks"`
	Seconds    float64 `json:"seconds"`
	SetUp      timed   `json:"set_up"`
	Operations []struct {
		Operation string `json:"operation"`
		From      int    `json:"from_bytes"`
		timed
	} `json:"operations"`
}

type timed struct {
	Calls      int     `json:"calls"`
	Bytes      int     `json:"bytes"`
	Seconds    float64 `json:"seconds"`
	SecondsOf0 float64 `json:"rank_0_seconds"`
}

// A profile counts the calls of the ranks, whichever engine performs them.
func TestProfile(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpicc", "profile.c", "-Wall", "-Wextra", "-Werror")
		const ranks = 3
		for _, engine := range []string{"c", "off"} {
			file := filepath.Join(t.TempDir(), "profile.json")
			out, err := w.run(t, ranks, []string{"SCHEDGEN_MPI=" + engine, "SCHEDGEN_MPI_PROFILE=" + file}, program, "self")
			require.NoError(t, err, out)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var got profile
			require.NoError(t, json.Unmarshal(text, &got), "%s", text)
			require.Equal(t, ranks, got.Ranks)
			require.Positive(t, got.Seconds)
			type line struct {
				operation          string
				from, calls, bytes int
			}
			var lines []line
			for _, o := range got.Operations {
				require.Positive(t, o.Seconds)
				lines = append(lines, line{o.Operation, o.From, o.Calls, o.Bytes})
			}
			require.Equal(t, []line{
				{"barrier", 0, ranks + 1, 0},
				{"bcast", 8192, 3 * ranks, 3 * ranks * 8192},
				{"allreduce", 8, 10 * ranks, 10 * ranks * 8},
				{"allgather", 32, 2 * ranks, 2 * ranks * 32},
				{"iallreduce", 16, ranks, ranks * 16},
			}, lines, engine)
		}
		out, err := w.run(t, ranks, []string{"SCHEDGEN_MPI_PROFILE=table", "SCHEDGEN_MPI_REPORT="}, program)
		require.NoError(t, err, out)
		require.Regexp(t, `schedgen: 3 ranks, \d+\.\d{3} s from their start to MPI_Finalize`, out)
		require.Regexp(t, `\nallreduce +8 B +10\.0 +`, out)
		require.Regexp(t, `\nbcast +8 KiB +3\.0 +`, out)
		require.Regexp(t, `\nall +17\.0 +\d+\.\d{6} `, out)

		missing := filepath.Join(t.TempDir(), "no", "such")
		out, err = w.run(t, ranks, []string{"SCHEDGEN_MPI_PROFILE=" + missing}, program)
		require.NoError(t, err, out)
		require.Contains(t, out, "schedgen: "+missing+": No such file or directory")
	})
}

// reportLine is a line of a report: what, how often, and how long.
var reportLine = regexp.MustCompile(`(?m)^schedgen: (set-up|[a-z-]+): (?:[a-z -]+: )?(\d+) .*\bin ([\d.]+) s$`)

// The report and the profile have the same times of rank 0, whatever performs an operation, and the
// set-up is in neither.
func TestReportAndProfile(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpicc", "profile.c", "-Wall", "-Wextra", "-Werror")
		goEngine, err := goEngine()
		require.NoError(t, err)
		for _, engine := range []string{"c", "go", "auto"} {
			file := filepath.Join(t.TempDir(), "profile.json")
			out, err := w.run(t, 2, []string{"SCHEDGEN_MPI=" + engine, "SCHEDGEN_MPI_GO=" + goEngine, "SCHEDGEN_MPI_PROFILE=" + file}, program, "self")
			require.NoError(t, err, out)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var got profile
			require.NoError(t, json.Unmarshal(text, &got), "%s", text)
			profiled := map[string]float64{"set-up": got.SetUp.SecondsOf0}
			for _, o := range got.Operations {
				profiled[o.Operation] += o.SecondsOf0
			}
			reported := make(map[string]float64)
			for _, line := range reportLine.FindAllStringSubmatch(out, -1) {
				seconds, err := strconv.ParseFloat(line[3], 64)
				require.NoError(t, err)
				reported[line[1]] += seconds
			}
			require.ElementsMatch(t, slices.Collect(maps.Keys(profiled)), slices.Collect(maps.Keys(reported)), out)
			for name, seconds := range profiled {
				require.InDelta(t, seconds, reported[name], 5e-6, "%s: %s\n%s", engine, name, out)
			}
			require.Positive(t, profiled["set-up"])
		}
	})
}

// A program in Fortran is profiled too.
func TestProfileOfFortran(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpif90", "fortran.f90", "-cpp", "-DMODERN")
		out, err := w.run(t, 3, []string{"SCHEDGEN_MPI=off", "SCHEDGEN_MPI_PROFILE=table"}, program)
		require.NoError(t, err, out)
		require.Regexp(t, `\nallreduce +\d+ B +\d\.0 +`, out)
	})
}
