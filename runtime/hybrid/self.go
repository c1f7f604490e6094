package hybrid

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/transport/segment"
)

// self holds the memory and the pipe that this rank has opened for the other ranks of its host.
type self struct {
	card
	memory *os.File // nil: none; not needed after all have come
	bell   [2]int   // a pipe; -1: none
	buf    [64]byte
}

// newSelf opens the memory and the pipe that the rank publishes. If that fails, the card says why;
// it is no error.
func newSelf(host string) *self {
	s := &self{bell: [2]int{-1, -1}}
	s.pid = uint32(os.Getpid())
	if err := s.open(host); err != nil {
		s.cannot = err.Error()
	}
	return s
}

func (s *self) open(host string) (err error) {
	if host == "" {
		if host, err = hostName(); err != nil {
			return err
		}
	}
	sum := sha256.Sum256([]byte(host))
	copy(s.host[:], sum[:])
	if s.memory, err = segment.Reserve(); err != nil {
		return err
	}
	if s.bell, err = openPipe(); err != nil {
		return err
	}
	s.segment, s.card.bell = uint32(s.memory.Fd()), uint32(s.bell[1])
	return nil
}

func openPipe() (fds [2]int, err error) {
	if err := unix.Pipe(fds[:]); err != nil {
		return [2]int{-1, -1}, fmt.Errorf("open a pipe: %w", err)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
		err = errors.Join(err, unix.SetNonblock(fd, true))
	}
	return fds, err
}

// drain empties the pipe.
func (s *self) drain() {
	for {
		if n, err := unix.Read(s.bell[0], s.buf[:]); err != nil || n < len(s.buf) {
			return // the pipe is empty, or the next Poll empties it
		}
	}
}

// forget closes the memory, which is mapped by now or not needed.
func (s *self) forget() error {
	if s.memory == nil {
		return nil
	}
	err := s.memory.Close()
	s.memory = nil
	return err
}

func (s *self) close() error {
	for i, fd := range s.bell {
		closeFD(fd)
		s.bell[i] = -1
	}
	return s.forget()
}

func closeFD(fd int) {
	if fd >= 0 {
		unix.Close(fd) // a failure loses nothing
	}
}

// pathOf returns the path at which a descriptor of a process can be opened.
func pathOf(pid, fd uint32) string { return fmt.Sprintf("/proc/%d/fd/%d", pid, fd) }

// openBell opens the pipe that wakes a rank.
func openBell(c *card) (int, error) {
	fd, err := unix.Open(pathOf(c.pid, c.bell), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open the pipe of process %d: %w", c.pid, err)
	}
	return fd, nil
}

// lookPause is the time between two looks at the memory of the lowest rank. That rank completes it
// within microseconds.
const lookPause = 200 * time.Microsecond

// openSegment opens the memory of c's process when the memory is complete.
func openSegment(ctx context.Context, c *card, clk clock.Clock) (*os.File, error) {
	f, err := os.OpenFile(pathOf(c.pid, c.segment), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the memory of process %d: %w", c.pid, err)
	}
	for {
		done, err := segment.Completed(f)
		if err == nil && done {
			return f, nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the memory of process %d: %w", c.pid, err), f.Close())
		}
		if err := clock.Sleep(ctx, clk, lookPause); err != nil {
			return nil, errors.Join(fmt.Errorf("the memory of process %d is not complete: %w", c.pid, err), f.Close())
		}
	}
}
