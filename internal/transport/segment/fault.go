//go:build linux

package segment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
)

// A rank that cannot join tells the others why, so that they do not wait for it. It writes a note
// into the segment, by a system call, so that it need not map it. Without a segment it makes a
// symbolic link whose target is the reason: a link needs neither room in a full file system nor a
// descriptor.

// note is why a rank could not join. It lies in the segment's first page, behind the header.
type note struct {
	rank   uint32 // rank + 1, written last; 0: there is no note
	length uint32
	text   [maxNote]byte
}

const (
	noteAt  = 1024
	maxNote = 1024
)

var _ = [1]struct{}{}[(noteAt+unsafe.Sizeof(note{})+pageSize-1)/pageSize-1] // it fits the page

// linkTime is how long a link stays. The others look for it every few milliseconds, if the machine
// lets them.
const linkTime = time.Second

// givenUpError says that another rank could not join.
type givenUpError struct {
	rank int
	why  string // "" if the rank has not said
}

func (e *givenUpError) Error() string {
	if e.why == "" {
		return fmt.Sprintf("rank %d has given up", e.rank)
	}
	return fmt.Sprintf("rank %d has given up: %s", e.rank, e.why)
}

// isOwn reports whether err concerns the communicator, and the others do not know it.
func isOwn(err error) bool {
	return !errors.As(err, new(*givenUpError)) && !errors.Is(err, errOccupied) && !errors.Is(err, errTaken)
}

// tellIn writes into a segment why a rank could not join. It leaves a file that is no segment as it
// is.
func tellIn(f *os.File, rank int, err error) {
	h, unknown := readHeader(f)
	if !isOwn(err) || unknown != nil || h.magic != segmentMagic || h.version != segmentVersion {
		return
	}
	n := note{rank: uint32(rank) + 1}
	n.length = uint32(copy(n.text[:], err.Error()))
	b := (*[unsafe.Sizeof(note{})]byte)(unsafe.Pointer(&n))[:]
	if _, err := f.WriteAt(b[4:], noteAt+4); err == nil { // otherwise nobody can be told
		_, _ = f.WriteAt(b[:4], noteAt)
	}
}

// leaveNote writes a note into a segment that is mapped.
func (s segment) leaveNote(rank int, err error) {
	n := at[note](s, noteAt)
	n.length = uint32(copy(n.text[:], err.Error()))
	atomic.StoreUint32(&n.rank, uint32(rank)+1)
}

// note returns the error of a rank that has written a note, or nil.
func (s segment) note() error {
	n := at[note](s, noteAt)
	rank := atomic.LoadUint32(&n.rank)
	if rank == 0 {
		return nil
	}
	return &givenUpError{int(rank) - 1, string(n.text[:min(n.length, maxNote)])}
}

// linkPath is the path of the link of a named segment.
func (c *Config) linkPath() string { return c.path() + ".fault" }

// tellByLink makes the link for a while.
func tellByLink(cfg *Config, err error) {
	start, unknown := started(os.Getpid())
	if !isOwn(err) || unknown != nil {
		return
	}
	target := fmt.Sprintf("%d %d %d %s", os.Getpid(), start, cfg.Rank, err)
	if os.Symlink(target[:min(len(target), maxNote)], cfg.linkPath()) != nil {
		return // another rank has one, or nobody can be told
	}
	_ = clock.Sleep(context.Background(), cfg.Clock, linkTime)
	_ = os.Remove(cfg.linkPath())
}

// linked returns the error of a rank that has made the link, or nil. It removes the link of a
// process that has died. Links of other users do not count.
func linked(cfg *Config) error {
	if cfg.File != nil {
		return nil
	}
	var st unix.Stat_t
	target, err := os.Readlink(cfg.linkPath())
	if err != nil || unix.Lstat(cfg.linkPath(), &st) != nil || int(st.Uid) != os.Geteuid() {
		return nil
	}
	var pid, rank int
	var start uint64
	if n, _ := fmt.Sscanf(target, "%d %d %d ", &pid, &start, &rank); n != 3 || !alive(uint32(pid), start) {
		_ = os.Remove(cfg.linkPath())
		return nil
	}
	rest := target[len(fmt.Sprintf("%d %d %d ", pid, start, rank)):]
	return &givenUpError{rank, rest}
}
