package mpi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

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
			var got struct {
				Ranks      int     `json:"ranks"`
				Seconds    float64 `json:"seconds"`
				Operations []struct {
					Operation string  `json:"operation"`
					From      int     `json:"from_bytes"`
					Calls     int     `json:"calls"`
					Bytes     int     `json:"bytes"`
					Seconds   float64 `json:"seconds"`
				} `json:"operations"`
			}
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

// A program in Fortran is profiled too.
func TestProfileOfFortran(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpif90", "fortran.f90", "-cpp", "-DMODERN")
		out, err := w.run(t, 3, []string{"SCHEDGEN_MPI=off", "SCHEDGEN_MPI_PROFILE=table"}, program)
		require.NoError(t, err, out)
		require.Regexp(t, `\nallreduce +\d+ B +\d\.0 +`, out)
	})
}
