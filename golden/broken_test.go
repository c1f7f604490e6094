package golden

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// TestBroken compares the report of verify on every schedule in testdata/broken with the file
// beside it. The file has each check that fails, in one line. SCHEDGEN_UPDATE=1 records the
// reports.
func TestBroken(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "broken", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	refutedBy := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := ir.ParseText(bytes.NewReader(text))
			require.NoError(t, err)
			requireCanonical(t, s, text)

			report, err := verify.Run(s)
			require.NoError(t, err)
			require.Error(t, report.Err(), "the schedule is not broken")
			compare(t, strings.TrimSuffix(file, ".txt")+".want", []byte(report.Err().Error()+"\n"))
			for _, res := range report.Results {
				refutedBy[res.Check] = refutedBy[res.Check] || res.Err != nil
			}
		})
	}
	for _, c := range verify.Checks() {
		require.True(t, refutedBy[c.Name], "no broken schedule is refuted by %s", c.Name)
	}
}

// TestGood checks that every schedule in testdata/good passes all checks. No algorithm of ours
// makes these schedules.
func TestGood(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "good", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := ir.ParseText(bytes.NewReader(text))
			require.NoError(t, err)
			requireCanonical(t, s, text)
			report, err := verify.Run(s)
			require.NoError(t, err)
			require.NoError(t, report.Err())
		})
	}
}

// requireCanonical compares the text with the text that ir writes, so that the file is broken only
// where it should be.
func requireCanonical(t *testing.T, s *ir.Schedule, text []byte) {
	t.Helper()
	var again bytes.Buffer
	require.NoError(t, ir.WriteText(&again, s))
	require.Equal(t, string(text), again.String())
}

// TestNoStrayWants finds failures without a schedule.
func TestNoStrayWants(t *testing.T) {
	wants, err := filepath.Glob(filepath.Join("testdata", "broken", "*.want"))
	require.NoError(t, err)
	for _, want := range wants {
		require.FileExists(t, strings.TrimSuffix(want, ".want")+".txt")
	}
}
