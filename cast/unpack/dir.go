package unpack

import (
	"io/fs"
	"os"
	"time"
)

// Dir is a directory that is written to, and nothing outside of it.
type Dir interface {
	Lstat(name string) (fs.FileInfo, error)
	Mkdir(name string, perm fs.FileMode) error
	// Enter returns the directory of that name.
	Enter(name string) (Dir, error)
	// Create makes a file that is not there, for this user alone.
	Create(name string) (File, error)
	Symlink(target, name string) error
	Rename(from, to string) error
	Remove(name string) error
	Chmod(name string, mode fs.FileMode) error
	Chtimes(name string, t time.Time) error
	// Sync returns once the names in the directory would survive a crash.
	Sync() error
	Close() error
}

// File is a file that is written.
type File interface {
	WriteAt(b []byte, at int64) (int, error)
	Truncate(size int64) error
	// Reserve makes room for so many bytes, where the file system can.
	Reserve(size int64) error
	Chmod(mode fs.FileMode) error
	// Sync returns once what was written would survive a crash.
	Sync() error
	Close() error
}

// OpenDir returns the directory at path, of the system.
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

func (d systemDir) Chtimes(name string, t time.Time) error { return d.Root.Chtimes(name, t, t) }

func (d systemDir) Sync() error {
	f, err := d.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

type systemFile struct{ *os.File }

func (f systemFile) Reserve(size int64) error { return reserve(f.File, size) }
