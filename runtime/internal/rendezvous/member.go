package rendezvous

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/clock"
)

// longAgo as a deadline ends a blocked read or write at once.
var longAgo = time.Unix(1, 0)

const (
	firstPause = 5 * time.Millisecond
	lastPause  = 250 * time.Millisecond
	dialLimit  = 3 * time.Second
)

// reach connects to the coordinator, which may not be up yet: it tries again,
// with growing pauses, until ctx ends or trying again is of no use.
func reach(ctx context.Context, cfg *Config) (net.Conn, error) {
	var lastErr error
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		conn, err := Dial(ctx, cfg.Clock, cfg.Coordinator, dialLimit)
		if err == nil {
			return conn, nil
		}
		if hopeless(err) {
			return nil, fmt.Errorf("reach the coordinator at %s: %w", cfg.Coordinator, err)
		}
		if lastErr == nil || ctx.Err() == nil && !timedOut(err) {
			lastErr = err // others may only say that ctx has ended, before it does itself
		}
		if err := clock.Sleep(ctx, cfg.Clock, pause); err != nil {
			return nil, fmt.Errorf("%s: reach the coordinator at %s: %w (%w)", notCome([]int{0}), cfg.Coordinator, err, lastErr)
		}
	}
}

// hopeless reports whether a dial has failed for a reason of this host alone, which
// does not pass: it is out of descriptors, or its loopback interface is down.
func hopeless(err error) bool {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return true
	}
	var op *net.OpError
	if !errors.As(err, &op) {
		return false
	}
	to, ok := op.Addr.(*net.TCPAddr)
	return ok && to.IP.IsLoopback() && (errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EADDRNOTAVAIL))
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// errUnheard: the coordinator has hung up before it has said anything.
var errUnheard = errors.New("the coordinator hung up")

// attend says hello on conn, waits for the table, prepares, and waits until
// all have.
func attend(ctx context.Context, cfg *Config, conn net.Conn, addr string) (*Meeting, error) {
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(longAgo); close(interrupted) })
	defer stop()
	var tab *Meeting
	talk, err := introduced(cfg, conn)
	r := bufio.NewReader(talk)
	if err == nil {
		tab, err = attendTable(cfg, talk, r, addr)
	}
	if err == nil {
		err = attendGo(cfg, talk, r, tab)
	}
	if ctx.Err() == nil {
		return tab, err
	}
	<-interrupted
	if errors.Is(err, errSilence) {
		err = giveUp(talk, r, context.Cause(ctx))
	}
	if errors.As(err, new(*verdict)) {
		return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return nil, fmt.Errorf("wait for the other ranks: %w", context.Cause(ctx))
}

// errSilence: this rank has stopped waiting for the coordinator's first word.
var errSilence = errors.New("the coordinator has said nothing")

// listenFirst waits for the coordinator's first word, and leaves it to be read.
func listenFirst(r *bufio.Reader) error {
	switch _, err := r.Peek(1); {
	case err == nil:
		return nil
	case timedOut(err):
		return fmt.Errorf("%w: %w", errSilence, err)
	default:
		return fmt.Errorf("%w: %w", errUnheard, err)
	}
}

// giveUp tells the coordinator that this rank waits no longer, and hears who is
// missing.
func giveUp(conn net.Conn, r io.Reader, cause error) error {
	conn.SetDeadline(time.Now().Add(farewellTime))
	if _, err := conn.Write(appendStatus(nil, cmp.Or(cause.Error(), "its time is over"))); err != nil {
		return err
	}
	return readVerdict(r)
}

func attendTable(cfg *Config, conn net.Conn, r *bufio.Reader, addr string) (*Meeting, error) {
	h := hello{rank: cfg.Rank, size: cfg.Size, job: cfg.Job, addr: addr, blob: cfg.Blob}
	if _, err := conn.Write(appendHello(nil, &h)); err != nil {
		return nil, fmt.Errorf("%w: say hello: %w", errUnheard, err)
	}
	if err := listenFirst(r); err != nil {
		return nil, err
	}
	if err := readVerdict(r); err != nil {
		return nil, err
	}
	tab, err := readTable(r, cfg.Size)
	if err != nil {
		return nil, fmt.Errorf("read the coordinator's table: %w", err)
	}
	tab.Addrs[0], err = fillHost(tab.Addrs[0], conn.RemoteAddr())
	if err != nil {
		return nil, fmt.Errorf("address of rank 0: %w", err)
	}
	return tab, share(cfg, tab)
}

// attendGo reports whether this rank could prepare itself, and hears whether
// all could.
func attendGo(cfg *Config, conn net.Conn, r io.Reader, tab *Meeting) error {
	own := prepare(cfg, tab)
	if _, err := conn.Write(appendStatus(nil, reason(own))); err != nil && own == nil {
		return fmt.Errorf("tell the coordinator: %w", err)
	}
	if own != nil {
		drain(conn)
		return own
	}
	return readVerdict(r)
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func readVerdict(r io.Reader) error {
	why, err := readStatus(r)
	if err != nil {
		return fmt.Errorf("the coordinator hung up: %w", err)
	}
	if why != "" {
		return &verdict{why}
	}
	return nil
}

// verdict is why the coordinator says that there is no communicator.
type verdict struct{ why string }

func (v *verdict) Error() string { return "the coordinator says: " + v.why }
