package pack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/cast/block"
)

// TestLacking checks that Lacking counts the files and bytes that a host lacks.
func TestLacking(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"a": 10, "b": 2*block.Len + 5, "c": 0, "e": 7} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600))
	}
	require.NoError(t, os.Link(filepath.Join(dir, "b"), filepath.Join(dir, "d")))
	o, err := New([]string{dir + "/"}, Options{HardLinks: true})
	require.NoError(t, err)
	set := new(block.Set)
	for _, lacked := range []bool{false, true, false, true, true} {
		set.Append(lacked)
	}
	got, err := o.Lacking(t.Context(), set)
	require.NoError(t, err)
	require.Equal(t, Lacking{Files: 2, Bytes: block.Len + 5 + 7, Names: []string{"b", "e"}}, got)
	got, err = o.Lacking(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, Lacking{Files: 3, Bytes: 2*block.Len + 22, Names: []string{"a", "b", "e"}}, got)
}
