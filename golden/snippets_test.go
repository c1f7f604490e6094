package golden

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// around is what the Go blocks of documents assume: imports and variables. A block that begins with
// a package clause, or a comment before one, is a whole file.
const around = `package snippets

import (
	"context"
	"io"
	"log/slog"
	"net/http"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/membership/embedded"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/status"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
)

var (
	ctx                                     context.Context
	comm                                    *schedgen.Comm
	cfg                                     schedgen.Config
	connect                                 = group.Config{}.Connect
	err                                     error
	file                                    io.Reader
	rank, size                              int
	msg                                     []byte
	params, all, mine, sums, energies, table []float64
	x, y, buf                               []float64
)

func _() {
%s
}
`

// Every Go block of every document compiles. Each statement may declare names again, because
// documents show alternatives. A "…" stands for nothing.
func TestGoBlocksOfDocumentsCompile(t *testing.T) {
	exports := exportsOf(t)
	blocks := 0
	require.NoError(t, filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir("..", file, d.Name())
		}
		if filepath.Ext(file) != ".md" {
			return nil
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotRegexp(t, indentedGo, string(text), "%s: Go stands between ```go and ```", file)
		for _, block := range goBlock.FindAllStringSubmatch(string(text), -1) {
			blocks++
			for _, err := range compile(exports, source(block[1])) {
				t.Errorf("%s: %v in\n%s", file, err, block[1])
			}
		}
		return nil
	}))
	require.GreaterOrEqual(t, blocks, 6)
}

func TestBlocksThatDoNotCompile(t *testing.T) {
	exports := exportsOf(t)
	require.Empty(t, compile(exports, source("c, err := comm.Dup(ctx)\nc, err := comm.Shrink(ctx)\nfor range 3 {\n\terr = c.Close()\n}\ncfg = schedgen.Config{…}\n")))
	for block, want := range map[string]string{
		"status.Handler(status.Of(comm))\n": "cannot use comm",
		"nothing()\n":                       "undefined: nothing",
		"err = \n":                          "expected",
		"package main\n\nfunc main() { nothing() }\n": "undefined: nothing",
	} {
		errs := compile(exports, source(block))
		require.NotEmpty(t, errs, "%q", block)
		require.ErrorContains(t, errs[0], want)
	}
}

var (
	goBlock    = regexp.MustCompile("(?m)^```go\n((?s:.*?))^```")
	indentedGo = regexp.MustCompile(`(?m)^    \S.*:= \w+\.\w+\(`)
)

// source returns a file with the block.
func source(block string) string {
	if regexp.MustCompile(`(?m)^package `).MatchString(block) {
		return block
	}
	var b strings.Builder
	open := 0
	for line := range strings.Lines(strings.ReplaceAll(block, "…", "")) {
		if line != "\n" && !strings.ContainsAny(line[:1], "\t }") {
			b.WriteString("{\n")
			open++
		}
		b.WriteString(line)
	}
	return fmt.Sprintf(around, b.String()+strings.Repeat("}\n", open))
}

// compile checks a file and returns its errors, except that nobody uses an import or a variable.
func compile(exports map[string]string, source string) (errs []error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "block.go", source, parser.SkipObjectResolution)
	if err != nil {
		return []error{err}
	}
	cfg := types.Config{
		Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }),
		Error: func(err error) {
			var e types.Error
			if !errors.As(err, &e) || !e.Soft {
				errs = append(errs, err)
			}
		},
	}
	_, _ = cfg.Check("snippets", files, []*ast.File{file}, nil) // Error gets all errors
	return errs
}

// exportsOf returns the files with what packages export, by path: of all that blocks import.
func exportsOf(t *testing.T) map[string]string {
	exports, err := listExports()
	require.NoError(t, err)
	return exports
}

var listExports = sync.OnceValues(func() (map[string]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "around.go", fmt.Sprintf(around, ""), parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}", "os", "os/signal", "log", "strings", "fmt", module + "/cli", module + "/schedule/build"}
	for _, i := range file.Imports {
		args = append(args, strings.Trim(i.Path.Value, `"`))
	}
	cmd := exec.Command("go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, &stderr)
	}
	exports := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = export
	}
	return exports, nil
})
