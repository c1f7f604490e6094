package main

import (
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// parserForTests returns the parser of the command line. It discards the output.
func parserForTests(t *testing.T) *kong.Kong {
	t.Helper()
	parser, err := newParser(newCLI(""), stdio{Out: io.Discard, Err: io.Discard}, func(int) {})
	require.NoError(t, err)
	return parser
}

// allVerbs returns all verbs that are not hidden, each as the words after schedgen. The first
// element, which is empty, stands for the command itself.
func allVerbs(t *testing.T) [][]string {
	t.Helper()
	all := [][]string{nil}
	var walk func(*kong.Node, []string)
	walk = func(n *kong.Node, path []string) {
		for _, child := range n.Children {
			if !child.Hidden {
				words := append(path[:len(path):len(path)], child.Name)
				all = append(all, words)
				walk(child, words)
			}
		}
	}
	walk(parserForTests(t).Model.Node, nil)
	require.Greater(t, len(all), 10)
	return all
}

// TestHelpFitsTheTerminal checks that no line of help is longer than the terminal is wide.
func TestHelpFitsTheTerminal(t *testing.T) {
	for _, width := range []int{80, 120} {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		for _, verb := range allVerbs(t) {
			code, help, stderr := invoke(t.Context(), nil, append(verb, "--help")...)
			require.Zero(t, code, stderr)
			for line := range strings.Lines(help) {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, "%v: %s", verb, line)
			}
		}
	}
}

// TestHelpVerb checks that "help VERB" prints what "VERB --help" prints.
func TestHelpVerb(t *testing.T) {
	for _, verb := range allVerbs(t) {
		_, want, _ := invoke(t.Context(), nil, append(verb, "--help")...)
		code, got, stderr := invoke(t.Context(), nil, append([]string{"help"}, verb...)...)
		require.Zero(t, code, stderr)
		require.Equal(t, want, got, verb)
	}
}

// column matches a line of text in columns that is not indented, so that kong would reflow it.
var column = regexp.MustCompile(`(?m)^\S.*\S  +\S`)

// TestHelpIsReflowedWell checks that text in columns is indented, so that it is not reflowed.
func TestHelpIsReflowedWell(t *testing.T) {
	require.Regexp(t, column, "bcast    a broadcast\n")
	_ = kong.Visit(parserForTests(t).Model, func(v kong.Visitable, next kong.Next) error {
		if node, ok := v.(*kong.Node); ok {
			require.NotRegexp(t, column, node.Detail, node.FullPath())
		}
		return next(nil)
	})
}

// TestExamplesOfHelp checks that the help of every verb has examples, and that the parser accepts
// them.
func TestExamplesOfHelp(t *testing.T) {
	parser := parserForTests(t)
	for _, node := range parser.Model.Leaves(true) {
		_, help, _ := invoke(t.Context(), nil, append(strings.Fields(node.FullPath())[1:], "--help")...)
		examples := examplesIn(help)
		require.NotEmpty(t, examples, node.FullPath())
		for _, words := range examples {
			ctx, err := parser.Parse(words[1:])
			require.NoError(t, err, words)
			require.Equal(t, node.FullPath(), ctx.Selected().FullPath(), "%v", words)
		}
	}
}

// examplesIn returns the words of the commands in a help text, without pipes and redirections.
func examplesIn(help string) [][]string {
	var out [][]string
	for line := range strings.Lines(strings.ReplaceAll(help, "\\\n", " ")) {
		line, indented := strings.CutPrefix(line, "    ")
		line = strings.TrimPrefix(line, "//go:generate ")
		if !indented || !strings.HasPrefix(line, "schedgen ") {
			continue
		}
		line, _, _ = strings.Cut(line, " | ")
		line, _, _ = strings.Cut(line, " > ")
		out = append(out, strings.Fields(line))
	}
	return out
}

// TestGrammar checks that the help of each verb is the same from the part of the command line that
// holds this verb alone as from the whole.
func TestGrammar(t *testing.T) {
	alone := 0
	verbs := [][]string{{"run", "bcast"}, {"rank", "allreduce"}, {"run", "anycast"}}
	for _, verb := range parserForTests(t).Model.Children {
		verbs = append(verbs, []string{verb.Name})
	}
	for _, verb := range verbs {
		args := append(slices.Clone(verb), "--help")
		if _, whole := grammar(args).(*cli); whole {
			continue
		}
		alone++
		var help [2]strings.Builder
		for i, g := range []any{newCLI(""), grammar(args)} {
			parser, err := newParser(g, stdio{Out: &help[i], Err: io.Discard}, func(int) {})
			require.NoError(t, err)
			_, _ = parser.Parse(args)
		}
		require.Contains(t, help[0].String(), "Usage: schedgen "+strings.Join(verb, " "))
		require.Equal(t, help[0].String(), help[1].String())
	}
	require.Equal(t, len(verbs)-3, alone, "all but help, man and complete")
}
