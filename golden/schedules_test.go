package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/engine"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// example is one schedule with goldens in some formats, at testdata/<algorithm>/<stem>.<extension>.
type example struct {
	algorithm string
	params    schedule.Params
	formats   []string
}

// allFormats returns the names of all formats that have one file, and their files' extensions.
// TestChakraComesBack compares traces of Chakra with GOAL.
func allFormats() (names []string, extensions map[string]string) {
	extensions = make(map[string]string)
	for _, f := range emit.Formats() {
		if f.Write == nil {
			continue
		}
		names = append(names, f.Name)
		extensions[f.Name] = f.Extension
	}
	return names, extensions
}

// examples lists every algorithm at sizes that are a power of two, one more and neither, with every
// kind of parameter, flat and on hosts.
func examples() []example {
	var all []example
	everything, _ := allFormats()
	for _, alg := range schedule.Algorithms() {
		for _, ranks := range []int{1, 2, 5, 8, 9} {
			formats := []string{"text"}
			if ranks == 5 {
				formats = everything
			}
			all = append(all, example{alg.Name, schedule.Params{Ranks: ranks}, formats})
		}
		for _, p := range particular(&alg) {
			all = append(all, example{alg.Name, p, []string{"text"}})
		}
	}
	return all
}

// particular returns parameters besides the defaults, out of the parameters that the algorithm
// takes.
func particular(alg *schedule.Algorithm) []schedule.Params {
	takes := func(name string) bool { return slices.Contains(alg.Params, name) }
	var all []schedule.Params
	switch {
	case alg.Row().Origin:
		return []schedule.Params{{Ranks: 8, Root: 2}, {Ranks: 8, Root: 7}, {Ranks: 9, Root: 5}, {Ranks: 12, Root: 9}}
	case takes("degree"):
		all = []schedule.Params{
			{Ranks: 8, Degree: 2},
			{Ranks: 9, Degree: 3},
			{Ranks: 11, Degree: 3},
			{Ranks: 5, Degree: 7},
			{Ranks: 9, Degree: 2, Hosts: 4},
		}
	case takes("fan-in"):
		all = []schedule.Params{
			{Ranks: 7, FanIn: 3, FanOut: 3},
			{Ranks: 9, FanIn: 2, FanOut: 4},
			{Ranks: 5, FanIn: 1, FanOut: 8},
			{Ranks: 9, FanIn: 2, FanOut: 2, Hosts: 4},
		}
	default:
		all = []schedule.Params{
			{Ranks: 8, Root: 3, Chunks: 2},
			{Ranks: 9, Root: 8, Chunks: 3},
			{Ranks: 8, Root: 4, Hosts: 3},
			{Ranks: 9, Root: 1, Chunks: 2, Hosts: 2},
		}
	}
	return taken(alg, append(all, schedule.Params{Ranks: 5, Hosts: 1}))
}

// taken removes what the algorithm does not take: roots, and parameters with hosts.
func taken(alg *schedule.Algorithm, all []schedule.Params) []schedule.Params {
	if !slices.Contains(alg.Params, "hosts") {
		all = slices.DeleteFunc(all, func(p schedule.Params) bool { return p.Hosts > 0 })
	}
	if !slices.Contains(alg.Params, "root") {
		for i := range all {
			all[i].Root = 0
		}
	}
	return all
}

// path returns the path of the golden of one format.
func (e example) path(format string) string {
	stem := fmt.Sprintf("p%d", e.params.Ranks)
	for _, part := range []struct {
		name  string
		value int
	}{
		{"root", e.params.Root}, {"chunks", e.params.Chunks}, {"degree", e.params.Degree},
		{"in", e.params.FanIn}, {"out", e.params.FanOut}, {"hosts", e.params.Hosts},
	} {
		if part.value != 0 {
			stem += fmt.Sprintf("-%s%d", part.name, part.value)
		}
	}
	_, extensions := allFormats()
	return filepath.Join("testdata", filepath.FromSlash(e.algorithm), stem+"."+extensions[format])
}

// TestSchedules compares every example with its goldens. A schedule that does not verify is neither
// compared nor recorded.
func TestSchedules(t *testing.T) {
	for _, e := range examples() {
		t.Run(e.path("text"), func(t *testing.T) {
			spec, err := schedule.New(e.algorithm, e.params)
			require.NoError(t, err)
			s := spec.Schedule()
			report, err := verify.Run(s)
			require.NoError(t, err)
			require.NoError(t, report.Err())
			for _, format := range e.formats {
				e.compare(t, format, s, report.Terms)
			}
			requireReadsBack(t, e, s)
		})
	}
}

// refused ends the name of a golden that has the reason why its format cannot express the schedule.
const refused = ".refused"

// compare compares the schedule in one format, or the reason why there is none, with its golden.
func (e example) compare(t *testing.T, format string, s *ir.Schedule, terms verify.Terms) {
	t.Helper()
	var out bytes.Buffer
	err := emit.Write(&out, format, s, emit.Options{
		Proved: true, RankOrder: terms.RankOrder, Position: terms.Position, InPlace: terms.InPlace,
	})
	path, other := e.path(format), e.path(format)+refused
	if unfit := new(emit.Unfit); errors.As(err, &unfit) {
		path, other = other, path
		out.Reset()
		out.WriteString(err.Error() + "\n")
	} else {
		require.NoError(t, err)
	}
	text := out.Bytes()
	// the same text in all files of format c
	for _, common := range []string{engine.Interpreter, engine.MPI} {
		text = bytes.ReplaceAll(text, []byte(common), []byte("/* ... */\n"))
	}
	compare(t, path, text)
	require.NoFileExists(t, other)
}

// requireReadsBack reads the goldens that have a reader.
func requireReadsBack(t *testing.T, e example, want *ir.Schedule) {
	t.Helper()
	for _, format := range e.formats {
		read := map[string]func(io.Reader) (*ir.Schedule, error){"text": ir.ParseText, "json": ir.ParseJSON}[format]
		if read == nil {
			continue
		}
		data, err := os.ReadFile(e.path(format))
		require.NoError(t, err)
		got, err := read(bytes.NewReader(data))
		require.NoError(t, err)
		require.Equal(t, want, got, e.path(format))
	}
}

// TestNoStrayGoldens finds files that belong to no example.
func TestNoStrayGoldens(t *testing.T) {
	known := make(map[string]bool)
	for _, e := range examples() {
		for _, format := range e.formats {
			require.False(t, known[e.path(format)], "two examples at %s", e.path(format))
			known[e.path(format)], known[e.path(format)+refused] = true, true
		}
	}
	for _, row := range ir.Collectives() {
		err := filepath.WalkDir(filepath.Join("testdata", row.Name), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasPrefix(d.Name(), ".") {
				require.True(t, known[path], "no example for %s", path)
			}
			return err
		})
		require.NoError(t, err)
	}
}
