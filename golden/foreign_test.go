package golden

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/dag"
	"github.com/schedgen/schedgen/ir/goal"
	"github.com/schedgen/schedgen/ir/msccl"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// readers are those of other programs' files, by extension.
var readers = map[string]func(io.Reader) (*dag.Graph, error){
	".goal": goal.Parse,
	".xml":  msccl.Parse,
}

// foreignFiles returns the schedules of others below testdata/foreign.
func foreignFiles(t *testing.T, folder string) []string {
	files, err := filepath.Glob(filepath.Join("testdata", "foreign", folder, "*.*"))
	require.NoError(t, err)
	var out []string
	for _, file := range files {
		if filepath.Ext(file) != ".want" {
			out = append(out, file)
		}
	}
	require.NotEmpty(t, out)
	return out
}

func readForeign(t *testing.T, file string) (*dag.Graph, error) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return readers[filepath.Ext(file)](bytes.NewReader(text))
}

// examineForeign verifies a file as what the first word of its name says.
func examineForeign(t *testing.T, file string) error {
	g, err := readForeign(t, file)
	require.NoError(t, err)
	collective, _, _ := strings.Cut(filepath.Base(file), "-")
	report, err := verify.RunForeign(g, verify.Claim{Collective: collective})
	require.NoError(t, err)
	return report.Err()
}

func TestForeignGood(t *testing.T) {
	for _, file := range foreignFiles(t, "good") {
		t.Run(filepath.Base(file), func(t *testing.T) { require.NoError(t, examineForeign(t, file)) })
	}
}

// TestForeignBroken holds the counterexample against the file beside it.
// SCHEDGEN_UPDATE=1 records.
func TestForeignBroken(t *testing.T) {
	for _, file := range foreignFiles(t, "broken") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			err := examineForeign(t, file)
			require.Error(t, err, "the schedule is not broken")
			var failure *verify.Failure
			require.ErrorAs(t, err, &failure)
			require.NotEmpty(t, failure.Ranks)
			compare(t, file+".want", []byte(err.Error()+"\n"))
		})
	}
}

// TestForeignBad holds what the reader says against the file beside it.
func TestForeignBad(t *testing.T) {
	for _, file := range foreignFiles(t, "bad") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := readForeign(t, file)
			var at *ir.ParseError
			require.ErrorAs(t, err, &at)
			require.Positive(t, at.Line)
			compare(t, file+".want", []byte(err.Error()+"\n"))
		})
	}
}

// Every schedule of ours, printed as GOAL under some losses, is proved again by
// what reads the files of others.
func TestGOALComesBack(t *testing.T) {
	losses := []emit.Loss{{}, {Rate: 1}, {Seed: 1, Rate: 0.3}, {Seed: 2, Rate: 0.7}}
	for _, e := range examples() {
		spec, err := schedule.New(e.algorithm, e.params)
		require.NoError(t, err)
		s := spec.Schedule()
		for _, lost := range losses {
			var out bytes.Buffer
			require.NoError(t, emit.Write(&out, "goal", s, emit.Options{Size: 10, Lost: lost}))
			g, err := goal.Parse(&out)
			require.NoError(t, err, "%s %v", e.path("text"), lost)
			claim := verify.Claim{Collective: "bcast", Root: s.Root}
			if s.Collective == "barrier" {
				claim = verify.Claim{Collective: "barrier"}
			}
			report, err := verify.RunForeign(g, claim)
			require.NoError(t, err)
			require.NoError(t, report.Err(), "%s %v", e.path("text"), lost)
		}
	}
}

// Every broadcast of puts alone, printed for MSCCL, is proved again: there the
// chunks are followed from cell to cell.
func TestMSCCLComesBack(t *testing.T) {
	came := 0
	for _, e := range examples() {
		spec, err := schedule.New(e.algorithm, e.params)
		require.NoError(t, err)
		s := spec.Schedule()
		var out bytes.Buffer
		err = emit.Write(&out, "msccl", s, emit.Options{})
		if unfit := new(emit.Unfit); errors.As(err, &unfit) {
			continue
		}
		require.NoError(t, err)
		g, err := msccl.Parse(&out)
		require.NoError(t, err, e.path("text"))
		report, err := verify.RunForeign(g, verify.Claim{Collective: "bcast", Root: s.Root})
		require.NoError(t, err)
		require.NoError(t, report.Err(), e.path("text"))
		for _, res := range report.Results {
			require.Empty(t, res.Note, "the root has its message too")
		}
		came++
	}
	require.Greater(t, came, 40)
}
