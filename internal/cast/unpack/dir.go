package unpack

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/cast/names"
	"github.com/schedgen/schedgen/internal/cast/record"
)

// Dir is a directory to which files are written. Its methods reach nothing outside of it.
type Dir interface {
	Lstat(name string) (fs.FileInfo, error)
	Mkdir(name string, perm fs.FileMode) error
	// Enter returns the directory with the given name.
	Enter(name string) (Dir, error)
	// Create creates a file that must not exist, with access for this user only.
	Create(name string) (File, error)
	// Resume opens or creates a file with access for this user only. fresh reports whether it was
	// created. Until the file is closed, no other process can resume it.
	Resume(name string) (f File, fresh bool, err error)
	// Open opens an existing file for reading.
	Open(name string) (File, error)
	Symlink(target, name string) error
	Rename(from, to string) error
	Remove(name string) error
	Chmod(name string, mode fs.FileMode) error
	Chtimes(name string, t time.Time) error
	// Lchown changes the owner of an entry. It does not follow a link.
	Lchown(name string, uid, gid int) error
	// SetExtended sets extended attributes of the directory itself; see [File].
	SetExtended(a *record.Attributes) error
	// Link gives the file from the further name to. Both are paths below the directory.
	Link(from, to string) error
	// Each calls f with each name in the directory, in order. It stops at the first error of f, and
	// returns it.
	Each(f func(name string) error) error
	// Sync waits until the names in the directory would survive a crash.
	Sync() error
	Close() error
}

// File is a file that is written.
type File interface {
	WriteAt(b []byte, at int64) (int, error)
	ReadAt(b []byte, at int64) (int, error)
	// Zero zeroes n bytes from byte at on, as a hole if the file system has holes.
	Zero(at, n int64) error
	Truncate(size int64) error
	// Reserve reserves size bytes on the disk, if the file system can.
	Reserve(size int64) error
	Chmod(mode fs.FileMode) error
	Chown(uid, gid int) error
	// SetExtended sets the access lists of a if a.ACL is true, and the other extended attributes of
	// a if a.Xattr is true. It removes other attributes of these kinds.
	SetExtended(a *record.Attributes) error
	// Begin makes the system begin to write n bytes from byte at on to the disk. It may wait. Sync
	// returns its errors.
	Begin(at, n int64)
	// Sync waits until the written data would survive a crash.
	Sync() error
	Close() error
}

// OpenDir opens the system's directory at path.
func OpenDir(path string) (Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return systemDir{root}, nil
}

type systemDir struct{ *os.Root }

func (d systemDir) Enter(name string) (Dir, error) {
	root, err := d.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return systemDir{root}, nil
}

func (d systemDir) Create(name string) (File, error) {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return systemFile{f}, nil
}

func (d systemDir) Resume(name string) (File, bool, error) {
	f, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	fresh := err == nil
	if errors.Is(err, fs.ErrExist) {
		f, err = d.open(name, os.O_RDWR)
	}
	if errors.Is(err, fs.ErrPermission) { // the file was about to get its name
		if err = d.Root.Chmod(name, 0o600); err == nil {
			f, err = d.open(name, os.O_RDWR)
		}
	}
	if err != nil {
		return nil, false, err
	}
	if err := lock(f); err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	return systemFile{f}, fresh, nil
}

var errNoFile = errors.New("it exists and is not a regular file")

// open opens a regular file, and nothing else.
func (d systemDir) open(name string, how int) (*os.File, error) {
	before, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, errNoFile
	}
	f, err := d.OpenFile(name, how|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = errNoFile
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (d systemDir) Open(name string) (File, error) {
	f, err := d.open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return systemFile{f}, nil
}

// lock keeps other processes from resuming a file until it is closed.
func lock(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	if err := conn.Control(func(fd uintptr) { locked = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) }); err != nil {
		return err
	}
	if errors.Is(locked, unix.EWOULDBLOCK) {
		return errors.New("another process writes its partial file")
	}
	return nil // for other errors, the file system has no locks
}

func (d systemDir) Chtimes(name string, t time.Time) error { return d.Root.Chtimes(name, t, t) }

func (d systemDir) Each(f func(name string) error) error { return names.Each(d.Root, f) }

func (d systemDir) SetExtended(a *record.Attributes) error {
	f, err := d.Root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return setExtended(f, a)
}

func (d systemDir) Sync() error {
	f, err := d.Root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

type systemFile struct{ *os.File }

// Zero implements [File].
func (f systemFile) Zero(at, n int64) error {
	if punch(f.File, at, n) {
		return nil
	}
	zeros := make([]byte, min(n, 1<<16))
	for ; n > 0; n -= int64(len(zeros)) {
		zeros = zeros[:min(n, int64(len(zeros)))]
		if _, err := f.WriteAt(zeros, at); err != nil {
			return err
		}
		at += int64(len(zeros))
	}
	return nil
}

func (f systemFile) SetExtended(a *record.Attributes) error { return setExtended(f.File, a) }

func (f systemFile) Reserve(size int64) error { return reserve(f.File, size) }

func (f systemFile) Begin(at, n int64) { begin(f.File, at, n) }
