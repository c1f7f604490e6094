package debian

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// programs are the packages of the programs that run in every guest.
var programs = []string{"busybox-static", "iproute2", "libibverbs1", "ibverbs-providers", "librdmacm1"}

// modules are the modules that a guest loads: for its devices, and for RDMA in software (rdma_rxe)
// with verbs and the connection manager. rdma_rxe needs crc32_generic, which its dependencies do
// not list.
var modules = []string{"virtio_pci", "virtio_net", "virtio_console", "crc32_generic", "rdma_rxe", "rdma_ucm"}

// Image holds the kernel and the files of guests, unpacked on the host.
type Image struct {
	Kernel  string   // the kernel as an ELF file
	Modules []string // files of modules, in an order in which they can be loaded
	Root    string   // directory that holds the files of programs, with their paths in the packages
}

// Open returns the image with the kernel of the package called kernel, such as linux-image-amd64,
// from the directory cache. If there is none yet, Open calls say and makes the image from packages
// that apt-get downloads.
func Open(ctx context.Context, cache, kernel string, say func(string)) (*Image, error) {
	dir := filepath.Join(cache, kernel+"-"+recipe())
	if err := ensure(ctx, dir, kernel, say); err != nil {
		return nil, fmt.Errorf("make what guests run from packages: %w", err)
	}
	loaded, err := filepath.Glob(filepath.Join(dir, "modules", "*"))
	if err != nil {
		return nil, err
	}
	return &Image{Kernel: filepath.Join(dir, "kernel"), Modules: loaded, Root: filepath.Join(dir, "root")}, nil
}

// recipe distinguishes the images of different versions of this program.
func recipe() string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Concat([]string{"1"}, programs, modules), " ")))
	return fmt.Sprintf("%x", sum[:4])
}

// ensure makes dir from packages if it does not exist, in one step. If several processes do so, one
// makes it and the others wait.
func ensure(ctx context.Context, dir, kernel string, say func(string)) (err error) {
	cache := filepath.Dir(dir)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Join(cache, "lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	say("download packages of Debian, once, into " + dir)
	work := filepath.Join(cache, "unfinished")
	if err := os.RemoveAll(work); err != nil { // left by a process that was killed
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	finished := filepath.Join(work, "finished")
	if err := fill(ctx, work, finished, kernel); err != nil {
		return err
	}
	return os.Rename(finished, dir)
}

// lock waits for the lock of a file, which only one process can hold, and returns the function that
// releases it.
func lock(ctx context.Context, file string) (unlock func() error, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	taken := make(chan error, 1)
	go func() { taken <- syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }()
	select {
	case err = <-taken:
	case <-ctx.Done():
		return nil, context.Cause(ctx) // the file stays open: the call has its number
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file, err), f.Close())
	}
	return f.Close, nil
}

// fill downloads and unpacks packages in work, and writes the files to keep to finished.
func fill(ctx context.Context, work, finished, kernel string) error {
	root, kernelRoot := filepath.Join(finished, "root"), filepath.Join(work, "kernel")
	if err := os.MkdirAll(filepath.Join(finished, "modules"), 0o755); err != nil {
		return err
	}
	if err := unpack(ctx, filepath.Join(work, "programs"), root, programs); err != nil {
		return err
	}
	if err := unpack(ctx, filepath.Join(work, "kernels"), kernelRoot, []string{kernel}); err != nil {
		return err
	}
	if err := keepKernel(ctx, kernelRoot, filepath.Join(finished, "kernel")); err != nil {
		return err
	}
	return keepModules(ctx, kernelRoot, filepath.Join(finished, "modules"))
}

// unpack downloads packages and their dependencies to the new directory work, and unpacks all of
// them below root.
func unpack(ctx context.Context, work, root string, packages []string) error {
	names, err := closure(ctx, packages)
	if err != nil {
		return err
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	// apt-get drops its rights to a user that may not write here.
	args := []string{"download", "-q", "-o", "APT::Sandbox::User="}
	if _, err := output(ctx, work, nil, "apt-get", append(args, names...)...); err != nil {
		return fmt.Errorf("%w (apt-get update renews what it knows of packages)", err)
	}
	files, err := filepath.Glob(filepath.Join(work, "*.deb"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if _, err := output(ctx, "", nil, "dpkg-deb", "-x", file, root); err != nil {
			return err
		}
	}
	return nil
}

// keepKernel writes the kernel that is unpacked below root to file.
func keepKernel(ctx context.Context, root, file string) error {
	name, err := only(root, "boot/vmlinuz-*")
	if err != nil {
		return err
	}
	image, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	kernel, err := vmlinux(ctx, image)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(file, kernel, 0o644)
}

// keepModules writes the modules of a guest to dir. Their names sort in the order in which they are
// loaded.
func keepModules(ctx context.Context, root, dir string) error {
	tree, err := only(root, "lib/modules/*", "usr/lib/modules/*")
	if err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(tree, "modules.builtin"))
	if err != nil {
		return err
	}
	files, err := moduleFiles(tree)
	if err != nil {
		return err
	}
	l := loader{files: files, inside: builtin(list), read: func(file string) ([]byte, error) { return readModule(ctx, file) }}
	order, err := l.load(modules)
	if err != nil {
		return err
	}
	for i, m := range order {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d-%s.ko", i, m.name)), m.object, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Program returns the file of the program called name.
func (i *Image) Program(name string) (string, error) {
	return only(i.Root, "bin/"+name, "sbin/"+name, "usr/bin/"+name, "usr/sbin/"+name)
}

// only returns the only file below root that matches one of the patterns. There are several
// patterns because paths differ between releases. Links do not count.
func only(root string, patterns ...string) (string, error) {
	var found []string
	for _, p := range patterns {
		files, err := filepath.Glob(filepath.Join(root, p))
		if err != nil {
			return "", err
		}
		for _, f := range files {
			if info, err := os.Lstat(f); err != nil || info.Mode().Type() != fs.ModeSymlink {
				found = append(found, f)
			}
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d files fit %s below %s where one is needed", len(found), strings.Join(patterns, ", "), root)
	}
	return found[0], nil
}
