package unpack

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve makes the file system reserve size bytes. So a full disk is known at once, and the file
// is stored in few pieces.
func reserve(f *os.File, size int64) error {
	var failed error
	err := control(f, func(fd int) { failed = reserveIn(fd, size) })
	switch {
	case err != nil:
		return err
	case errors.Is(failed, unix.ENOSPC), errors.Is(failed, unix.EFBIG), errors.Is(failed, unix.EDQUOT):
		return &os.PathError{Op: "reserve", Path: f.Name(), Err: failed}
	}
	return nil // for other errors, the file system cannot reserve
}

func reserveIn(fd int, size int64) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return err
	}
	if int64(fs.Type) != unix.TMPFS_MAGIC {
		return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, size)
	}
	// A file system in memory gains nothing from reserving. It would fill the memory with zeros at
	// once, a quarter of a second for 1 GiB, while all others wait.
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if room := int64(fs.Bavail)*int64(fs.Bsize) + st.Blocks*512; fs.Blocks > 0 && room < size {
		return unix.ENOSPC
	}
	return nil
}

// punch makes a stretch of a file a hole, and reports whether the file system can.
func punch(f *os.File, at, n int64) (done bool) {
	err := control(f, func(fd int) {
		done = unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE, at, n) == nil
	})
	return done && err == nil
}

// begin makes the system write a stretch of a file from memory to the disk. A later fsync returns
// its errors.
func begin(f *os.File, at, n int64) {
	_ = control(f, func(fd int) { _ = unix.SyncFileRange(fd, at, n, unix.SYNC_FILE_RANGE_WRITE) })
}

// control calls do with the file's descriptor, which stays open during the call.
func control(f *os.File, do func(fd int)) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) { do(int(fd)) })
}
