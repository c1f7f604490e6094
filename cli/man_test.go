package cli

import (
	"bytes"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/command/manpage"
	"github.com/schedgen/schedgen/schedule"
)

// manSource returns the manual page of a binary that knows its revision.
func manSource(t *testing.T) string {
	t.Helper()
	info := &debug.BuildInfo{
		Main:     debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.time", Value: "2026-11-21T10:46:48Z"}},
	}
	var b bytes.Buffer
	require.NoError(t, manpage.Write(&b, command.Syntax(parserForTests(t).Model), schedgen.ManPage(info)))
	return b.String()
}

// TestManPageRendersWell checks that the formatters of manual pages report no errors, and that the
// page has all verbs, flags, algorithms, formats and papers.
func TestManPageRendersWell(t *testing.T) {
	page := manSource(t)
	for _, c := range []struct{ tool, args string }{{"groff", "-man -ww -Tutf8 -P-c"}, {"mandoc", "-T lint -W style"}} {
		if _, err := exec.LookPath(c.tool); err != nil {
			t.Logf("no %s here", c.tool)
			continue
		}
		cmd := exec.Command(c.tool, strings.Fields(c.args)...)
		cmd.Stdin = strings.NewReader(page)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, "%s: %s", c.tool, out)
		require.Empty(t, stderr.String(), c.tool)
		if c.tool == "groff" {
			manPageShows(t, plain(string(out)))
		}
	}
}

// plain removes overstruck characters.
func plain(text string) string {
	var b []rune
	for _, c := range text {
		if c == '\b' && len(b) > 0 {
			b = b[:len(b)-1]
			continue
		}
		b = append(b, c)
	}
	return string(b)
}

func manPageShows(t *testing.T, text string) {
	t.Helper()
	flags := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-., )?--([A-Za-z0-9-]+)\b`).FindAllStringSubmatch(text, -1) {
		flags[m[1]] = true
	}
	for _, leaf := range parserForTests(t).Model.Leaves(true) {
		require.Contains(t, text, "\n   "+leaf.FullPath()+"\n")
		for _, f := range leaf.Flags {
			require.True(t, f.Hidden || flags[f.Name], "%s --%s", leaf.FullPath(), f.Name)
		}
	}
	for _, a := range schedule.Algorithms() {
		require.Contains(t, text, "\n       "+a.Name+"\n")
	}
	for _, f := range emit.Formats() {
		require.Regexp(t, `(?m)^ +`+f.Name+` +\S`, text)
	}
	words := strings.Join(strings.Fields(text), " ")
	for _, p := range schedule.Papers() {
		require.Contains(t, words, p.Authors)
	}
	require.Contains(t, text, "\n           schedgen rank bcast -p 15 --rank 3 --coordinator 10.77.0.1:7777 \\\n")
	require.Contains(t, text, "2026-11-21")
	require.Contains(t, text, "schedgen v1.2.3")
	require.NotContains(t, text, "complete --")
}
