package debian

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatLddSays(t *testing.T) {
	files, err := parseLdd([]byte(`	linux-vdso.so.1 (0x00007fff)
	libibverbs.so.1 => /root/usr/lib/libibverbs.so.1 (0x00007f01)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f02)
	/lib64/ld-linux-x86-64.so.2 (0x00007f03)
`))
	require.NoError(t, err)
	require.Equal(t, []string{"/root/usr/lib/libibverbs.so.1", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"}, files)
	_, err = parseLdd([]byte("\tlibibverbs.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"))
	require.ErrorContains(t, err, "libibverbs.so.1 is not here")
	_, err = parseLdd([]byte("\tstatically linked\n"))
	require.ErrorContains(t, err, "statically linked")
}

func TestLibrariesOfPrograms(t *testing.T) {
	if _, err := exec.LookPath("ldd"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	script, empty := filepath.Join(dir, "script"), filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.WriteFile(empty, nil, 0o755))
	for _, file := range []string{script, empty} {
		got, err := Libraries(t.Context(), dir, file)
		require.NoError(t, err)
		require.Empty(t, got)
	}
	ls, err := exec.LookPath("ls")
	require.NoError(t, err)
	got, err := Libraries(t.Context(), dir, ls)
	require.NoError(t, err)
	bases := map[string]bool{}
	for _, file := range got {
		require.FileExists(t, file)
		bases[filepath.Base(file)] = true
	}
	require.True(t, bases["libc.so.6"], "%v", got)
	_, err = Libraries(t.Context(), dir, filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
