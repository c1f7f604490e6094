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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
)

const (
	helloTime  = time.Second // who has connected and not said its rank by then is turned away
	firstPause = time.Millisecond
	lastPause  = 100 * time.Millisecond
	maxLine    = 256
)

// meetLocal is for ranks of one host: rank 0 tells its address, on the loopback
// interface, at a socket that is named after the job. The socket is gone when all
// have asked, so that the job may meet again.
func meetLocal(ctx context.Context, p *Position, job string) (Meeting, error) {
	path, err := socketOf(job)
	if err != nil {
		return Meeting{}, err
	}
	if p.Rank > 0 {
		addr, err := askLocal(ctx, p, path)
		return Meeting{Coordinator: addr}, err
	}
	l, err := listenLoopback(ctx)
	if err != nil {
		return Meeting{}, err
	}
	if err := tellLocal(ctx, p, path, l.Addr().String()); err != nil {
		return Meeting{}, errors.Join(err, l.Close())
	}
	return Meeting{Coordinator: l.Addr().String(), Listener: l}, nil
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

// socketOf returns the path of the job's socket, in a directory that only this
// user can enter.
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

// tellLocal tells every other rank addr, once.
func tellLocal(ctx context.Context, p *Position, path, addr string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // one that a job has left that died
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { l.SetDeadline(longAgo) })
	defer stop()
	answered := make([]bool, p.Size)
	answered[0] = true
	for slices.Contains(answered, false) {
		conn, err := l.Accept()
		if err != nil {
			return fmt.Errorf("wait for %s: %w", absent(answered), because(ctx, err))
		}
		rank, err := tellOne(conn, p.Size, addr)
		switch {
		case errors.Is(err, errSize):
			return err
		case err == nil:
			answered[rank] = true
		}
	}
	return nil
}

var errSize = errors.New("ranks were told different sizes")

// tellOne answers one connection and returns whose it was. What a stranger does
// is no error of the job's.
func tellOne(conn net.Conn, size int, addr string) (rank int, err error) {
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(helloTime)); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxLine)).ReadString('\n')
	if err != nil {
		return 0, err
	}
	var its int
	if _, err := fmt.Sscanf(line, "rank %d of %d\n", &rank, &its); err != nil {
		return 0, err
	}
	if its != size || rank < 1 || rank >= size {
		return 0, fmt.Errorf("%w: rank %d of %d, rank 0 of %d", errSize, rank, its, size)
	}
	_, err = io.WriteString(conn, addr+"\n")
	return rank, err
}

// absent names the ranks that have not asked.
func absent(answered []bool) string {
	const most = 8
	var names []string
	for rank, ok := range answered {
		if !ok {
			names = append(names, fmt.Sprint(rank))
		}
	}
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("and %d more", n-most))
	}
	return "ranks " + strings.Join(names, ", ")
}

// because puts why ctx has ended in the place of an error that only follows
// from it.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// askLocal asks rank 0, which may not be there yet, until ctx ends.
func askLocal(ctx context.Context, p *Position, path string) (string, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		addr, err := askOnce(ctx, p, path)
		if err == nil {
			return addr, nil
		}
		if late := clock.Sleep(ctx, clock.OrSystem(p.Clock), pause); late != nil {
			return "", fmt.Errorf("ask rank 0 for its address: %w (%w)", late, err)
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
	if _, err := fmt.Fprintf(conn, "rank %d of %d\n", p.Rank, p.Size); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxLine)).ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}
