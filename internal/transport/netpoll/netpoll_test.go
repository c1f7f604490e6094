//go:build unix

package netpoll

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair returns two connected, non-blocking sockets.
func pair(t testing.TB) (a, b int) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	for _, fd := range fds {
		require.NoError(t, unix.SetNonblock(fd, true))
		t.Cleanup(func() { unix.Close(fd) })
	}
	return fds[0], fds[1]
}

func open(t testing.TB) *Poller {
	p, err := New()
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

func send(t testing.TB, fd int) {
	_, err := unix.Write(fd, []byte{1})
	require.NoError(t, err)
}

func TestEventsAreLevelTriggered(t *testing.T) {
	p, ev := open(t), make([]Event, 8)
	a, b := pair(t)
	require.NoError(t, p.Add(a, 7, true, false))
	n, err := p.Poll(ev)
	require.NoError(t, err)
	require.Zero(t, n)

	send(t, b)
	for range 3 {
		n, err = p.Wait(ev, -1)
		require.NoError(t, err)
		require.Equal(t, []Event{{Token: 7, Read: true}}, ev[:n])
	}
}

func TestModifyAndRemove(t *testing.T) {
	p, ev := open(t), make([]Event, 8)
	a, b := pair(t)
	send(t, b)
	require.NoError(t, p.Add(a, 1, true, false))
	require.NoError(t, p.Modify(a, 2, true, true))
	n, _ := p.Poll(ev)
	require.Equal(t, []Event{{Token: 2, Read: true, Write: true}}, ev[:n])
	require.NoError(t, p.Remove(a))
	n, _ = p.Poll(ev)
	require.Zero(t, n)
	require.Error(t, p.Remove(a))
	require.Error(t, p.Modify(a, 1, true, true))
}

func TestHangUpMakesReady(t *testing.T) {
	p, ev := open(t), make([]Event, 8)
	a, b := pair(t)
	require.NoError(t, p.Add(a, 3, true, false))
	unix.Shutdown(b, unix.SHUT_RDWR)
	n, err := p.Wait(ev, -1)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.True(t, ev[0].Read)
}

func TestChangeWhileWaiting(t *testing.T) {
	p, ev := open(t), make([]Event, 8)
	a, b := pair(t)
	send(t, b)
	got := make(chan int32)
	go func() {
		for n := 0; n == 0; {
			n, _ = p.Wait(ev, -1)
		}
		got <- ev[0].Token
	}()
	for p.waiting.Load() == 0 {
		time.Sleep(time.Millisecond) // lets the goroutine get there; nothing depends on it
	}
	require.NoError(t, p.Add(a, 9, true, false))
	require.Equal(t, int32(9), <-got)
}

func TestWakeEndsRunningOrNextWait(t *testing.T) {
	p, ev := open(t), make([]Event, 8)
	p.Wake()
	p.Wake()
	n, err := p.Wait(ev, -1)
	require.NoError(t, err)
	require.Zero(t, n)

	for range 100 {
		done := make(chan error)
		go func() { _, err := p.Wait(ev, -1); done <- err }()
		p.Wake()
		require.NoError(t, <-done)
	}
}

func TestPollLeavesTheWakeUp(t *testing.T) {
	p, ev := open(t), make([]Event, 8)
	p.Wake()
	_, err := p.Poll(ev)
	require.NoError(t, err)
	_, err = p.Wait(ev, -1)
	require.NoError(t, err)
}

func TestWaitEndsAfterItsTime(t *testing.T) {
	p := open(t)
	start := time.Now()
	n, err := p.Wait(make([]Event, 1), 20*time.Millisecond)
	require.NoError(t, err)
	require.Zero(t, n)
	require.GreaterOrEqual(t, time.Since(start), 20*time.Millisecond)
}

func TestFewerPlacesThanEvents(t *testing.T) {
	p, ev := open(t), make([]Event, 2)
	for i := range 5 {
		a, _ := pair(t)
		require.NoError(t, p.Add(a, int32(i), false, true))
	}
	n, err := p.Wait(ev, -1)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func TestCloseEndsWait(t *testing.T) {
	p, err := New()
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := p.Wait(make([]Event, 4), -1); err != nil {
				return
			}
		}
	}()
	require.NoError(t, p.Close())
	<-done
	require.ErrorIs(t, p.Close(), ErrClosed)
	_, err = p.Wait(make([]Event, 4), -1)
	require.ErrorIs(t, err, ErrClosed)
}

func TestPollDoesNotAllocate(t *testing.T) {
	p, ev := open(t), make([]Event, 8)
	a, b := pair(t)
	send(t, b)
	require.NoError(t, p.Add(a, 1, true, true))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		p.Poll(ev)
		p.Modify(a, 1, true, false)
		p.Wake()
		p.Wait(ev, -1)
	}))
}
