//go:build linux

package guests

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/schedgen/schedgen/internal/lab/guests/internal/cpio"
	"github.com/schedgen/schedgen/internal/lab/guests/internal/debian"
)

// provider is the library that libibverbs loads for Soft-RoCE, and the file that names it.
var provider = []string{"usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so", "etc/libibverbs.d/rxe.driver"}

// files collects the files of a guest's file system.
type files struct {
	image   *debian.Image
	entries []cpio.Entry
	there   map[string]bool
}

// initramfs returns the file system of all guests: this program as the first process, busybox,
// modules, the files that Soft-RoCE needs, and the programs.
func initramfs(ctx context.Context, v *Verb, image *debian.Image) ([]cpio.Entry, error) {
	f := &files{image: image, there: map[string]bool{}}
	if err := f.addSystem(ctx, v.Guests); err != nil {
		return nil, err
	}
	for _, name := range v.programs() {
		if err := f.add(ctx, name); err != nil {
			return nil, err
		}
	}
	return f.entries, nil
}

// programs returns the host's files that guests can run: the files of --add, and the command if it
// is a path.
func (v *Verb) programs() []string {
	if !strings.Contains(v.Command[0], "/") {
		return v.Add
	}
	return append([]string{v.Command[0]}, v.Add...)
}

// guestProgram returns the path that a file of the host has in guests. A directory keeps its path.
func guestProgram(file string) string {
	if isDirectory(file) {
		return filepath.Clean(file)
	}
	return path.Join(programsDir, filepath.Base(file))
}

func isDirectory(file string) bool {
	about, err := os.Stat(file)
	return err == nil && about.IsDir()
}

// add adds a file of --add, or all files below a directory.
func (f *files) add(ctx context.Context, name string) error {
	if !isDirectory(name) {
		return f.addProgram(ctx, name, guestProgram(name))
	}
	return filepath.WalkDir(guestProgram(name), func(file string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if about, err := os.Stat(file); err != nil || !about.Mode().IsRegular() { // a link stands for its file
			return err
		}
		return f.addProgram(ctx, file, file)
	})
}

// addSystem adds the files that do not depend on the command.
func (f *files) addSystem(ctx context.Context, guests int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := f.addProgram(ctx, self, "/init"); err != nil {
		return err
	}
	for name, at := range map[string]string{"busybox": busybox, "ip": "/sbin/ip", "rdma": "/sbin/rdma"} {
		file, err := f.image.Program(name)
		if err != nil {
			return err
		}
		if err := f.addProgram(ctx, file, at); err != nil {
			return err
		}
	}
	for _, m := range f.image.Modules {
		if err := f.addFile(m, path.Join(modulesDir, filepath.Base(m)), 0o644); err != nil {
			return err
		}
	}
	for _, dir := range []string{"proc", "sys", "dev", "tmp", "root", "out"} {
		f.entries = append(f.entries, cpio.Entry{Name: dir, Mode: fs.ModeDir | 0o755})
	}
	f.addText("etc/hosts", hostsFile(guests))
	f.addText("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
	f.addText("etc/group", "root:x:0:\n")
	return f.providers(ctx)
}

// providers adds the libraries that libibverbs loads at run time, where it looks for them.
func (f *files) providers(ctx context.Context) error {
	for _, pattern := range provider {
		found, err := filepath.Glob(filepath.Join(f.image.Root, pattern))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("the packages have no %s", pattern)
		}
		for _, file := range found {
			at, err := filepath.Rel(f.image.Root, file)
			if err == nil {
				err = f.addProgram(ctx, file, "/"+at)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// addProgram adds the host's file at a path of the guest, and the libraries that
// it needs.
func (f *files) addProgram(ctx context.Context, file, at string) error {
	if found, err := exec.LookPath(file); err == nil {
		file = found
	}
	if err := f.addFile(file, at, 0o755); err != nil {
		return err
	}
	libraries, err := debian.Libraries(ctx, f.image.Root, file)
	if err != nil {
		return err
	}
	for _, l := range libraries {
		if err := f.addFile(l, libraryPath(l), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// libraryPath returns the path that a library of the host has in the guest. The dynamic linker
// keeps its path, because programs contain it. All others are in /lib, where the linker looks by
// default.
func libraryPath(file string) string {
	if base := path.Base(file); !strings.HasPrefix(base, "ld-linux") {
		return "/lib/" + base
	}
	return file
}

// addFile adds the host's file at a path of the guest, once.
func (f *files) addFile(file, at string, mode fs.FileMode) error {
	name := strings.TrimPrefix(at, "/")
	if f.there[name] {
		return nil
	}
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f.there[name] = true
	f.entries = append(f.entries, cpio.Entry{Name: name, Mode: mode, Body: body})
	return nil
}

func (f *files) addText(name, body string) {
	f.entries = append(f.entries, cpio.Entry{Name: name, Mode: 0o644, Body: []byte(body)})
}

// hostsFile gives every guest its name.
func hostsFile(guests int) string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n::1 localhost\n")
	for g := range guests {
		fmt.Fprintf(&b, "%s guest%d\n", addressOf(fmt.Sprint(g)), g)
	}
	return b.String()
}
