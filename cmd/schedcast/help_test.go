package main

import (
	"bytes"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/command/complete"
	"github.com/schedgen/schedgen/internal/command/manpage"
)

// shown returns the command and the verbs that the help shows.
func shown() []*verb {
	root := commandLine()
	all := []*verb{root}
	for _, v := range root.verbs {
		if !v.Hidden {
			all = append(all, v)
		}
	}
	return all
}

// words returns the words that call a verb, after the program.
func (v *verb) words() []string { return strings.Fields(v.Path())[1:] }

// No line of help is longer than the terminal is wide.
func TestHelpFitsTheTerminal(t *testing.T) {
	for _, width := range []int{80, 120} {
		columns := func(name string) string { return map[string]string{"COLUMNS": strconv.Itoa(width)}[name] }
		for _, v := range shown() {
			for _, flag := range []string{"--help", "-h", "--help-all"} {
				code, help, stderr := runHere(append(v.words(), flag), nil, columns)
				require.Zero(t, code, stderr)
				require.Contains(t, help, "Usage: "+v.Path())
				for line := range strings.Lines(help) {
					require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, "%v: %s", v.Path(), line)
				}
			}
		}
	}
}

// The help shows the flags that most users need, and --help-all shows all.
func TestHelpShowsFlags(t *testing.T) {
	for _, v := range shown() {
		_, some, _ := invoke(t, append(v.words(), "--help")...)
		_, all, _ := invoke(t, append(v.words(), "--help-all")...)
		for _, f := range v.Flags {
			require.Contains(t, all, " --"+f.Name, v.Path())
			require.Equal(t, !f.Expert, regexp.MustCompile(`(?m)^  (-., |    )--`+f.Name+`[= \n]`).MatchString(some), "%s --%s", v.Path(), f.Name)
			require.Regexp(t, `\.$`, f.Help, f.Name)
			require.Equal(t, f.Bool, f.Placeholder == "", f.Name)
		}
	}
	_, help, _ := invoke(t, "--help")
	_, none, _ := invoke(t)
	require.Equal(t, help, none)
	_, verb, _ := invoke(t, "help", "receive")
	_, flag, _ := invoke(t, "receive", "--help")
	require.Equal(t, flag, verb)
	_, verb, _ = invoke(t, "help", "--all", "receive")
	_, flag, _ = invoke(t, "receive", "--help-all")
	require.Equal(t, flag, verb)
}

// The help of every verb has examples, which the parser accepts.
func TestExamplesOfHelp(t *testing.T) {
	for _, v := range shown() {
		_, help, _ := invoke(t, append(v.words(), "--help-all")...)
		found := 0
		for line := range strings.Lines(strings.ReplaceAll(help, "\\\n", " ")) {
			line, indented := strings.CutPrefix(line, "    ")
			_, line, _ = strings.Cut(" "+line, " "+program+" ")
			if !indented || line == "" {
				continue
			}
			found++
			line, _, _ = strings.Cut(line, " | ")
			line, _, _ = strings.Cut(line, " > ")
			args := strings.Fields(strings.NewReplacer("'", "", `"$(`, "", `)".`, "").Replace(line))
			at := commandLine()
			if n := at.named(args[0]); n != nil {
				at, args = n, args[1:]
			}
			require.Equal(t, v.Path(), at.Path())
			if strings.Contains(line, "tar x") { // the command was in quotes
				continue
			}
			_, err := at.parse(args)
			require.NoError(t, err, line)
		}
		require.Positive(t, found, v.Path())
	}
}

