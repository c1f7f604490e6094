package golden

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/model/loggp"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/verify"
)

const (
	guide    = "../docs/algorithms.md"
	pictures = "../docs/pictures"
)

// pictured returns the parameters of an algorithm's picture. It has eight ranks, and parameters
// that show the shape if the defaults would give one step.
func pictured(algorithm string) schedule.Params {
	p := schedule.Params{Ranks: 8}
	switch algorithm {
	case "anycast/skip-ring", "anycast/circulant", "anycast/mcast-acktree": // an origin at which the two differ
		p.Root = 3
	case "barrier/hsb", "barrier/hsb-mcast":
		p.FanIn, p.FanOut = 2, 3
	case "barrier/exchange", "barrier/dissemination":
		p.Degree = 2
	}
	return p
}

// computed returns a proved schedule and its report.
func computed(t *testing.T, algorithm string, p schedule.Params) (*ir.Schedule, *verify.Report) {
	t.Helper()
	spec, err := schedule.New(algorithm, p)
	require.NoError(t, err)
	s := spec.Schedule()
	report, err := verify.Run(s)
	require.NoError(t, err)
	require.NoError(t, report.Err())
	return s, report
}

func pictureName(algorithm string) string {
	return strings.ReplaceAll(algorithm, "/", "-") + ".svg"
}

// TestPictures compares the pictures of the documentation with new drawings. It also finds pictures
// without an algorithm.
func TestPictures(t *testing.T) {
	known := map[string]bool{}
	for _, alg := range schedule.Algorithms() {
		s, _ := computed(t, alg.Name, pictured(alg.Name))
		var svg bytes.Buffer
		require.NoError(t, emit.Write(&svg, "svg", s, emit.Options{}))
		compare(t, filepath.Join(pictures, pictureName(alg.Name)), svg.Bytes())
		known[pictureName(alg.Name)] = true
	}
	files, err := os.ReadDir(pictures)
	require.NoError(t, err)
	for _, f := range files {
		require.True(t, known[f.Name()], "no algorithm has the picture %s", f.Name())
	}
}

var (
	facts = regexp.MustCompile(`(?s)<!-- facts (\S+) -->\n(.*?)<!-- end -->`)
	costs = regexp.MustCompile(`(?s)<!-- costs -->\n(.*?)<!-- end -->`)
)

// TestGuideTellsFacts compares the facts of each algorithm and the table of costs in the guide to
// the algorithms with the program. With SCHEDGEN_UPDATE=1 it writes them anew. Every algorithm has
// its section.
func TestGuideTellsFacts(t *testing.T) {
	text, err := os.ReadFile(guide)
	require.NoError(t, err)
	var told []string
	got := facts.ReplaceAllStringFunc(string(text), func(block string) string {
		name := facts.FindStringSubmatch(block)[1]
		told = append(told, name)
		return "<!-- facts " + name + " -->\n" + factsOf(t, name) + "<!-- end -->"
	})
	for i, alg := range schedule.Algorithms() {
		require.Less(t, i, len(told), "%s has no section for %s, with <!-- facts %[2]s --> and <!-- end -->", guide, alg.Name)
		require.Equal(t, alg.Name, told[i], "%s: section %d of the registry's order", guide, i+1)
	}
	require.Len(t, costs.FindAllString(got, -1), 1, "%s has no table of costs, with <!-- costs --> and <!-- end -->", guide)
	got = costs.ReplaceAllLiteralString(got, "<!-- costs -->\n"+tableOfCosts(t)+"<!-- end -->")
	compare(t, guide, []byte(got))
}

// The guide marks the algorithms that no built-in rule chooses.
func TestGuideTellsWhatRulesChoose(t *testing.T) {
	text, err := os.ReadFile(guide)
	require.NoError(t, err)
	chosen := make(map[string]bool)
	for _, rule := range selection.Builtin().List() {
		chosen[rule.Algorithm] = true
		if rule.Algorithm == selection.Modelled {
			for _, name := range selection.Candidates(rule.Collective) {
				chosen[name] = true
			}
		}
	}
	for _, section := range strings.Split(string(text), "\n### ") {
		if name, _, _ := strings.Cut(section, "\n"); strings.Contains(name, "/") {
			require.Equal(t, !chosen[name], strings.Contains(strings.ReplaceAll(section, "\n", " "), "*By name"), "%s: *By name* in the section on %s", guide, name)
		}
	}
}

// makespan returns the time of a schedule in the LogGP model in µs. The time of a barrier does not
// depend on bytes and appears once.
func makespan(t *testing.T, s *ir.Schedule, bytes int) string {
	t.Helper()
	if !s.HasMessage() && bytes > 1 {
		return ""
	}
	r, err := loggp.Run(s, loggp.Defaults(), bytes)
	require.NoError(t, err)
	return strconv.FormatFloat(float64(r.Makespan)/1000, 'f', -1, 64)
}

// factsOf returns the picture, the parameters and the messages of an algorithm.
func factsOf(t *testing.T, name string) string {
	t.Helper()
	alg := algorithmOf(t, name)
	return fmt.Sprintf("![%s](%s)\n\nParameters: `%s`. Messages: %s.\n",
		name, path.Join("pictures", pictureName(name)), strings.Join(alg.Params, "`, `"), alg.Messages)
}

// tableOfCosts has a row for each algorithm: its costs with default parameters, for few ranks and
// for many.
func tableOfCosts(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| | 8 ranks: rounds | messages | most | µs, 1 B | µs, 64 KiB | 64 ranks: rounds | messages | most | µs, 1 B | µs, 64 KiB |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, alg := range schedule.Algorithms() {
		fmt.Fprintf(&b, "| [`%s`](#%s) |", alg.Name, strings.ReplaceAll(alg.Name, "/", ""))
		for _, ranks := range []int{8, 64} {
			s, r := computed(t, alg.Name, schedule.Params{Ranks: ranks})
			fmt.Fprintf(&b, " %d | %d | %d | %s | %s |", r.Cost.Rounds, r.Cost.Messages, r.Cost.MaxOut, makespan(t, s, 1), makespan(t, s, 64<<10))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func algorithmOf(t *testing.T, name string) schedule.Algorithm {
	t.Helper()
	for _, alg := range schedule.Algorithms() {
		if alg.Name == name {
			return alg
		}
	}
	require.Fail(t, "no algorithm "+name)
	return schedule.Algorithm{}
}

// TestReadmeShowsEveryPicture compares the gallery of the README with the registry. It is a table
// of three columns, and each picture links to its explanation.
func TestReadmeShowsEveryPicture(t *testing.T) {
	const head = "|  |  |  |\n|--|--|--|\n"
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), head)
	require.True(t, found, "no gallery in the README")
	_, after, _ := strings.Cut(rest, "\n\n")
	var gallery strings.Builder
	gallery.WriteString(head)
	for row := range slices.Chunk(schedule.Algorithms(), 3) {
		gallery.WriteString("|")
		for i := range 3 {
			if i < len(row) {
				name := row[i].Name
				fmt.Fprintf(&gallery, " [![%s](%s)](docs/algorithms.md#%s) |", name, path.Join("docs/pictures", pictureName(name)), strings.ReplaceAll(name, "/", ""))
			} else {
				gallery.WriteString(" |")
			}
		}
		gallery.WriteString("\n")
	}
	compare(t, readme, []byte(before+gallery.String()+"\n"+after))
}
