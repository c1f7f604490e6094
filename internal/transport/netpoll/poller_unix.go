//go:build unix && !linux

package netpoll

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Poller is a list of descriptors handed to poll(2). Add, Modify, Remove and Wake may be called
// while other goroutines are inside Wait.
type Poller struct {
	waker
	rd, wr int // the pipe that Wake writes to

	inside sync.RWMutex // held for reading inside Wait, so that Close can wait for its end
	mu     sync.Mutex   // guards the fields below
	fds    []unix.PollFd
	tokens []int32
	closed bool
}

// New returns an empty poller.
func New() (*Poller, error) {
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return nil, fmt.Errorf("netpoll: create pipe: %w", err)
	}
	for _, fd := range p {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			unix.Close(p[0])
			unix.Close(p[1])
			return nil, fmt.Errorf("netpoll: prepare pipe: %w", err)
		}
	}
	return &Poller{rd: p[0], wr: p[1]}, nil
}

// Add registers fd; its events carry token, which must not be negative.
func (p *Poller) Add(fd int, token int32, read, write bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.find(fd) >= 0 {
		return fmt.Errorf("netpoll: descriptor %d is registered already", fd)
	}
	p.fds = append(p.fds, unix.PollFd{Fd: int32(fd), Events: interest(read, write)})
	p.tokens = append(p.tokens, token)
	p.interrupt()
	return nil
}

// Modify changes what fd is watched for. With neither read nor write, the system still reports
// errors: use Remove to silence a descriptor.
func (p *Poller) Modify(fd int, token int32, read, write bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.find(fd)
	if i < 0 {
		return fmt.Errorf("netpoll: descriptor %d is not registered", fd)
	}
	p.fds[i].Events, p.tokens[i] = interest(read, write), token
	p.interrupt()
	return nil
}

// Remove removes fd from the set; call it before closing fd.
func (p *Poller) Remove(fd int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.find(fd)
	if i < 0 {
		return fmt.Errorf("netpoll: descriptor %d is not registered", fd)
	}
	last := len(p.fds) - 1
	p.fds[i], p.tokens[i] = p.fds[last], p.tokens[last]
	p.fds, p.tokens = p.fds[:last], p.tokens[:last]
	p.interrupt()
	return nil
}

func (p *Poller) find(fd int) int {
	for i := range p.fds {
		if p.fds[i].Fd == int32(fd) {
			return i
		}
	}
	return -1
}

func interest(read, write bool) (ev int16) {
	if read {
		ev |= unix.POLLIN
	}
	if write {
		ev |= unix.POLLOUT
	}
	return ev
}

// interrupt makes a running Wait use the changed list.
func (p *Poller) interrupt() {
	if p.waiting.Load() > 0 {
		p.kick()
	}
}

// Poll fills dst with up to MaxBatch events that are ready now, and returns their number. It leaves
// a wake-up for Wait.
func (p *Poller) Poll(dst []Event) (int, error) {
	n, _, err := p.collect(dst, 0)
	return n, err
}

// Wait is Poll, but parks until something is ready, Wake is called, or d has passed; d < 0 means no
// limit. It may return 0 events early.
func (p *Poller) Wait(dst []Event, d time.Duration) (int, error) {
	p.inside.RLock()
	defer p.inside.RUnlock()
	defer p.leave()
	if !p.enter() {
		return p.Poll(dst)
	}
	n, woken, err := p.collect(dst, millis(d))
	if woken {
		p.drain()
	}
	return n, err
}

// snapshot copies the list, with the wake pipe first.
func (p *Poller) snapshot() ([]unix.PollFd, []int32, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, ErrClosed
	}
	fds := append([]unix.PollFd{{Fd: int32(p.rd), Events: unix.POLLIN}}, p.fds...)
	return fds, append([]int32{wakeToken}, p.tokens...), nil
}

func (p *Poller) collect(dst []Event, msec int) (n int, woken bool, err error) {
	fds, tokens, err := p.snapshot()
	if err != nil {
		return 0, false, err
	}
	if _, err := unix.Poll(fds, msec); err != nil && err != unix.EINTR {
		return 0, false, fmt.Errorf("netpoll: wait: %w", err)
	}
	for i := 1; i < len(fds) && n < min(len(dst), MaxBatch); i++ {
		if fds[i].Revents != 0 {
			dst[n] = event(tokens[i], fds[i].Revents)
			n++
		}
	}
	return n, fds[0].Revents != 0, nil
}

func event(token int32, revents int16) Event {
	const bad = unix.POLLERR | unix.POLLHUP | unix.POLLNVAL
	return Event{
		Token: token,
		Read:  revents&(unix.POLLIN|bad) != 0,
		Write: revents&(unix.POLLOUT|bad) != 0,
	}
}

func (p *Poller) drain() {
	var b [64]byte
	unix.Read(p.rd, b[:]) // EAGAIN: another waiter has read it
	p.reset()
}

func (p *Poller) kick() {
	unix.Write(p.wr, []byte{1}) // fails only if the pipe is full, which wakes as well
}

// Close ends all Waits and frees the list. Descriptors in it stay open.
func (p *Poller) Close() error {
	p.mu.Lock()
	was := p.closed
	p.closed = true
	p.mu.Unlock()
	if was {
		return ErrClosed
	}
	p.kick()
	p.inside.Lock()
	defer p.inside.Unlock()
	unix.Close(p.wr)
	if err := unix.Close(p.rd); err != nil {
		return fmt.Errorf("netpoll: close: %w", err)
	}
	return nil
}
