package golden

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/internal/test/buildtest"
	"github.com/schedgen/schedgen/ir"
)

// counterexamples opens the pages that the command writes for schedules that do not verify. The
// page explains the failure step by step.
func counterexamples(b *browser) {
	bin := buildtest.Program(b.T, "../cmd/schedgen")
	for _, c := range []struct {
		file  string
		steps []string // text of the path, causes first
		ghost int      // number of steps that never happen
	}{
		{"early-release", []string{"round 1: rank 1 sets s0 of rank 0", "round 2: rank 0 sets s0 of rank 1"}, 0},
		{"wait-cycle", []string{
			"s0 of rank 0 waits for rank 3", "s0 of rank 3 waits for rank 2", "s0 of rank 2 waits for rank 1", "s0 of rank 1 waits for rank 0"}, 4},
		{"lost-with-the-multicast", []string{"no rank sets c0 of rank 0"}, 1},
		{"twice", []string{"round 2: rank 1 sets c0 of rank 3", "round 2: rank 2 sets c0 of rank 3"}, 0},
	} {
		b.openFile(bin, c.file)
		want, err := os.ReadFile(filepath.Join("testdata", "broken", c.file+".want"))
		require.NoError(b, err)
		first, _, _ := strings.Cut(string(want), "\n")
		require.False(b, ask[bool](b, "document.querySelector('#refuted').hidden"))
		require.Equal(b, first, b.text("#failure option")+": "+b.text("#why"))
		require.NotContains(b, b.text("#say"), b.text("#why"), "the counterexample is told once")
		require.Equal(b, c.steps, ask[[]string](b, "[...document.querySelectorAll('#path button')].map(x => x.textContent)"), c.file)
		require.Equal(b, c.ghost, ask[int](b, "document.querySelectorAll('#diagram .ghost').length"), c.file)
		require.Positive(b, ask[int](b, "document.querySelectorAll('#diagram .leg.path').length"), c.file)
		legend := b.text("#legend")
		require.Equal(b, c.ghost > 0, strings.Contains(legend, "never happens"), "%s: %s", c.file, legend)
		b.do(chromedp.Click("#path li:last-child button"))
		require.Contains(b, b.text("#say"), c.steps[len(c.steps)-1])
		b.keys("p")
		require.Contains(b, b.text("#say"), c.steps[0])
	}
	b.openFile(bin, "early-release")
	require.NotContains(b, b.dots(), fixpoint.Place{Rank: 3, Slot: ir.Enter}, "the rank that is not waited for stays away")
	b.openFile(bin, "lost-with-the-multicast")
	require.Equal(b, 3, ask[int](b, "document.querySelectorAll('#diagram .lost').length"), "all multicasts are lost")
	b.do(chromedp.Click("#restore"))
	require.Zero(b, ask[int](b, "document.querySelectorAll('#diagram .ghost').length"))
}

// openFile loads the page that the command writes for a broken schedule.
func (b *browser) openFile(bin, name string) {
	b.Helper()
	page := filepath.Join(b.TempDir(), "page.html")
	cmd := exec.Command(bin, "emit", filepath.Join("testdata", "broken", name+".txt"), "--format", "html", "-o", page)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(b, cmd.Run(), "%s", &stderr)
	b.visit(page)
}
