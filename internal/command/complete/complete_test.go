package complete

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/command/syntax"
)

// grammar returns a command line for tests of the rules of completion.
func grammar() *syntax.Verb {
	app := &syntax.Verb{Flags: []*syntax.Value{{Name: "help", Short: 'h', Bool: true}}}
	app.Verbs = []*syntax.Verb{
		{
			Name: "paint", Parent: app, Help: "Paint it.", Arguments: " <colour> [<coat>]",
			Args: []*syntax.Value{{Name: "colour", Complete: "colour,file"}, {Name: "coat", Enum: []string{"thin", "thick", ""}}},
			Flags: []*syntax.Value{
				{Name: "tool", Short: 't', Complete: "tool", Help: "What paints; a brush if none. More."}, {Name: "mix", Many: true, Complete: "colour"},
				{Name: "wet", Short: 'w', Bool: true}, {Name: "into", Complete: "directory"}, {Name: "secret", Bool: true, Hidden: true}, {Name: "tins"},
			},
		},
		{
			Name: "clean", Parent: app, Verbs: []*syntax.Verb{
				{Name: "brush"}, {Name: "floor", Hidden: true}, {Name: "walls", Args: []*syntax.Value{{Name: "names", Many: true, Complete: "args"}}},
			},
		},
	}
	for _, below := range app.Verbs[1].Verbs {
		below.Parent = app.Verbs[1]
	}
	return app
}

func next(t *testing.T, words ...string) string {
	t.Helper()
	fixed := func(texts ...string) Source {
		return func(Place) (words []Word) {
			for _, text := range texts {
				words = append(words, Word{Text: text})
			}
			return words
		}
	}
	a := Next(grammar(), words, map[string]Source{
		"colour": fixed("red", "rose", "blue"),
		"tool":   fixed("brush", "roller"),
		"args":   func(p Place) []Word { return []Word{{Text: p.Verb.Name + ":" + strings.Join(p.Args, "+")}} },
	})
	var out []string
	for _, w := range a.Words {
		out = append(out, w.Text)
	}
	if a.Files {
		out = append(out, "FILES")
	}
	if a.Directories {
		out = append(out, "DIRS")
	}
	return strings.Join(out, " ")
}

func TestNext(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"", "paint clean"},
		{"p", "paint"},
		{"x", ""},
		{"x ", ""},
		{"clean ", "brush walls"},
		{"clean brush ", ""},
		{"clean walls ", "walls:"},
		{"clean walls a b ", "walls:a+b"},
		{"paint ", "red rose blue FILES"},
		{"paint r", "red rose FILES"},
		{"paint red ", "thin thick "},
		{"paint red thin ", ""},
		{"paint -", "--help --tool --mix --wet --into --tins"},
		{"paint --t", "--tool --tins"},
		{"paint --tool ", "brush roller"},
		{"paint -t b", "brush"},
		{"paint -wt ", "brush roller"},
		{"paint -tw ", "red rose blue FILES"},
		{"paint --tool b r", "red rose FILES"},
		{"paint --tool=b r", "red rose FILES"},
		{"paint --wet r", "red rose FILES"},
		{"paint --tool=r", "--tool=roller"},
		{"paint --unknown=r", ""},
		{"paint --unknown r", "red rose FILES"},
		{"paint --mix red,r", "red,red red,rose"},
		{"paint --mix=red,blue,b", "--mix=red,blue,blue"},
		{"paint --into ", "DIRS"},
		{"paint --tins ", ""},
		{"paint -- ", "red rose blue FILES"},
		{"paint -- -", "FILES"},
		{"paint -- --wet ", "thin thick "},
		{"paint - ", "thin thick "},
	} {
		require.Equal(t, c.want, next(t, strings.Split(c.line, " ")...), "%q", c.line)
	}
	require.Equal(t, "paint clean", next(t))
}

// A command with verbs may take arguments itself.
func TestVerbOrArgument(t *testing.T) {
	app := &syntax.Verb{Verbs: []*syntax.Verb{{Name: "receive"}}, Args: []*syntax.Value{{Name: "what", Complete: "file"}, {Name: "host", Many: true}}}
	require.Equal(t, Answer{Words: []Word{{Text: "receive"}}, Files: true}, Next(app, []string{"r"}, nil))
	require.Equal(t, Answer{}, Next(app, []string{"file", "r"}, nil))
	require.Equal(t, Answer{}, Next(app, []string{"receive", "r"}, nil))
}

func TestBrief(t *testing.T) {
	require.Equal(t, "What paints", brief("What paints; a brush if none. More."))
	require.Equal(t, "Paint it", brief("Paint it."))
	require.Empty(t, brief(""))
}

// TestScripts checks that each shell can parse its script.
func TestScripts(t *testing.T) {
	require.Equal(t, []string{"bash", "fish", "zsh"}, Shells())
	for _, shell := range Shells() {
		var b strings.Builder
		require.NoError(t, WriteScript(&b, shell, "schedcast"))
		text := b.String()
		require.NotContains(t, text, "schedgen")
		require.Contains(t, text, "schedcast")
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		cmd := exec.Command(shell, "-n")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", shell, out)
		require.Empty(t, string(out), shell)
	}
	require.EqualError(t, WriteScript(io.Discard, "csh", "schedgen"), `no completion for "csh"; there is one for bash, fish, zsh`)
}
