package golden

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuiltinsAreNotHidden looks at the names of parameters, results, variables, constants, types
// and functions. A name that is also a builtin's has two meanings for a reader.
func TestBuiltinsAreNotHidden(t *testing.T) {
	var hidden []string
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("look for hidden builtins: %w", err)
		}
		for _, name := range hiddenBuiltins(file) {
			hidden = append(hidden, fmt.Sprintf("%v: %s", files.Position(name.Pos()), name.Name))
		}
		return nil
	}))
	require.Empty(t, hidden)
}

// hiddenBuiltins returns the names that the file declares and that are also names of builtins.
func hiddenBuiltins(file *ast.File) (hidden []*ast.Ident) {
	declare := func(names ...*ast.Ident) {
		for _, n := range names {
			if types.Universe.Lookup(n.Name) != nil {
				hidden = append(hidden, n)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil {
				declare(n.Name)
			}
		case *ast.FuncType:
			for _, list := range []*ast.FieldList{n.Params, n.Results} {
				if list == nil {
					continue
				}
				for _, field := range list.List {
					declare(field.Names...)
				}
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				declare(identsOf(n.Lhs...)...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				declare(identsOf(n.Key, n.Value)...)
			}
		case *ast.ValueSpec:
			declare(n.Names...)
		case *ast.TypeSpec:
			declare(n.Name)
		}
		return true
	})
	return hidden
}

func identsOf(exprs ...ast.Expr) (names []*ast.Ident) {
	for _, e := range exprs {
		if name, ok := e.(*ast.Ident); ok {
			names = append(names, name)
		}
	}
	return names
}

func TestHiddenBuiltinsAreFound(t *testing.T) {
	const source = `package p
type any int
func print(len int) (cap int) { for new := range 3 { max, ok := 1, 2; _, _ = max, ok }; var real = 1; return real }
func (any) close() {}`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	var names []string
	for _, n := range hiddenBuiltins(file) {
		names = append(names, n.Name)
	}
	require.Equal(t, []string{"any", "print", "len", "cap", "new", "max", "real"}, names)
}
