package golden

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// public lists the packages that CHANGELOG.md promises to keep, by their paths below the module.
var public = []string{
	".", "local",
	"ir", "schedule", "schedule/build", "schedule/selection", "verify", "emit", "sim", "network", "synth",
	"runtime", "runtime/mem", "runtime/shm", "runtime/tcp", "runtime/mcast", "runtime/hybrid", "runtime/verbs",
	"runtime/wire", "runtime/machine", "runtime/status", "runtime/perfetto", "runtime/otel",
	"runtime/group", "runtime/membership", "runtime/membership/embedded", "runtime/membership/etcd", "runtime/membership/file",
	"cli",
}

// TestAPI compares what public packages export with api.txt, so that a change of the API is seen in
// a diff. Each of these packages has a sentence that begins with its name, and an example.
func TestAPI(t *testing.T) {
	var b strings.Builder
	for _, dir := range public {
		files := token.NewFileSet()
		var sources, tests []*ast.File
		names, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*.go"))
		require.NoError(t, err)
		for _, name := range names {
			f, err := parser.ParseFile(files, name, nil, parser.ParseComments)
			require.NoError(t, err)
			if strings.HasSuffix(name, "_test.go") {
				tests = append(tests, f)
			} else {
				sources = append(sources, f)
			}
		}
		p, err := doc.NewFromFiles(files, sources, module+"/"+dir)
		require.NoError(t, err, dir)
		require.True(t, strings.HasPrefix(p.Doc, "Package "+p.Name+" "), "%s: the documentation begins with %q", dir, firstLine(p.Doc))
		require.NotEmpty(t, doc.Examples(tests...), "%s has no example", dir)
		lines := exported(files, p)
		slices.Sort(lines)
		for _, line := range lines {
			fmt.Fprintf(&b, "%s: %s\n", dir, line)
		}
	}
	const file = "api.txt"
	if os.Getenv("SCHEDGEN_UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	require.Equal(t, string(want), b.String(), "the API has changed: SCHEDGEN_UPDATE=1 writes api.txt; CHANGELOG.md tells users")
}

// TestPublicPackagesExist finds names of packages that have moved.
func TestPublicPackagesExist(t *testing.T) {
	for _, dir := range public {
		info, err := fs.Stat(os.DirFS(".."), dir)
		require.NoError(t, err)
		require.True(t, info.IsDir())
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// exported returns a line for each exported name of a package, field and method.
func exported(files *token.FileSet, p *doc.Package) (lines []string) {
	text := func(n ast.Node) string {
		var b bytes.Buffer
		if err := printer.Fprint(&b, files, n); err != nil {
			return err.Error()
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	values := func(kind string, all []*doc.Value) {
		for _, v := range all {
			for _, spec := range v.Decl.Specs {
				s := spec.(*ast.ValueSpec)
				for _, name := range s.Names {
					if !name.IsExported() {
						continue
					}
					if s.Type != nil {
						add("%s %s %s", kind, name.Name, text(s.Type))
					} else {
						add("%s %s", kind, name.Name)
					}
				}
			}
		}
	}
	funcs := func(all []*doc.Func) {
		for _, f := range all {
			signature := strings.TrimPrefix(text(f.Decl.Type), "func")
			if f.Recv != "" {
				add("method (%s) %s%s", f.Recv, f.Name, signature)
			} else {
				add("func %s%s", f.Name, signature)
			}
		}
	}
	values("const", p.Consts)
	values("var", p.Vars)
	funcs(p.Funcs)
	for _, t := range p.Types {
		values("const", t.Consts)
		values("var", t.Vars)
		funcs(t.Funcs)
		funcs(t.Methods)
		for _, spec := range t.Decl.Specs {
			s := spec.(*ast.TypeSpec)
			name := s.Name.Name
			if s.TypeParams != nil {
				name += "[" + strings.Trim(text(s.TypeParams), "()[]") + "]"
			}
			if s.Assign.IsValid() {
				name += " ="
			}
			switch of := s.Type.(type) {
			case *ast.StructType:
				add("type %s struct", name)
				for _, f := range of.Fields.List {
					for _, n := range f.Names {
						if n.IsExported() {
							add("type %s struct, %s %s", s.Name.Name, n.Name, text(f.Type))
						}
					}
					if len(f.Names) == 0 {
						add("type %s struct, embeds %s", s.Name.Name, text(f.Type))
					}
				}
			case *ast.InterfaceType:
				add("type %s interface", name)
				for _, f := range of.Methods.List {
					for _, n := range f.Names {
						add("type %s interface, %s%s", s.Name.Name, n.Name, strings.TrimPrefix(text(f.Type), "func"))
					}
					if len(f.Names) == 0 {
						add("type %s interface, embeds %s", s.Name.Name, text(f.Type))
					}
				}
			default:
				add("type %s %s", name, text(s.Type))
			}
		}
	}
	return lines
}
