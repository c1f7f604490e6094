//go:build linux

package guests

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/lab/guests/internal/debian"
)

// unpacked returns an image with these files, which are scripts.
func unpacked(t *testing.T, names ...string) *debian.Image {
	root := t.TempDir()
	for _, name := range names {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte("#!"+name), 0o755))
	}
	return &debian.Image{Root: root, Modules: []string{filepath.Join(root, "bin/ip")}}
}

func TestWhatAGuestFinds(t *testing.T) {
	image := unpacked(t, "bin/busybox", "bin/ip", "usr/bin/rdma", "etc/libibverbs.d/rxe.driver",
		"usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so", "usr/lib/x86_64-linux-gnu/libibverbs/libsiw-rdmav34.so")
	command := filepath.Join(t.TempDir(), "command")
	require.NoError(t, os.WriteFile(command, []byte("#!command"), 0o755))
	o := &Verb{Guests: 2, Command: []string{command}}
	entries, err := initramfs(t.Context(), o, image)
	require.NoError(t, err)
	got := map[string]string{}
	for _, e := range entries {
		require.NotContains(t, got, e.Name, "twice")
		got[e.Name] = string(e.Body)
	}
	for name, want := range map[string]string{
		"bin/busybox": "#!bin/busybox", "sbin/ip": "#!bin/ip", "sbin/rdma": "#!usr/bin/rdma", "opt/modules/ip": "#!bin/ip",
		"opt/bin/command": "#!command", "etc/libibverbs.d/rxe.driver": "#!etc/libibverbs.d/rxe.driver",
		"usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so": "#!usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so",
		"etc/hosts": "127.0.0.1 localhost\n::1 localhost\n10.78.0.1 guest0\n10.78.0.2 guest1\n",
	} {
		require.Equal(t, want, got[name], name)
	}
	require.NotEmpty(t, got["init"])
	require.NotContains(t, got, "usr/lib/x86_64-linux-gnu/libibverbs/libsiw-rdmav34.so", "other adapters have no use here")
	tree := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(tree, "below"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(tree, "below", "plugin"), []byte("#!plugin"), 0o644))
	require.NoError(t, os.Symlink("below/plugin", filepath.Join(tree, "link")))
	o.Add = []string{tree}
	require.NoError(t, o.checkPrograms())
	entries, err = initramfs(t.Context(), o, image)
	require.NoError(t, err)
	for _, e := range entries {
		got[e.Name] = string(e.Body)
	}
	for _, name := range []string{"below/plugin", "link"} {
		require.Equal(t, "#!plugin", got[filepath.Join(tree, name)[1:]], "a directory keeps its path, and a link is its file")
	}
	o.Add = []string{"internal"}
	require.NoError(t, os.Mkdir(filepath.Join(tree, "internal"), 0o755))
	t.Chdir(tree)
	require.EqualError(t, o.checkPrograms(), "--add=internal: a directory keeps its path in guests, so it must be absolute")
	o.Add = nil
	o.Command = []string{"/no/such/command"}
	_, err = initramfs(t.Context(), o, image)
	require.ErrorContains(t, err, "/no/such/command")
}

func TestPackagesThatLackSomething(t *testing.T) {
	o := &Verb{Guests: 1, Command: []string{"sh"}}
	_, err := initramfs(t.Context(), o, unpacked(t, "bin/busybox", "bin/ip", "bin/rdma", "etc/libibverbs.d/rxe.driver"))
	require.ErrorContains(t, err, "the packages have no usr/lib/x86_64-linux-gnu/libibverbs/librxe")
	_, err = initramfs(t.Context(), o, unpacked(t, "bin/ip", "bin/rdma"))
	require.ErrorContains(t, err, "busybox")
}

func TestWhereLibrariesAre(t *testing.T) {
	require.Equal(t, "/lib/libc.so.6", libraryPath("/usr/lib/x86_64-linux-gnu/libc.so.6"))
	require.Equal(t, "/lib64/ld-linux-x86-64.so.2", libraryPath("/lib64/ld-linux-x86-64.so.2"))
}
