package golden

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

// prefixDeclared writes a prefix before every name that the package of one file declares. So
// several such files can be one package. It looks only at names: if that is wrong, the result does
// not compile.
func prefixDeclared(b *bytes.Buffer, prefix string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", b.Bytes(), parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	declared, members := declaredBy(file), membersOf(file)
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && declared[id.Name] && !members[id] && id != file.Name {
			id.Name = prefix + id.Name
		}
		return true
	})
	b.Reset()
	return format.Node(b, files, file)
}

// declaredBy returns the names that a file declares in its package.
func declaredBy(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range s.Names {
						names[name.Name] = true
					}
				}
			}
		}
	}
	return names
}

// membersOf returns the identifiers that name fields and methods, or members of another package.
func membersOf(file *ast.File) map[*ast.Ident]bool {
	members := map[*ast.Ident]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			members[n.Sel] = true
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				members[id] = true
			}
		case *ast.FuncDecl:
			if n.Recv != nil {
				members[n.Name] = true
			}
		case *ast.StructType:
			for _, f := range n.Fields.List {
				for _, name := range f.Names {
					members[name] = true
				}
			}
		}
		return true
	})
	return members
}

func TestPrefixDeclared(t *testing.T) {
	b := bytes.NewBufferString(`package p

import "x"

const Ranks = 2

type role struct{ Ranks int }

func (r *role) set() role { return role{Ranks: Ranks + r.Ranks + x.Ranks} }

func set(of int) {}

var table, more = []role{{Ranks: Ranks}}, set
`)
	require.NoError(t, prefixDeclared(b, "a_"))
	require.Equal(t, `package p

import "x"

const a_Ranks = 2

type a_role struct{ Ranks int }

func (r *a_role) set() a_role { return a_role{Ranks: a_Ranks + r.Ranks + x.Ranks} }

func a_set(of int) {}

var a_table, a_more = []a_role{{Ranks: a_Ranks}}, a_set
`, b.String())
}
