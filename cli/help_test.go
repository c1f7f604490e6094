package cli

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

	"github.com/schedgen/schedgen/internal/command"
)

// parserForTests returns the parser of the command line. It discards the output.
func parserForTests(t *testing.T) *kong.Kong {
	t.Helper()
	parser, err := schedgen.Parser(newCLI(""), command.Stdio{Out: io.Discard, Err: io.Discard}, func(int) {})
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

// TestHelpVerb checks that "help VERB" prints what "VERB --help" prints, for verbs at each depth.
func TestHelpVerb(t *testing.T) {
	for _, verb := range [][]string{nil, {"cast"}, {"run"}, {"run", "bcast"}, {"rank", "tune"}} {
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

// TestPartsOfTheGrammar checks that every verb has the same help in its part of the command line as
// on the whole.
func TestPartsOfTheGrammar(t *testing.T) {
	var help strings.Builder
	whole, err := schedgen.Parser(newCLI(""), command.Stdio{Out: &help, Err: io.Discard}, func(int) {})
	require.NoError(t, err)
	for _, verb := range allVerbs(t)[1:] {
		help.Reset()
		_, _ = whole.Parse(append(verb, "--help")) // help ends it
		_, all := schedgen.Grammar(append(verb, "--help")).(*cli)
		require.Equal(t, slices.Contains([]string{"help", "man"}, verb[0]), all, verb)
		code, part, stderr := invoke(t.Context(), nil, append(verb, "--help")...)
		require.Zero(t, code, stderr)
		require.Contains(t, part, "Usage: schedgen "+strings.Join(verb, " "))
		require.Equal(t, help.String(), part, verb)
	}
	for _, args := range [][]string{nil, {"no-such"}, {"--help"}, {"complete", "run"}} {
		require.IsType(t, new(cli), schedgen.Grammar(args))
	}
}
