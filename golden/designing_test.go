package golden

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDesigningFromOutside does what docs/designing.md says, as its reader would: it builds the
// program of the page in a module of its own and runs every command of the page. A command whose
// output the page shows must print it.
func TestDesigningFromOutside(t *testing.T) {
	t.Parallel() // it links a program
	page, err := os.ReadFile("../docs/designing.md")
	require.NoError(t, err)
	var program string
	for _, block := range goBlock.FindAllStringSubmatch(string(page), -1) {
		if strings.HasPrefix(block[1], "package main") {
			program = block[1]
		}
	}
	dir, home := t.TempDir(), module
	checkout, err := filepath.Abs("..")
	require.NoError(t, err)
	mod, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	required := regexp.MustCompile(`(?ms)^require \(.*`).FindString(string(mod)) // as go mod tidy finds, without a network
	sum, err := os.ReadFile("../go.sum")
	require.NoError(t, err)
	for name, text := range map[string]string{
		"main.go": program,
		"go.mod":  "module mine\n\ngo 1.26.0\n\nrequire " + home + " v0.0.0\n\nreplace " + home + " => " + checkout + "\n\n" + required,
		"go.sum":  string(sum),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	bin := filepath.Join(t.TempDir(), "mine")
	build := exec.Command("go", "build", "-mod=mod", "-ldflags=-s -w", "-o", bin, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	ran := 0
	for _, m := range regexp.MustCompile("(?m)^```sh\n((?s:.*?))^```\n(?:\n((?:    .*\n)+))?").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(m[1]) {
			args, ours := strings.CutPrefix(strings.TrimSpace(line), "go run . ")
			require.True(t, ours, "do not know how to try %q", line)
			run := exec.Command(bin, strings.Fields(args)...)
			run.Dir = dir
			out, err := run.CombinedOutput()
			if m[2] == "" {
				require.NoError(t, err, "%s: %s", args, out)
				continue
			}
			for shown := range strings.Lines(m[2]) {
				require.Contains(t, string(out), strings.TrimSpace(shown), "%s", args)
			}
		}
		ran++
	}
	require.GreaterOrEqual(t, ran, 5)
	require.FileExists(t, filepath.Join(dir, "trees.svg"))
	require.FileExists(t, filepath.Join(dir, "trees.html"))
	require.FileExists(t, filepath.Join(dir, "times.svg"))
}
