package complete

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// grammar is a command line for tests of the rules of completion.
type grammar struct {
	Paint struct {
		Colour string   `arg:"" complete:"colour,file"`
		Coat   string   `arg:"" optional:"" enum:"thin,thick," default:""`
		Tool   string   `short:"t" complete:"tool" help:"What paints; a brush if none. More."`
		Mix    []string `complete:"colour"`
		Wet    bool     `short:"w"`
		Into   string   `complete:"directory"`
		Secret bool     `hidden:""`
		Tins   int
	} `cmd:"" help:"Paint it."`
	Clean struct {
		Brush struct{} `cmd:""`
		Floor struct{} `cmd:"" hidden:""`
		Walls struct {
			Names []string `arg:"" complete:"args"`
		} `cmd:""`
	} `cmd:""`
}

func next(t *testing.T, words ...string) string {
	t.Helper()
	parser, err := kong.New(new(grammar))
	require.NoError(t, err)
	fixed := func(texts ...string) Source {
		return func(Place) (words []Word) {
			for _, text := range texts {
				words = append(words, Word{Text: text})
			}
			return words
		}
	}
	a := Next(parser.Model, words, map[string]Source{
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

func TestBrief(t *testing.T) {
	require.Equal(t, "What paints", brief("What paints; a brush if none. More."))
	require.Equal(t, "Paint it", brief("Paint it."))
	require.Empty(t, brief(""))
}

// TestScripts checks that each shell can parse its script.
func TestScripts(t *testing.T) {
	require.Equal(t, []string{"bash", "fish", "zsh"}, Shells())
	for _, shell := range Shells() {
		text, err := Script(shell, "schedgen")
		require.NoError(t, err)
		require.NotEmpty(t, text)
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
	_, err := Script("csh", "schedgen")
	require.Error(t, err)
}
