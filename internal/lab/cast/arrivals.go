//go:build linux

package cast

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// arrivals reports when a host has the file: a tool has renamed a file to its name, or has closed
// it after writing.
type arrivals struct {
	file  *os.File
	hosts map[int32]int // host by the watch of its directory
}

// watch begins to watch the directories of the hosts 1 to n.
func watch(n int, dir func(host int) string) (*arrivals, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	a := &arrivals{os.NewFile(uintptr(fd), "arrivals"), map[int32]int{}}
	for i := 1; i <= n; i++ {
		wd, err := syscall.InotifyAddWatch(fd, dir(i), syscall.IN_MOVED_TO|syscall.IN_CLOSE_WRITE)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("watch %s: %w", dir(i), err), a.close())
		}
		a.hosts[int32(wd)] = i
	}
	return a, nil
}

// close ends listen.
func (a *arrivals) close() error { return a.file.Close() }

// listen reports the host of each file that arrives, until close is called.
func (a *arrivals) listen(came func(host int)) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := a.file.Read(buffer)
		if errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen for files: %w", err)
		}
		if err := a.decode(buffer[:n], came); err != nil {
			return err
		}
	}
}

// decode decodes a batch of the system's events.
func (a *arrivals) decode(events []byte, came func(host int)) error {
	for len(events) >= syscall.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(events))
		mask := binary.NativeEndian.Uint32(events[4:])
		end := syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		if mask&syscall.IN_Q_OVERFLOW != 0 || end > len(events) {
			return errors.New("listen for files: events were lost")
		}
		name, _, _ := bytes.Cut(events[syscall.SizeofInotifyEvent:end], []byte{0})
		if host, known := a.hosts[wd]; known && string(name) == fileName {
			came(host)
		}
		events = events[end:]
	}
	return nil
}
