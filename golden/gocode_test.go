package golden

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// TestGeneratedCode builds the generated code of every algorithm into one
// program, which plays it against the machine that interprets the schedule, in
// random orders and with losses.
func TestGeneratedCode(t *testing.T) {
	schedules := generatedExamples(t)
	dir := goDir(t)
	var imports, list strings.Builder
	for i, s := range schedules {
		name := fmt.Sprintf("twin%d", i)
		writeTo(t, filepath.Join(dir, name, name+".go"), func(b *bytes.Buffer) error {
			return emit.Write(b, "go", s, emit.Options{Package: name})
		})
		writeTo(t, filepath.Join(dir, name+".txt"), func(b *bytes.Buffer) error { return ir.WriteText(b, s) })
		fmt.Fprintf(&imports, "\t%q\n", module+"/golden/"+filepath.Base(dir)+"/"+name)
		fmt.Fprintf(&list, "\t{%q, %s.Schedule()},\n", name, name)
	}
	writeTo(t, filepath.Join(dir, "twins.go"), func(b *bytes.Buffer) error {
		_, err := fmt.Fprintf(b, "package main\n\nimport (\n%s)\n\nvar twins = []twin{\n%s}\n", &imports, &list)
		return err
	})
	program, err := os.ReadFile("testdata/gocode/main.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), program, 0o644))
	out, err := exec.CommandContext(t.Context(), "go", "run", "./"+dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, fmt.Sprintf("%d twins\n", len(schedules)), string(out))
}

// goDir makes a directory in the module, which the go command and git pass
// over, and removes it after the test.
func goDir(t *testing.T) string {
	dir, err := os.MkdirTemp(".", "_generated-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func writeTo(t *testing.T, path string, write func(*bytes.Buffer) error) {
	var b bytes.Buffer
	require.NoError(t, write(&b))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// generatedExamples are schedules of every algorithm, with few and with many
// chunks, and some that no algorithm makes.
func generatedExamples(t *testing.T) []*ir.Schedule {
	var all []*ir.Schedule
	add := func(name string, p schedule.Params) {
		spec, err := schedule.New(name, p)
		require.NoError(t, err)
		all = append(all, spec.Schedule())
	}
	for _, alg := range schedule.Algorithms() {
		for _, ranks := range []int{1, 5, 17} {
			add(alg.Name, schedule.Params{Ranks: ranks})
		}
		for _, p := range particular(&alg) {
			add(alg.Name, p)
		}
		if alg.Collective == schedule.Bcast {
			add(alg.Name, schedule.Params{Ranks: 6, Root: 2, Chunks: 70})
		}
	}
	files, err := filepath.Glob("testdata/gocode/*.txt")
	require.NoError(t, err)
	more, err := filepath.Glob("../emit/testdata/*.txt")
	require.NoError(t, err)
	for _, file := range append(files, more...) {
		f, err := os.Open(file)
		require.NoError(t, err)
		s, err := ir.ParseText(f)
		require.NoError(t, err, file)
		require.NoError(t, f.Close())
		all = append(all, s)
	}
	return all
}
