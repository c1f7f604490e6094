// Package commandtest tests what all commands of this module have.
package commandtest

import (
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/terminal"
)

// Parser returns the parser of the whole command line. It discards the output.
func Parser(t testing.TB, p *command.Program) *kong.Kong {
	t.Helper()
	parser, err := p.Parser(p.Verbs(nil), terminal.Stdio{Out: io.Discard, Err: io.Discard}, func(int) {})
	require.NoError(t, err)
	return parser
}

// Verbs returns all verbs that are not hidden, each as the words after the command. The first
// element, which is empty, stands for the command itself.
func Verbs(t testing.TB, p *command.Program) [][]string {
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
	walk(Parser(t, p).Model.Node, nil)
	require.Greater(t, len(all), 4)
	return all
}

// help returns what --help prints for a verb.
func help(t *testing.T, p *command.Program, verb []string) string {
	t.Helper()
	var out, errs strings.Builder
	code := p.Run(t.Context(), append(verb[:len(verb):len(verb)], "--help"), terminal.Stdio{Out: &out, Err: &errs, Getenv: os.Getenv})
	require.Zero(t, code, errs.String())
	return out.String()
}

// column matches a line of text in columns that is not indented, so that kong would reflow it.
var column = regexp.MustCompile(`(?m)^\S.*\S  +\S`)

// Help tests the help of all verbs of a command: no line is longer than the terminal is wide; text
// in columns is indented, so that it is not reflowed; the parser accepts all examples; and each verb
// has the same help in its part of the grammar as on the whole.
func Help(t *testing.T, p *command.Program) {
	require.Regexp(t, column, "bcast    a broadcast\n")
	_ = kong.Visit(Parser(t, p).Model, func(v kong.Visitable, next kong.Next) error {
		if node, ok := v.(*kong.Node); ok {
			require.NotRegexp(t, column, node.Detail, node.FullPath())
		}
		return next(nil)
	})
	for _, width := range []int{80, 120} {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		for _, verb := range Verbs(t, p) {
			for line := range strings.Lines(help(t, p, verb)) {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, "%v: %s", verb, line)
			}
		}
	}
	examples(t, p)
	parts(t, p)
}

// examples checks that the help of every verb has examples, and that the parser accepts them.
func examples(t *testing.T, p *command.Program) {
	parser := Parser(t, p)
	for _, node := range parser.Model.Leaves(true) {
		found := examplesIn(p.Name, help(t, p, strings.Fields(node.FullPath())[1:]))
		own := 0 // others run the verb by another verb
		for _, words := range found {
			ctx, err := parser.Parse(words[1:])
			require.NoError(t, err, words)
			if ctx.Selected().FullPath() == node.FullPath() {
				own++
			}
		}
		require.Positive(t, own, node.FullPath())
	}
}

// examplesIn returns the words of the commands in a help text, without pipes and redirections.
func examplesIn(name, help string) [][]string {
	var out [][]string
	for line := range strings.Lines(strings.ReplaceAll(help, "\\\n", " ")) {
		line, indented := strings.CutPrefix(line, "    ")
		line = strings.TrimPrefix(line, "//go:generate ")
		if !indented || !strings.HasPrefix(line, name+" ") {
			continue
		}
		line, _, _ = strings.Cut(line, " | ")
		line, _, _ = strings.Cut(line, " > ")
		out = append(out, strings.Fields(line))
	}
	return out
}

// parts checks that every verb has the same help in its part of the command line as on the whole.
func parts(t *testing.T, p *command.Program) {
	var whole strings.Builder
	parser, err := p.Parser(p.Verbs(nil), terminal.Stdio{Out: &whole, Err: io.Discard}, func(int) {})
	require.NoError(t, err)
	all := reflect.TypeOf(p.Verbs(nil))
	for _, verb := range Verbs(t, p)[1:] {
		whole.Reset()
		_, _ = parser.Parse(append(verb, "--help")) // help ends it
		grammar := p.Grammar(append(verb, "--help"))
		require.Equal(t, verb[0] == "help" || verb[0] == "man", reflect.TypeOf(grammar) == all, verb)
		require.Contains(t, whole.String(), "Usage: "+p.Name+" "+strings.Join(verb, " "))
		require.Equal(t, whole.String(), help(t, p, verb), verb)
	}
	for _, args := range [][]string{nil, {"no-such"}, {"--help"}, {"complete", "run"}} {
		require.Equal(t, all, reflect.TypeOf(p.Grammar(args)))
	}
}
