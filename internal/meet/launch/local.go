package launch

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/notice"
)

const (
	helloTime  = time.Second // a connection that has not named its rank by then is turned away
	firstPause = time.Millisecond
	lastPause  = 100 * time.Millisecond
	maxLine    = 256
)

// meetLocal lets the ranks of one host meet. Rank 0 tells its address, on the loopback interface,
// at a socket named after the job. It removes the socket when all ranks have asked or the address
// is no longer used, so that the job may meet again.
func meetLocal(ctx context.Context, p *Position, job string) (MeetingPoint, error) {
	path, err := socketOf(job)
	if err != nil {
		return MeetingPoint{}, err
	}
	if p.Rank > 0 {
		addr, err := askLocal(ctx, p, path)
		return MeetingPoint{Coordinator: addr}, err
	}
	l, err := listenLoopback(ctx)
	if err != nil {
		return MeetingPoint{}, err
	}
	a, err := announce(p, path, l)
	if err != nil {
		return MeetingPoint{}, errors.Join(err, l.Close())
	}
	return MeetingPoint{Coordinator: l.Addr().String(), Listener: a}, nil
}

func listenLoopback(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		var second error
		if l, second = lc.Listen(ctx, "tcp", "[::1]:0"); second != nil {
			return nil, fmt.Errorf("listen on the loopback interface: %w", err)
		}
	}
	return l, nil
}

// socketOf returns the path of the job's socket, in a directory that only this user can enter.
func socketOf(job string) (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("schedgen-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	owner, _ := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || owner == nil || int(owner.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a directory that only this user can enter", dir)
	}
	sum := sha256.Sum256([]byte(job))
	return filepath.Join(dir, fmt.Sprintf("%x", sum[:10])), nil
}

// announced is a listener whose address is available at a socket.
type announced struct {
	net.Listener
	socket net.Listener
	hush   sync.Once
	told   sync.WaitGroup
	err    atomic.Pointer[error] // why the address is no longer available
}

// announce gives the address of l at path to all other ranks of p, until all have asked or the
// returned listener is closed.
func announce(p *Position, path string, l net.Listener) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err // a job that died has left it
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	a := &announced{Listener: l, socket: socket}
	a.told.Go(func() { a.answerAll(p.Size) })
	return a, nil
}

// Accept is the listener's Accept. If other ranks cannot learn the address, its error says why.
func (a *announced) Accept() (net.Conn, error) {
	conn, err := a.Listener.Accept()
	if why := a.err.Load(); err != nil && why != nil {
		err = *why
	}
	return conn, err
}

// Close closes the listener and the socket.
func (a *announced) Close() error {
	err := a.Listener.Close()
	a.silence()
	a.told.Wait()
	return err
}

// silence closes the socket. The error of closing does not matter.
func (a *announced) silence() { a.hush.Do(func() { _ = a.socket.Close() }) }

// answerAll answers each connection until all ranks have asked.
func (a *announced) answerAll(size int) {
	defer a.silence()
	asked := make([]bool, size)
	for left := size - 1; left > 0; {
		conn, err := a.socket.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				err = fmt.Errorf("tell the ranks of this host where to meet: %w", err)
				a.err.Store(&err)
				_ = a.Listener.Close() // Accept returns the reason
			}
			return
		}
		rank, err := answerOne(conn, a.Addr().String())
		if err == nil && rank > 0 && rank < size && !asked[rank] {
			asked[rank] = true
			left--
		}
	}
}

// answerOne answers one connection and returns its rank. A mistake of a stranger is no error of the
// job. Whether a rank fits is checked where all ranks meet.
func answerOne(conn net.Conn, addr string) (rank int, err error) {
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(helloTime)); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxLine)).ReadString('\n')
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscanf(line, "rank %d\n", &rank); err != nil {
		return 0, err
	}
	_, err = io.WriteString(conn, addr+"\n")
	return rank, err
}

// askLocal asks rank 0, which may not have come yet, until ctx ends.
func askLocal(ctx context.Context, p *Position, path string) (string, error) {
	var trouble notice.Trouble
	defer notice.Wait(p.Clock, p.Log, func() string {
		return fmt.Sprintf("rank %d of %d waits: rank 0 has not come to this host: %v", p.Rank, p.Size, &trouble)
	})()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		addr, err := askOnce(ctx, p, path)
		if err == nil {
			return addr, nil
		}
		trouble.Set(err.Error())
		if late := clock.Sleep(ctx, clock.OrSystem(p.Clock), pause); late != nil {
			return "", fmt.Errorf("rank 0 has not come: ask it for its address: %w (%w)", late, err)
		}
	}
}

func askOnce(ctx context.Context, p *Position, path string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(longAgo) })
	defer stop()
	if _, err := fmt.Fprintf(conn, "rank %d\n", p.Rank); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxLine)).ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}
