package golden

import (
	"fmt"
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

// machineTime has the functions that read the machine's time or wait by it.
var machineTime = map[string][]string{
	"time":    {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
}

// machineTimers lists the functions of the timed folders that may use them. All others get a clock.Clock.
// A pattern is a package's path and the name of a function or method, as for path.Match.
var machineTimers = []struct{ in, reason string }{
	{"internal/clock.*",
		"System reads the machine's time"},
	{"internal/test/transporttest.*",
		"a suite's patience with a transport that hangs is the machine's time, whatever clock the transport has"},
	{"internal/test/membershiptest.*",
		"a suite's patience with a manager that hangs is the machine's time, whatever clock the manager has"},
	{"internal/test/etcdtest.*",
		"a process that is started takes its time from the machine"},
	{"internal/meet.receive", ofDescriptors},
	{"internal/meet.finish", ofDescriptors},
	{"internal/meet.prepare", ofDescriptors},
	{"internal/meet.quitInTime", ofDescriptors},
	{"internal/meet/internal/contact.Farewell", ofDescriptors},
	{"internal/meet/lobby.usher", ofDescriptors},
	{"internal/meet/lobby.dismiss", ofDescriptors},
	{"internal/meet/lobby.giveOut", ofDescriptors},
	{"internal/meet/lobby.send", ofDescriptors},
	{"internal/meet/lobby.Met", ofDescriptors},
	{"internal/meet/launch.answerOne", ofDescriptors},
}

// timed has the folders that get their time from a clock.Clock: the runtime, what it is made of, and
// the suites that test it.
var timed = []string{
	"runtime",
	"internal/board", "internal/clock", "internal/core", "internal/explore", "internal/meet",
	"internal/mpi", "internal/notice", "internal/simnet", "internal/survey", "internal/transport",
	"internal/test/etcdtest", "internal/test/membershiptest", "internal/test/transporttest",
}

const ofDescriptors = "package net, which waits for descriptors, compares their deadlines with the machine's time"

// reading is a mention of a function of machineTime.
type reading struct {
	in   string // package and function, as in machineTimers
	at   token.Position
	name string // "time.Now"
}

// readingsIn returns the file's mentions of functions of machineTime.
func readingsIn(files *token.FileSet, pkg string, file *ast.File) (found []reading) {
	names := map[string]string{} // from the name in the file to the path
	for _, spec := range file.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		if spec.Name != nil {
			names[spec.Name.Name] = p
		} else {
			names[p] = p
		}
	}
	for _, d := range file.Decls {
		in := pkg + "."
		if f, ok := d.(*ast.FuncDecl); ok {
			in += f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if ok && slices.Contains(machineTime[names[x.Name]], sel.Sel.Name) {
				found = append(found, reading{in, files.Position(sel.Pos()), names[x.Name] + "." + sel.Sel.Name})
			}
			return true
		})
	}
	return found
}

// TestTimeIsInjected looks at every file of the timed folders except tests. Code that waits or reads
// the time must use the clock that it has been given.
func TestTimeIsInjected(t *testing.T) {
	used := make([]bool, len(machineTimers))
	look := func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("look for the machine's time: %w", err)
		}
		pkg := strings.TrimPrefix(path.Dir(filepath.ToSlash(file)), "../")
		for _, r := range readingsIn(files, pkg, tree) {
			if i := entitled(r.in); i >= 0 {
				used[i] = true
				continue
			}
			t.Errorf("%v: %s: take the time from a clock.Clock that is given, or say in machineTimers why %s needs the machine's", r.at, r.name, r.in)
		}
		return nil
	}
	for _, root := range timed {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", filepath.FromSlash(root)), look))
	}
	for i, m := range machineTimers {
		require.True(t, used[i], "%s does not use the machine's time: it need not be in machineTimers", m.in)
	}
}

// entitled returns the index of the entry of machineTimers for a function. It returns -1 if there
// is none.
func entitled(in string) int {
	return slices.IndexFunc(machineTimers, func(m struct{ in, reason string }) bool {
		ok, err := path.Match(m.in, in)
		return ok && err == nil
	})
}

func TestReadingsAreFound(t *testing.T) {
	const source = `package p
import ("context"; "time"; other "time"; clock "example.org/time")
var start = time.Now()
func a(t T) { time.Sleep(3); t.Sleep(3); clock.Now(); f := other.Since; <-time.After(time.Second); _ = f }
func (T) b(ctx context.Context) { context.WithTimeout(ctx, 2*time.Minute); context.WithCancel(ctx); _ = time.Unix(1, 0) }`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	var found []string
	for _, r := range readingsIn(files, "runtime/p", file) {
		found = append(found, r.in+" "+r.name)
	}
	require.Equal(t, []string{
		"runtime/p. time.Now",
		"runtime/p.a time.Sleep", "runtime/p.a time.Since", "runtime/p.a time.After",
		"runtime/p.b context.WithTimeout",
	}, found)
}

func TestEntitled(t *testing.T) {
	for in, want := range map[string]string{
		"internal/clock.Now":                         "reads the machine's time",
		"internal/meet.receive":                      "descriptor",
		"internal/meet.receiver":                     "",
		"internal/transport/stream.hear":             "",
		"internal/test/transporttest.awaitAll":       "patience",
		"internal/test/transporttest/helper.patient": "",
	} {
		reason := ""
		if i := entitled(in); i >= 0 {
			reason = machineTimers[i].reason
		}
		if want == "" {
			require.Empty(t, reason, in)
		} else {
			require.Contains(t, reason, want, in)
		}
	}
}
