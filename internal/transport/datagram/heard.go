package datagram

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/internal/transport/seal"
)

// callPause is the time between two calls of rank 0. Every rank must hear one of them.
const callPause = 5 * time.Millisecond

// call multicasts probes until stop is called. A switch may forward no multicast although hosts can
// send and join: only another host can tell.
func (t *Transport) call(c clock.Clock) (stop func()) {
	over := make(chan struct{})
	var calling sync.WaitGroup
	calling.Go(func() {
		for {
			_, _ = unix.Write(t.group.fd, t.probe()) // an unsent probe is merely not heard
			wait := make(chan struct{})
			timer := c.AfterFunc(callPause, func() { close(wait) })
			select {
			case <-wait:
			case <-over:
				timer.Stop()
				return
			}
		}
	})
	return func() { close(over); calling.Wait() }
}

// hear waits until a datagram from rank 0 has arrived, at most for limit.
func (t *Transport) hear(limit time.Duration, c clock.Clock) error {
	from := t.arrival.all.sources[0]
	b := make([]byte, fragment.HeadLen+seal.PacketOver)
	for end := c.Now().Add(limit); c.Now().Before(end); {
		fds := []unix.PollFd{{Fd: int32(t.arrival.all.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, int(probePause/time.Millisecond)); err != nil || n == 0 {
			continue // limit ends the loop
		}
		for {
			_, sa, err := unix.Recvfrom(t.arrival.all.fd, b, 0)
			if err != nil {
				break
			}
			if at := addrPort(sa); netip.AddrPortFrom(at.Addr().Unmap(), at.Port()) == from {
				return nil
			}
		}
	}
	return fmt.Errorf("no multicast from %v has come to interface %s within %v", from, t.at.ifi.Name, limit)
}
