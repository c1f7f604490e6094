package netpoll

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Poller is an epoll set. Add, Modify, Remove and Wake may be called while other goroutines are
// inside Wait.
type Poller struct {
	waker
	epfd   int
	wakefd int
	procs  int32 // GOMAXPROCS
	closed atomic.Bool
	inside sync.RWMutex // held for reading inside Wait, so that Close can wait for its end
	polled rawEvents    // for Poll, since clearing it each time would take longer than looking
}

// rawEvents are events as the system returns them.
type rawEvents [MaxBatch]unix.EpollEvent

// New returns an empty poller.
func New() (*Poller, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("netpoll: create epoll set: %w", err)
	}
	wakefd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(epfd)
		return nil, fmt.Errorf("netpoll: create event descriptor: %w", err)
	}
	p := &Poller{epfd: epfd, wakefd: wakefd, procs: procs()}
	if err := p.Add(wakefd, wakeToken, true, false); err != nil {
		p.closeFiles()
		return nil, err
	}
	return p, nil
}

// Add registers fd; its events carry token, which must not be negative.
func (p *Poller) Add(fd int, token int32, read, write bool) error {
	return p.control(unix.EPOLL_CTL_ADD, fd, token, read, write)
}

// Modify changes what fd is watched for. With neither read nor write, the system still reports
// errors: use Remove to silence a descriptor.
func (p *Poller) Modify(fd int, token int32, read, write bool) error {
	return p.control(unix.EPOLL_CTL_MOD, fd, token, read, write)
}

// Remove removes fd from the set; call it before closing fd.
func (p *Poller) Remove(fd int) error {
	return p.control(unix.EPOLL_CTL_DEL, fd, 0, false, false)
}

func (p *Poller) control(op, fd int, token int32, read, write bool) error {
	ev := unix.EpollEvent{Fd: token}
	if read {
		ev.Events |= unix.EPOLLIN
	}
	if write {
		ev.Events |= unix.EPOLLOUT
	}
	if err := unix.EpollCtl(p.epfd, op, fd, &ev); err != nil {
		return fmt.Errorf("netpoll: change interest in descriptor %d: %w", fd, err)
	}
	return nil
}

// Poll fills dst with up to MaxBatch events that are ready now, and returns their number. It leaves
// a wake-up for Wait. One goroutine at a time calls it.
func (p *Poller) Poll(dst []Event) (int, error) {
	n, _, err := p.collectRaw(dst, &p.polled, 0)
	return n, err
}

// Wait is Poll, but parks until something is ready, Wake is called, or d has passed; d < 0 means no
// limit. It may return 0 events early.
func (p *Poller) Wait(dst []Event, d time.Duration) (int, error) {
	p.inside.RLock()
	defer p.inside.RUnlock()
	if p.closed.Load() {
		return 0, ErrClosed
	}
	defer p.leave()
	if !p.enter() {
		var raw rawEvents
		n, _, err := p.collectRaw(dst, &raw, 0)
		return n, err
	}
	n, woken, err := p.nap(dst, d)
	if n == 0 && !woken && err == nil {
		n, woken, err = p.collect(dst, millis(d))
	}
	if woken {
		p.drain()
	}
	return n, err
}

func (p *Poller) collect(dst []Event, msec int) (n int, woken bool, err error) {
	var raw rawEvents
	got, err := unix.EpollWait(p.epfd, raw[:min(len(dst), MaxBatch)], msec)
	if err != nil {
		if err == unix.EINTR {
			return 0, false, nil
		}
		return 0, false, fmt.Errorf("netpoll: wait: %w", err)
	}
	n, woken = sort(dst, raw[:got])
	return n, woken, nil
}

// sort removes the wake-up from the system's events.
func sort(dst []Event, raw []unix.EpollEvent) (n int, woken bool) {
	for i := range raw {
		if raw[i].Fd == wakeToken {
			woken = true
			continue
		}
		dst[n] = event(&raw[i])
		n++
	}
	return n, woken
}

func event(raw *unix.EpollEvent) Event {
	const bad = unix.EPOLLERR | unix.EPOLLHUP
	return Event{
		Token: raw.Fd,
		Read:  raw.Events&(unix.EPOLLIN|bad) != 0,
		Write: raw.Events&(unix.EPOLLOUT|bad) != 0,
	}
}

func (p *Poller) drain() {
	var b [8]byte
	unix.Read(p.wakefd, b[:]) // EAGAIN: another waiter has read it
	p.reset()
}

func (p *Poller) kick() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	unix.Write(p.wakefd, one[:]) // fails only if the counter is full, which wakes as well
}

// Close ends all Waits and frees the set. Descriptors in it stay open.
func (p *Poller) Close() error {
	if p.closed.Swap(true) {
		return ErrClosed
	}
	p.kick()
	p.inside.Lock()
	defer p.inside.Unlock()
	return p.closeFiles()
}

func (p *Poller) closeFiles() error {
	unix.Close(p.wakefd)
	if err := unix.Close(p.epfd); err != nil {
		return fmt.Errorf("netpoll: close: %w", err)
	}
	return nil
}
