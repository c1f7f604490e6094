package golden

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxFields is how many fields a struct may have: one that has more does several
// things, and none of its files says which of them it writes.
const maxFields = 20

// wide are the structs that have more, and how many.
var wide = map[string]int{}

// TestStructsAreNarrow counts the fields of every struct in the runtime and the
// command, tests apart.
func TestStructsAreNarrow(t *testing.T) {
	got := map[string]int{}
	for _, dir := range []string{"runtime", "cmd"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			return countFields(path, got)
		}))
	}
	for name, n := range got {
		if n <= maxFields {
			delete(got, name)
		}
	}
	require.Equal(t, wide, got)
}

// countFields adds to counts the structs that the file declares by name.
func countFields(path string, counts map[string]int) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("count fields: %w", err)
	}
	dir := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), ".."+string(filepath.Separator)))
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok {
			counts[dir+"."+spec.Name.Name] = s.Fields.NumFields()
		}
		return true
	})
	return nil
}

// narrow is a struct to be counted: its own names, and none of those within.
type narrow struct {
	a, b     int
	narrower struct{ c int }
	_, _     [2]int
}

func TestFieldsAreCounted(t *testing.T) {
	counts := map[string]int{}
	require.NoError(t, countFields("fields_test.go", counts))
	require.Equal(t, map[string]int{"..narrow": 5}, counts)
	require.Error(t, countFields("no such file", counts))
	n := narrow{}
	require.Zero(t, n.a+n.b+n.narrower.c)
}
