package stream

import (
	"fmt"
	"math/bits"
	"os"

	"golang.org/x/sys/unix"
)

// spare are descriptors that a transport holds back. A rank that has run out of descriptors gives
// them up, and can then connect to the ranks that it tells so. Package core tells a reason down a
// binomial tree, so these are ⌈log₂ ranks⌉ ranks. Each takes two descriptors for a moment: Go's and
// the transport's.
type spare struct{ fds []int }

// reserve opens the spare descriptors of a rank among size ranks, as duplicates of fd. It fails, too,
// unless there are then as many descriptors left as a barrier opens connections.
func (s *spare) reserve(fd, size int) error {
	steps := bits.Len(uint(size - 1))
	kept, connections := 2*steps, min(size-1, 2*steps)+1
	for range kept + connections {
		d, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			s.release()
			return fmt.Errorf("reserve %d descriptors for connections: %w", kept+connections, os.NewSyscallError("fcntl", err))
		}
		s.fds = append(s.fds, d)
	}
	for _, d := range s.fds[kept:] {
		closeFD(d)
	}
	s.fds = s.fds[:kept]
	return nil
}

// release gives the descriptors up.
func (s *spare) release() {
	for _, fd := range s.fds {
		closeFD(fd)
	}
	s.fds = nil
}
