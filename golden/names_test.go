package golden

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

// compares lists the files that may compare the name of a collective, and the reasons. All others
// ask the row of the table (ir/collective.go), which every new collective has.
var compares = map[string]string{
	"ir/json_write.go":   "the forms before schedgen/4 know three collectives, and never another one",
	"cli/sim_machine.go": "--root-delay barrier is a word that the user types",
}

// TestNoNameCompared finds code that branches on the name of a collective: with == or !=, in a
// case, or by the prefix of an algorithm's name.
func TestNoNameCompared(t *testing.T) {
	found := make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		switch {
		case d.IsDir() && (d.Name() == "testdata" || name == "bench"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, pos := range comparedNames(file) {
			found[name] = true
			if compares[name] == "" {
				t.Errorf("%s:%d compares the name of a collective: ask its row, ir.Collective", name, set.Position(pos).Line)
			}
		}
		return nil
	})
	require.NoError(t, err)
	for name := range compares {
		require.True(t, found[name], "%s compares no names any more: take it off the list", name)
	}
}

// comparedNames returns the places in a file that compare names of collectives.
func comparedNames(file *ast.File) (at []token.Pos) {
	note := func(e ast.Expr) {
		if isCollectiveName(e) {
			at = append(at, e.Pos())
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				note(n.X)
				note(n.Y)
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				note(e)
			}
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "HasPrefix" || s.Sel.Name == "CutPrefix") && len(n.Args) == 2 {
				note(n.Args[1])
			}
		}
		return true
	})
	return at
}

// isCollectiveName reports whether e is the name of a collective, alone or at the beginning of an
// algorithm's name: "bcast", "bcast/", schedule.Bcast, schedule.Bcast + "/".
func isCollectiveName(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil || e.Kind != token.STRING {
			return false
		}
		_, ok := ir.CollectiveNamed(strings.TrimRight(text, "/ "))
		return ok
	case *ast.SelectorExpr:
		pkg, ok := e.X.(*ast.Ident)
		return ok && pkg.Name == "schedule" && isCollectiveConst(e.Sel.Name)
	case *ast.Ident:
		return isCollectiveConst(e.Name)
	case *ast.BinaryExpr:
		return e.Op == token.ADD && isCollectiveName(e.X)
	}
	return false
}

// isCollectiveConst reports whether ident is a constant of package schedule for a collective's
// name.
func isCollectiveConst(ident string) bool {
	_, ok := ir.CollectiveNamed(strings.ToLower(ident[:1]) + ident[1:])
	return ok && ident[:1] == strings.ToUpper(ident[:1])
}

func TestComparedNames(t *testing.T) {
	for code, want := range map[string]int{
		`a == "bcast"`:                             1,
		`schedule.Barrier != a`:                    1,
		`func() { switch a { case "gather": } }`:   1,
		`strings.HasPrefix(a, schedule.Bcast+"/")`: 1,
		`strings.HasPrefix(a, "bcast/")`:           1,
		`a.Name == "bcast/chain"`:                  0,
		`a == "broadcast"`:                         0,
		`f("bcast")`:                               0,
		`map[string]int{"bcast": 1}`:               0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a.go", fmt.Sprintf("package a\nvar b = %s\n", code), parser.SkipObjectResolution)
		require.NoError(t, err)
		require.Len(t, comparedNames(file), want, code)
	}
}
