//go:build linux

package segment

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// checkEvery is how often Poll checks peers whose end the system does not report. Wait then parks
// no longer than that.
const checkEvery = 200 * time.Millisecond

// watch checks that the peers' processes live. The system reports the end of a process through a
// descriptor of the process. A goroutine waits for all descriptors and rings this rank's own bell:
// only that wakes a parked rank, and an idle process does not wake up to look. If a process has no
// descriptor, Poll checks it now and then.
type watch struct {
	idle      int // polls without result
	checked   time.Time
	processes []unix.PollFd // by rank: descriptors, -1: none
	all       *os.File      // an epoll instance with all descriptors
	told      bool          // all reports the end of every peer in another process
	ended     atomic.Bool   // all has reported an end
	running   sync.WaitGroup
}

// watchAll begins to watch the peers' processes.
func (t *Transport) watchAll() {
	w := &t.watch
	w.checked = t.clock.Now()
	w.told = true
	others := false // a peer is in another process
	for rank := range t.peers {
		fd := -1
		if p := &t.peers[rank]; rank != t.rank && int(p.pid) != os.Getpid() {
			others = true
			fd = p.process()
			w.told = w.told && fd >= 0
		}
		w.processes = append(w.processes, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	if w.told && others {
		w.told = w.collect()
	}
	if w.all != nil {
		w.running.Go(func() { t.hearDeaths() })
	}
}

// collect makes the epoll instance. It reports whether the instance has all descriptors.
func (w *watch) collect() bool {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	for _, p := range w.processes {
		if p.Fd >= 0 && err == nil { // each reports once
			err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, int(p.Fd), &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT})
		}
	}
	if err == nil {
		err = unix.SetNonblock(epoll, true) // so that the goroutine waits without a thread
	}
	if err != nil {
		unix.Close(epoll)
		return false
	}
	all := os.NewFile(uintptr(epoll), "epoll")
	if all.SetReadDeadline(time.Time{}) != nil { // Go's poller does not accept it
		_ = all.Close() // nothing is written there
		return false
	}
	w.all = all
	return true
}

// hearDeaths rings this rank's own bell whenever a process has ended, until the watch is closed.
func (t *Transport) hearDeaths() {
	conn, err := t.watch.all.SyscallConn()
	for err == nil {
		err = conn.Read(func(epoll uintptr) bool {
			var events [1]unix.EpollEvent
			n, err := unix.EpollWait(int(epoll), events[:], 0)
			return n > 0 && err == nil
		})
		if err == nil {
			t.watch.ended.Store(true)
			t.ring(t.rank)
		}
	}
}

// close ends the watch.
func (w *watch) close() {
	if w.all != nil {
		_ = w.all.Close() // nothing is written there
	}
	w.running.Wait()
	for _, p := range w.processes {
		if p.Fd >= 0 {
			unix.Close(int(p.Fd))
		}
	}
}

// process opens a descriptor that reports the end of p's process, or returns -1 if there is none.
func (p *peer) process() int {
	fd, err := unix.PidfdOpen(int(p.pid), 0)
	if err != nil {
		return -1 // check uses another way
	}
	if !alive(p.pid, p.start) { // its number may belong to another process by now
		unix.Close(fd)
		return -1
	}
	return fd
}

// checkAgain is check, unless there was one a moment ago.
func (t *Transport) checkAgain() {
	if now := t.clock.Now(); now.Sub(t.watch.checked) >= checkEvery/2 {
		t.watch.checked = now
		t.check()
	}
}

// check checks that the peers' processes live.
func (t *Transport) check() {
	if _, err := unix.Poll(t.watch.processes, 0); err != nil {
		t.watch.ended.Store(true) // interrupted: the next Poll checks again
		return
	}
	for rank := range t.peers {
		p, w := &t.peers[rank], &t.watch.processes[rank]
		if p.gone || p.dead || int(p.pid) == os.Getpid() {
			continue
		}
		if w.Fd >= 0 && w.Revents != 0 || w.Fd < 0 && !alive(p.pid, p.start) {
			p.dead = true
			t.again(rank)
		}
	}
}

// alive reports whether the process that was started at start still lives. If the process cannot be
// inspected, alive returns true.
func alive(pid uint32, start uint64) bool {
	now, err := started(int(pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return false
	}
	return err != nil || now == start
}

// errZombie is the error of started for a process that has ended.
var errZombie = fmt.Errorf("it has ended: %w", os.ErrNotExist)

// started returns the start time of a process, in the system's ticks since boot.
func started(pid int) (uint64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	// The name, in parentheses, may contain anything; the state follows it.
	_, rest, _ := strings.Cut(string(text[max(0, strings.LastIndexByte(string(text), ')')):]), ")")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return 0, fmt.Errorf("look at process %d: its status is %q", pid, text)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return 0, fmt.Errorf("look at process %d: %w", pid, errZombie)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return start, nil
}
