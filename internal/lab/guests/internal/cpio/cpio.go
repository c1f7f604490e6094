// Package cpio writes archives in the form "newc", which the Linux kernel
// unpacks as its first file system
// (Documentation/driver-api/early-userspace/buffer-format.rst).
package cpio

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
)

// Entry is a regular file, a directory or a symbolic link of an archive.
type Entry struct {
	Name string      // path below the root, without a leading slash
	Mode fs.FileMode // permissions, and fs.ModeDir or fs.ModeSymlink
	Body []byte      // content of the file, or target of the link
}

// The types of files in the form.
const (
	typeDir     = 0o040000
	typeRegular = 0o100000
	typeLink    = 0o120000
)

// Write writes an archive of all entries, in their order, and of the directories above them. If two
// entries have the same name, the kernel keeps the last. Write returns an error if a name is not
// valid by fs.ValidPath, if an entry has another type, or if w fails.
func Write(w io.Writer, entries []Entry) error {
	a := archive{w: bufio.NewWriter(w), dirs: map[string]bool{".": true}}
	for _, e := range entries {
		if err := a.entry(e); err != nil {
			return fmt.Errorf("write %q into the archive: %w", e.Name, err)
		}
	}
	a.record("TRAILER!!!", 0, nil)
	if err := a.w.Flush(); err != nil { // returns the first error of all writes
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}

type archive struct {
	w       *bufio.Writer
	written int64
	inode   int
	dirs    map[string]bool
}

func (a *archive) entry(e Entry) error {
	switch {
	case !fs.ValidPath(e.Name) || e.Name == ".":
		return fs.ErrInvalid
	case len(e.Body) > math.MaxUint32:
		return fmt.Errorf("%d bytes are more than the form has digits for", len(e.Body))
	}
	a.parents(path.Dir(e.Name))
	perm := int(e.Mode.Perm())
	switch e.Mode.Type() {
	case 0:
		a.record(e.Name, typeRegular|perm, e.Body)
	case fs.ModeSymlink:
		a.record(e.Name, typeLink|perm, e.Body)
	case fs.ModeDir:
		a.dirs[e.Name] = true
		a.record(e.Name, typeDir|perm, nil)
	default:
		return fmt.Errorf("neither file, directory nor link: %v", e.Mode)
	}
	return nil
}

// parents writes directory dir and the directories above it, each once, because the kernel does not
// make them.
func (a *archive) parents(dir string) {
	if a.dirs[dir] {
		return
	}
	a.dirs[dir] = true
	a.parents(path.Dir(dir))
	a.record(dir, typeDir|0o755, nil)
}

// record writes a header, a name and a body, which it pads to four bytes. Every record has its own
// inode number, so the kernel takes none for a hard link.
func (a *archive) record(name string, mode int, body []byte) {
	const links, unused = 1, 0
	a.inode++
	a.writePadded(fmt.Appendf(nil, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.inode, mode, unused, unused, links, unused, len(body), unused, unused, unused, unused, len(name)+1, unused, name))
	a.writePadded(body)
}

func (a *archive) writePadded(data []byte) {
	_, _ = a.w.Write(data) // Flush returns the error
	a.written += int64(len(data))
	pad := -a.written & 3
	_, _ = a.w.WriteString("\x00\x00\x00"[:pad])
	a.written += pad
}
