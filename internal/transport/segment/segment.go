//go:build linux

package segment

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/pace"
)

// Create makes an unnamed segment for size ranks: processes inherit the file and give it to [Join]
// in Config.File. Nothing is left of it when the last of them has ended. It takes at most 68 MiB of
// memory for up to 32 ranks, and more only with several communicators.
func Create(size int) (*os.File, error) {
	f, err := Reserve()
	if err != nil {
		return nil, err
	}
	if err := Complete(f, size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Reserve makes a file that [Complete] turns into a segment, for when the number of ranks is not
// known yet.
func Reserve() (*os.File, error) {
	fd, err := unix.MemfdCreate("schedgen", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("shm: create a segment: %w", err)
	}
	return os.NewFile(uintptr(fd), "schedgen-segment"), nil
}

// sealed are the seals of a complete segment's file: no rank can make the others' accesses fail.
const sealed = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// Complete makes a reserved file a segment for size ranks.
func Complete(f *os.File, size int) error {
	if size < 1 || size > MaxSize {
		return fmt.Errorf("shm: create a segment: size %d is not in 1 … %d", size, MaxSize)
	}
	err := fill(f, newLayout(size))
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, sealed)
	}
	if err != nil {
		return fmt.Errorf("shm: create a segment: %w", err)
	}
	return nil
}

// Completed reports whether a reserved file, which another process may hold, has become a segment.
func Completed(f *os.File) (bool, error) {
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil {
		return false, fmt.Errorf("shm: look at a segment: %w", err)
	}
	return seals&sealed == sealed, nil
}

// fill gives f its length and its header. It allocates all memory that is used from the start, so
// that no access can fail later.
func fill(f *os.File, l *layout) error {
	err := allocate(int(f.Fd()), 0, int64(l.total))
	if err == nil {
		err = f.Truncate(l.length())
	}
	if err != nil {
		return fmt.Errorf("%d ranks share %d KiB of memory: %w", l.size, l.total>>10, err)
	}
	costs, _, err := pace.Here()
	if err != nil {
		return err
	}
	start, err := started(os.Getpid())
	if err != nil {
		return err
	}
	h := header{
		magic: segmentMagic, version: segmentVersion, size: uint32(l.size), bytes: uint64(l.length()),
		pid: uint32(os.Getpid()), start: start, pace: *costs,
	}
	if _, err := rand.Read(h.id[:]); err != nil {
		return err
	}
	_, err = f.WriteAt((*[unsafe.Sizeof(h)]byte)(unsafe.Pointer(&h))[:], 0)
	return err
}

func allocate(fd int, offset, n int64) error {
	for {
		if err := unix.Fallocate(fd, 0, offset, n); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// attach maps a segment, if it is for a communicator of the given size.
func attach(f *os.File, size int) (segment, error) {
	l := newLayout(size)
	if err := verify(f, l); err != nil {
		return segment{}, fmt.Errorf("%s: %w", f.Name(), err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, l.total, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return segment{}, fmt.Errorf("%s: map %d KiB: %w", f.Name(), l.total>>10, err)
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return segment{}, errors.Join(fmt.Errorf("%s: keep it open: %w", f.Name(), err), unix.Munmap(mem))
	}
	return segment{l, mem, fd}, nil
}

// unmap releases the mapping and the file.
func (s segment) unmap() error {
	err := unix.Munmap(s.mem)
	if s.fd >= 0 {
		err = errors.Join(err, unix.Close(s.fd))
	}
	if err != nil {
		return fmt.Errorf("shm: unmap the segment: %w", err)
	}
	return nil
}

// verify checks that f is a segment of this program's format.
func verify(f *os.File, l *layout) error {
	h, err := readHeader(f)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	switch {
	case h.magic != segmentMagic || h.version != segmentVersion:
		return errors.New("not a segment of this version")
	case h.size != uint32(l.size):
		return fmt.Errorf("a segment for %d ranks, want %d", h.size, l.size)
	case !h.pace.Valid():
		return errors.New("a segment with wrong costs of copies")
	case h.bytes != uint64(l.length()) || info.Size() != l.length():
		return fmt.Errorf("%d bytes long, want %d", info.Size(), l.length())
	}
	return nil
}

func readHeader(f *os.File) (h header, err error) {
	_, err = f.ReadAt((*[unsafe.Sizeof(h)]byte)(unsafe.Pointer(&h))[:], 0)
	return h, err
}

// path is the file of a named segment.
func (c *Config) path() string { return filepath.Join(c.Dir, "schedgen-"+c.Name) }

// errTaken is why rank 0 cannot use a name.
var errTaken = errors.New("a communicator of that name is just being joined")

// establish makes the segment that the others find by name. It links the name when the segment is
// complete, and replaces the segment of a dead process.
func establish(cfg *Config) (*os.File, error) {
	fd, err := unix.Open(cfg.Dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a file in %s: %w", cfg.Dir, err)
	}
	f := os.NewFile(uintptr(fd), cfg.path())
	err = fill(f, newLayout(cfg.Size))
	if err == nil {
		err = name(f, cfg.path())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.path(), errors.Join(err, f.Close()))
	}
	return f, nil
}

// name links f as path, and replaces a stale file if necessary.
func name(f *os.File, path string) error {
	self := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	for range 2 {
		err := unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
		old, err := open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		h, err := readHeader(old)
		_ = old.Close() // it was only read
		if err == nil && alive(h.pid, h.start) {
			return errTaken
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return errTaken
}

// open opens a segment by name. No other user may be able to write to it.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	if err == nil && (int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 || st.Mode&unix.S_IFMT != unix.S_IFREG) {
		err = fmt.Errorf("%s: must be a regular file that only this user can access", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// errEarlier says that the file belongs to an earlier communicator.
var errEarlier = errors.New("the file belongs to an earlier communicator")

// find opens the segment that rank 0 has made.
func find(cfg *Config) (*os.File, error) {
	f, err := open(cfg.path())
	if err != nil {
		return nil, err
	}
	// Segments get their names when they are complete, so a shorter file is no segment.
	if h, err := readHeader(f); err != nil || !alive(h.pid, h.start) {
		return nil, errors.Join(fmt.Errorf("%s: %w", cfg.path(), errEarlier), err, f.Close())
	}
	return f, nil
}

// claim joins as a rank; it returns false if another process has.
func (s segment) claim(rank int) (bool, error) {
	start, err := started(os.Getpid())
	if err != nil {
		return false, err
	}
	l := s.rank(rank)
	if !atomic.CompareAndSwapUint32(&l.state, stateAbsent, stateClaimed) {
		return false, nil
	}
	atomic.StoreUint32(&l.pid, uint32(os.Getpid()))
	atomic.StoreUint64(&l.start, start)
	s.show(rank)
	atomic.StoreUint32(&l.state, stateJoined)
	return true, nil
}
