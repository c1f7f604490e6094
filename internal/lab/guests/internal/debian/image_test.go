package debian

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// clients puts programs into PATH that behave like the package client, with two packages: tools and
// a kernel. They record each call in the returned file. A fault is a line of shell that apt-get
// runs first.
func clients(t *testing.T, fault string) (calls string) {
	dir, content := t.TempDir(), t.TempDir()
	calls = filepath.Join(dir, "calls")
	put := func(file string, mode os.FileMode, text []byte) {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, text, mode))
	}
	note := "#!/bin/sh\necho ${0##*/} >>" + calls + "\n"
	put(filepath.Join(dir, "apt-cache"), 0o755, []byte(note+`
for p; do case $p in depends | --*) ;; *) echo $p;; esac; done
case $* in *linux-image*) printf 'linux-image-amd64\n  Depends: linux-image-6\nlinux-image-6\n';; esac
`))
	put(filepath.Join(dir, "apt-get"), 0o755, []byte(note+fault+`
shift 4
for p; do echo $p >$p.deb; done
`))
	put(filepath.Join(dir, "dpkg-deb"), 0o755, []byte(note+`
mkdir -p $3
case $(cat $2) in
linux-image-6) cp -r `+content+`/kernel/. $3;;
iproute2) cp -r `+content+`/tools/. $3;;
esac
`))
	put(filepath.Join(content, "tools/bin/ip"), 0o755, []byte("ip"))
	require.NoError(t, os.Mkdir(filepath.Join(content, "tools/sbin"), 0o755))
	require.NoError(t, os.Symlink("/bin/ip", filepath.Join(content, "tools/sbin/ip")))
	put(filepath.Join(content, "kernel/boot/vmlinuz-6"), 0o644, bootable(t, []byte("the kernel")))
	tree := filepath.Join(content, "kernel/usr/lib/modules/6")
	var inside []string
	for _, m := range modules {
		if m != "rdma_rxe" {
			inside = append(inside, "kernel/"+m+".ko\n")
		}
	}
	put(filepath.Join(tree, "modules.builtin"), 0o644, []byte(strings.Join(inside, "")))
	put(filepath.Join(tree, "kernel/rdma_rxe.ko"), 0o644, object(t, ".modinfo", "depends=ib-core"))
	put(filepath.Join(tree, "kernel/ib_core.ko"), 0o644, object(t, ".modinfo", "depends="))
	put(filepath.Join(tree, "kernel/other.ko"), 0o644, object(t, ".modinfo", "depends=none"))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return calls
}

func quiet(string) {}

func TestImageIsMadeOnce(t *testing.T) {
	calls, cache := clients(t, ""), filepath.Join(t.TempDir(), "below", "cache")
	said := 0
	errs := make(chan error)
	for range 2 { // at once
		go func() {
			_, err := Open(t.Context(), cache, "linux-image-amd64", quiet)
			errs <- err
		}()
	}
	require.NoError(t, errors.Join(<-errs, <-errs))
	noted, err := os.ReadFile(calls)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(noted), "apt-get"), "once for programs, once for the kernel")
	image, err := Open(t.Context(), cache, "linux-image-amd64", func(string) { said++ })
	require.NoError(t, err)
	require.Zero(t, said)
	again, err := os.ReadFile(calls)
	require.NoError(t, err)
	require.Equal(t, string(noted), string(again))
	kernel, err := os.ReadFile(image.Kernel)
	require.NoError(t, err)
	require.Equal(t, "the kernel", string(kernel))
	require.Len(t, image.Modules, 2)
	require.Equal(t, "00-ib_core.ko", filepath.Base(image.Modules[0]))
	require.Equal(t, "01-rdma_rxe.ko", filepath.Base(image.Modules[1]))
	ip, err := image.Program("ip")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(image.Root, "bin/ip"), ip)
	_, err = image.Program("rdma")
	require.ErrorContains(t, err, "0 files fit bin/rdma")
}

// TestFailureLeavesNoImage checks that a failure reports the client's output, and leaves nothing
// that the next start could take for an image.
func TestFailureLeavesNoImage(t *testing.T) {
	cache := t.TempDir()
	clients(t, "echo E: Unable to locate package >&2; exit 100")
	_, err := Open(t.Context(), cache, "linux-image-amd64", quiet)
	require.ErrorContains(t, err, "apt-get download")
	require.ErrorContains(t, err, "Unable to locate package")
	require.ErrorContains(t, err, "apt-get update")
	left, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, "lock", left[0].Name())
	clients(t, "")
	_, err = Open(t.Context(), cache, "linux-image-amd64", quiet)
	require.NoError(t, err)
}

func TestKernelThatIsNone(t *testing.T) {
	clients(t, "")
	_, err := Open(t.Context(), t.TempDir(), "hello", quiet)
	require.ErrorContains(t, err, "0 files fit boot/vmlinuz-*")
}

func TestNoPackageClient(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Open(t.Context(), t.TempDir(), "linux-image-amd64", quiet)
	require.ErrorContains(t, err, "apt-cache")
}

// TestWaitingForTheLockEnds checks that a process can be stopped while it waits for another one
// that makes the image.
func TestWaitingForTheLockEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), file)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = lock(ctx, file)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, unlock())
	unlock, err = lock(t.Context(), filepath.Join(t.TempDir(), "lock"))
	require.NoError(t, err)
	require.NoError(t, unlock())
}
