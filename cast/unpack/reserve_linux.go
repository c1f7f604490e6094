package unpack

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve has the file system find room for size bytes, so that a disk that is too full is
// known at once and the file lies in few pieces.
func reserve(f *os.File, size int64) error {
	var failed error
	err := control(f, func(fd int) { failed = reserveIn(fd, size) })
	switch {
	case err != nil:
		return err
	case errors.Is(failed, unix.ENOSPC), errors.Is(failed, unix.EFBIG), errors.Is(failed, unix.EDQUOT):
		return &os.PathError{Op: "reserve", Path: f.Name(), Err: failed}
	}
	return nil // any other answer is of a file system that cannot
}

func reserveIn(fd int, size int64) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return err
	}
	if int64(fs.Type) != unix.TMPFS_MAGIC {
		return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, size)
	}
	// Memory lies in no pieces, and what is reserved of it is filled with zeros at once: 1 GiB
	// takes a quarter of a second, for which all others would wait.
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

// begin has the system write a stretch of a file that lies in memory. Errors are kept for fsync.
func begin(f *os.File, at, n int64) {
	_ = control(f, func(fd int) { _ = unix.SyncFileRange(fd, at, n, unix.SYNC_FILE_RANGE_WRITE) })
}

// control calls do with a file's descriptor, which stays open meanwhile.
func control(f *os.File, do func(fd int)) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) { do(int(fd)) })
}
