package golden

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// generators are the names that files of tests may use of packages that draw. All other names that
// these packages export draw something else in every run.
var generators = map[string][]string{
	"math/rand":    {"New", "NewSource", "NewZipf", "Rand", "Source"},
	"math/rand/v2": {"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source"},
	"crypto/rand":  {"Reader"}, // for identities
}

// drawsIn returns the mentions of names that draw something else in every run.
func drawsIn(files *token.FileSet, file *ast.File) (found []string) {
	names := map[string]string{} // from the name in the file to the path
	for _, spec := range file.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		if generators[p] == nil {
			continue
		}
		name := "rand"
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = p
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			x, ok := sel.X.(*ast.Ident)
			if ok && names[x.Name] != "" && !slices.Contains(generators[names[x.Name]], sel.Sel.Name) {
				found = append(found, files.Position(sel.Pos()).String()+": "+names[x.Name]+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return found
}

// Tests draw the same in every run. Package heavy sets the seed of package rapid, so the tests of a
// package that import rapid must import heavy.
func TestDrawsRepeat(t *testing.T) {
	rapid, heavy := map[string]bool{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir("..", file, d.Name())
		}
		dir := strings.TrimPrefix(path.Dir(filepath.ToSlash(file)), "../")
		suite, _ := path.Match("internal/test/*test", dir)
		if !strings.HasSuffix(file, "_test.go") && !(suite && strings.HasSuffix(file, ".go")) {
			return nil
		}
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, draw := range drawsIn(files, tree) {
			t.Errorf("%s draws something else in every run: use a generator with a seed, such as heavy.Seed", draw)
		}
		for _, spec := range tree.Imports {
			switch strings.Trim(spec.Path.Value, `"`) {
			case "pgregory.net/rapid":
				rapid[dir] = true
			case module + "/internal/test/heavy":
				heavy[dir] = true
			}
		}
		return nil
	}))
	require.NotEmpty(t, rapid)
	for dir := range rapid {
		require.True(t, heavy[dir], "%s: tests import rapid without internal/test/heavy, so they draw something else in every run", dir)
	}
}

func TestDrawsAreFound(t *testing.T) {
	const source = `package p
import ("crypto/rand"; mathrand "math/rand/v2")
func a() { mathrand.New(mathrand.NewPCG(1, 2)).IntN(3); mathrand.IntN(3); rand.Read(nil); _ = rand.Reader }`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	require.Equal(t, []string{"p.go:3:57: math/rand/v2.IntN", "p.go:3:75: crypto/rand.Read"}, drawsIn(files, file))
}