// Errors begin with the flag that is wrong.
func TestFlagErrors(t *testing.T) {
	for line, want := range map[string]string{
		"f h --no-such":              "unknown flag --no-such (see schedcast --help)",
		"f h --key":                  "unknown flag --key; did you mean --key-file? (see schedcast --help)",
		"f h --from a:1":             "--from: is a flag of schedcast receive (see schedcast --help)",
		"f h -p 22":                  "-p: if it is an option of ssh, write --ssh 'ssh -p …' (see schedcast --help)",
		"f h -vp":                    "-p: if it is an option of ssh, write --ssh 'ssh -p …' (see schedcast --help)",
		"f h --to":                   "--to: a value is missing (see schedcast --help)",
		"f h --to --json":            `--to: "--json" looks like a flag; if it is the value, write --to=--json (see schedcast --help)`,
		"f h -w --json":              `--nodes: "--json" looks like a flag; if it is the value, write --nodes=--json (see schedcast --help)`,
		"f h --delete x":             `--delete: "x" is not a whole number (see schedcast --help)`,
		"f h --wait 5":               `--wait: "5" is not a time: it must be a number and a unit, such as 30s or 5m (see schedcast --help)`,
		"f h --limit 0B/s":           "--limit: a rate of 0 (see schedcast --help)",
		"f h --transport udp":        `--transport: must be one of auto, mcast, tcp, not "udp" (see schedcast --help)`,
		"f h --json=maybe":           `--json: "maybe" is neither true nor false (see schedcast --help)`,
		"receive --port 70000":       `--port: "70000" is not a port (see schedcast receive --help)`,
		"receive now":                "unexpected argument now (see schedcast receive --help)",
		"receive --to=x --serve":     "--serve: is a flag of schedcast (see schedcast receive --help)",
		"completion csh":             `"csh" is not a known shell; it must be one of bash, fish, zsh (see schedcast completion --help)`,
		"completion":                 "a shell is missing; it must be one of bash, fish, zsh",
		"help draw":                  `no verb "draw"`,
		"--to x":                     "a file, a directory or - is missing (see schedcast --help)",
		"f:x h --to y":               "f:x and --to: both name a directory",
		"f:x ./g h":                  "f:x: FILE:DIR is for a single file; name the directory by --to",
		"f:x --serve --expect 1":     "--to: needs hosts",
		"f h --interface no0 --to x": "",
	} {
		code, out, said := invoke(t, strings.Fields(line)...)
		require.Equal(t, 2, code, "%s: %s", line, out)
		if want != "" {
			require.Equal(t, program+": "+want+"\n", said, line)
		} else {
			require.Contains(t, said, "--interface=no0: no such interface; this host has ")
		}
	}
}

func TestVersion(t *testing.T) {
	code, out, _ := invoke(t, "--version", "--no-such")
	require.Zero(t, code)
	require.Regexp(t, `^schedcast .*go1\..*\n$`, out)
}

// A shell gets the flags, the verbs and the kinds of values that may follow.
func TestCompletes(t *testing.T) {
	for line, want := range map[string][]string{
		"":                    {"receive", "help", "completion", "man", ":files"},
		"r":                   {"receive", ":files"},
		"f --trans":           {"--transport"},
		"f --transport ":      {"auto", "mcast", "tcp"},
		"f --transport=m":     {"--transport=mcast"},
		"f -w x --compress o": {"on", "off"},
		"receive --to ":       {":directories"},
		"receive --expect":    {},
		"help ":               {"receive", "help", "completion", "man"},
		"completion ":         {"bash", "fish", "zsh"},
	} {
		code, out, said := invoke(t, append([]string{"complete", "--"}, strings.Split(line, " ")...)...)
		require.Zero(t, code, said)
		got := []string{}
		for l := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(l), "\t")
			got = append(got, word)
		}
		require.Equal(t, want, got, line)
	}
	for _, v := range shown() {
		for _, f := range append(v.Flags[:len(v.Flags):len(v.Flags)], v.Args...) {
			for kind := range strings.SplitSeq(f.Complete, ",") {
				require.True(t, kind == "" || kind == "file" || kind == "directory" || completions[kind] != nil, kind)
			}
		}
	}
	for _, shell := range complete.Shells() {
		code, out, said := invoke(t, "completion", shell)
		require.Zero(t, code, said)
		require.Contains(t, out, program)
	}
}

// The manual page has all verbs and flags, and its formatters report no errors.
func TestManPage(t *testing.T) {
	code, _, said := invoke(t, "man")
	require.Zero(t, code, said)
	var b strings.Builder
	info := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.time", Value: "2026-11-21T10:46:48Z"}}}
	require.NoError(t, manpage.Write(&b, &commandLine().Verb, manPage(commandLine(), info)))
	page := b.String()
	flat := strings.ReplaceAll(page, `\-`, "-")
	for _, v := range shown() {
		require.Contains(t, flat, v.Path())
		for _, f := range v.Flags {
			require.Contains(t, flat, `--`+f.Name+`\fR`, v.Path())
		}
	}
	require.NotContains(t, flat, "complete --")
	require.NotRegexp(t, regexp.MustCompile(`(?m)^\.SS "schedcast guest`), page)
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
	}
}

// FILE:DIR names a directory unless it is a file.
func TestFileAndDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	path, _ := fileOf(t, 16)
	require.NoError(t, exec.Command("cp", path, "a:b").Run())
	for name, want := range map[string][2]string{
		"a:b": {"a:b", ""}, "f:/data": {"f", "/data"}, "f:data": {"f", "data"}, "f": {"f", ""}, "f:": {"f:", ""}, ":d": {":d", ""}, "a:b:c": {"a:b", "c"}, "-:x": {"-", "x"},
	} {
		file, dir := parted(name)
		require.Equal(t, want, [2]string{file, dir}, name)
	}
	code, out, said := invoke(t, path+":there", "-w", "h[1-2]", "--call", "--dry-run")
	require.Equal(t, 2, code, out)
	require.Contains(t, said, "--call: receivers that stand have their own --to")
}
