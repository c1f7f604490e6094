package buildtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// one is a set of tests that consists of one function.
type one func()

func (f one) Run() int { f(); return 3 }

func TestEachProgramIsBuiltOnce(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module hello\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { println(\"hello\") }\n"), 0o644))
	t.Chdir(dir)
	var path string
	require.Equal(t, 3, Main(one(func() {
		path = Program(t, ".")
		require.Equal(t, filepath.Base(dir), filepath.Base(path))
		first, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, path, Program(t, "."))
		again, err := os.Stat(path)
		require.NoError(t, err)
		require.True(t, os.SameFile(first, again))
		require.NotEqual(t, path, Program(t, ".", "-ldflags=-s -w"), "other flags make another program")
	})))
	require.NoFileExists(t, path)
}

func TestProgramThatDoesNotBuild(t *testing.T) {
	_, err := build(t.TempDir(), "./missing", nil)
	require.ErrorContains(t, err, "exit status 1: ")
	require.ErrorContains(t, err, "directory not found")
}
