//go:build linux

package memory

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/wire"
)

// peer is what this rank has to do with another.
type peer struct {
	rank    int
	pid     uint32
	start   uint64 // of the process
	bell    *bellLine
	line    *rankLine
	in      [wire.Lanes]inbound
	out     [wire.Lanes]outbound
	more    *further // of further communicators; nil: there were none
	changes uint32   // how often the peer had opened or closed one when this rank looked last
	cast    reader
	failed  error // why the peer is lost, which the next Poll tells
	dead    bool  // its process has ended
	gone    bool  // it has left or is lost
}

// watch looks whether the peers' processes live.
type watch struct {
	idle      int // polls that found nothing
	checked   time.Time
	processes []unix.PollFd // by rank
}

// How a rank may be lost.
var (
	errClosed = errors.New("it closed its end without a goodbye")
	errDied   = errors.New("its process has ended without a goodbye")
	errLate   = errors.New("it closed its end before everything was sent")
)

// loseLater has the next Poll tell that p is lost.
func (t *Transport) loseLater(p *peer, err error) {
	if p.failed == nil {
		p.failed = err
		t.again(p.rank)
	}
}

// lose tells s that p is lost.
func (t *Transport) lose(p *peer, err error, s wire.Sink) {
	if !p.gone {
		t.forget(p)
		s.Ended(p.rank, wire.Broken, fmt.Errorf("shm: %w", err))
	}
}

// forget drops what is queued for p, and what it sends from now on.
func (t *Transport) forget(p *peer) {
	p.gone = true
	p.eachOut(func(o *outbound) {
		o.cut, o.offset = false, 0
		o.queue.clear()
	})
}

// end tells s how p has ended, if it has. state is what p's state was before
// its lanes were read: all that it sent before it ended has been seen.
func (t *Transport) end(p *peer, state uint32, s wire.Sink) {
	switch {
	case p.gone:
	case p.failed != nil:
		t.lose(p, p.failed, s)
	case state == stateLeft:
		t.farewell(p, s)
	case p.dead:
		t.lose(p, errDied, s)
	case state != stateJoined:
		t.lose(p, errClosed, s)
	}
}

// farewell tells s that p has left when all it sent has been taken.
func (t *Transport) farewell(p *peer, s wire.Sink) {
	waits, late := false, false
	p.eachIn(func(l *inbound) {
		waits = waits || l.waits()
		late = late || l.open || atomic.LoadUint32(&l.line.late) != 0
	})
	switch {
	case waits:
		return // for another Poll
	case late:
		t.lose(p, errLate, s)
		return
	}
	t.forget(p)
	s.Ended(p.rank, wire.Closed, nil)
}

// watch opens a descriptor that tells when p's process ends; -1 if it is this
// process or cannot be watched so.
func (p *peer) watch() int {
	if int(p.pid) == os.Getpid() {
		return -1
	}
	fd, err := unix.PidfdOpen(int(p.pid), 0)
	if err != nil {
		return -1 // check looks in another way
	}
	if !alive(p.pid, p.start) { // its number may be another's by now
		unix.Close(fd)
		return -1
	}
	return fd
}

// check looks whether the peers' processes live, at most every so often.
func (t *Transport) check() {
	now := t.clock.Now()
	if now.Sub(t.watch.checked) < checkEvery/2 {
		return
	}
	t.watch.checked = now
	if _, err := unix.Poll(t.watch.processes, 0); err != nil {
		return // interrupted: there is a next time
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

// alive reports whether the process that was started at start still lives; a
// process that cannot be looked at is taken to live.
func alive(pid uint32, start uint64) bool {
	now, err := started(int(pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return false
	}
	return err != nil || now == start
}

// errZombie is what started returns for a process that has ended.
var errZombie = fmt.Errorf("it has ended: %w", os.ErrNotExist)

// started returns when a process was started, in the system's ticks since boot.
func started(pid int) (uint64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	// The name, in parentheses, may hold anything; the state is behind it.
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
