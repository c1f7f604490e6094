package cast

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/meet/lobby"
)

// A sender calls a receiver that stands on a host by a connection, which it keeps for the cast:
//
//	sender    "schedgen-call 1 PORT NAME"
//	receiver  "come", and at the end "done", or "failed REASON"
//	receiver  or at once "busy"
//
// The receiver enters the lobby at PORT of the caller's address. There both prove that they know
// the key. So a stranger who calls learns only that a receiver stands there.

// StandPort is the default TCP port of receivers that stand.
const StandPort = "7718"

const (
	callWord = "schedgen-call 1 "
	comeWord = "come"
	busyWord = "busy"
	doneWord = "done"
	failWord = "failed "

	// maxCall is the greatest length of a line in bytes.
	maxCall = 1 << 10
	// callPatience is the longest time that a caller or a receiver may take for its first line.
	callPatience = 10 * time.Second
	// maxCalls is the greatest number of calls that a receiver answers at a time.
	maxCalls = 4
)

// errNoKey says that receivers that are called need a key.
var errNoKey = errors.New("receivers that are called need a key: without one anybody could write to the hosts")

// errNoCall is the error of a connection that has hung up before it has said anything, such as one
// that tries whether the port answers.
var errNoCall = errors.New("no call")

// Stand waits for calls at l, and receives the cast of each caller that knows the key of o. It does
// not use o.From. At most four casts run at a time. Stand returns when ctx ends, which closes l, or
// when l fails.
func Stand(ctx context.Context, l net.Listener, o JoinOptions) error {
	if len(o.Key) == 0 {
		return errNoKey
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	events := newEvents(o.Events)
	o.Events = events.emit
	slots := make(chan struct{}, maxCalls)
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("wait for calls: %w", err)
		}
		select {
		case slots <- struct{}{}:
			all.Go(func() {
				defer func() { <-slots }()
				defer conn.Close()
				answer(ctx, conn, o, events)
			})
		default:
			all.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(callPatience))
				_, _ = io.WriteString(conn, busyWord+"\n") // the caller has the same time limit
			})
		}
	}
}

// answer receives the cast of a caller, and tells the caller the outcome.
func answer(ctx context.Context, conn net.Conn, o JoinOptions, events *events) {
	from := conn.RemoteAddr().String()
	in := bufio.NewReaderSize(conn, maxCall)
	port, name, err := readCall(conn, in)
	switch {
	case errors.Is(err, errNoCall):
		return
	case err != nil:
		events.notice(from, fmt.Sprintf("not a call: %v", err))
		return
	}
	host, _, err := net.SplitHostPort(from)
	if err != nil {
		events.notice(from, err.Error())
		return
	}
	o.From, o.Name = net.JoinHostPort(host, port), name
	ctx, hangUp := context.WithCancelCause(ctx)
	defer hangUp(nil)
	var listening sync.WaitGroup
	listening.Go(func() {
		_, _ = io.Copy(io.Discard, in) // only the end comes
		hangUp(errHungUp)
	})
	defer listening.Wait()
	defer conn.Close() // ends the listening
	events.notice("", "called by "+o.From)
	text := doneWord
	totals, err := ReceiveFrom(ctx, o)
	if err != nil {
		text = failWord + strings.Map(inLine, shorten(err.Error()))
	}
	events.notice("", fmt.Sprintf("cast of %s: %s, %d entries, %d bytes", o.From, text, totals.Entries, totals.Bytes))
	_ = conn.SetDeadline(time.Now().Add(callPatience))
	_, _ = io.WriteString(conn, text+"\n") // a caller that is gone needs no answer
}

// inLine replaces line breaks by spaces.
func inLine(r rune) rune {
	if r == '\n' || r == '\r' {
		return ' '
	}
	return r
}

// readCall reads a call and answers that the receiver comes.
func readCall(conn net.Conn, in *bufio.Reader) (port, name string, err error) {
	if err := conn.SetDeadline(time.Now().Add(callPatience)); err != nil {
		return "", "", err
	}
	line, err := in.ReadSlice('\n')
	if err == io.EOF && len(line) == 0 {
		err = errNoCall
	}
	if err != nil {
		return "", "", err
	}
	text, ok := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), callWord)
	port, name, named := strings.Cut(text, " ")
	if n, err := strconv.ParseUint(port, 10, 16); !ok || !named || err != nil || n == 0 || name == "" || len(name) > lobby.MaxName {
		return "", "", fmt.Errorf("the line is %.40q", line)
	}
	if _, err := io.WriteString(conn, comeWord+"\n"); err != nil {
		return "", "", err
	}
	return port, name, conn.SetDeadline(time.Time{})
}

// call calls a receiver that stands on a host, and waits until it has ended.
func (c *crew) call(ctx context.Context, h *crewHost) error {
	conn, err := c.dial(ctx, h)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	in := bufio.NewReaderSize(conn, maxCall)
	line, err := c.ask(conn, in, h.name)
	switch {
	case err != nil:
		return orCause(ctx, fmt.Errorf("call %v: %w", conn.RemoteAddr(), err))
	case line == busyWord:
		return errors.New("its receiver is busy with other casts")
	case line != comeWord:
		return fmt.Errorf("call %v: another program answers there: %.40q", conn.RemoteAddr(), line)
	}
	c.become(h, hostRuns)
	if line, err = readCallLine(in); err != nil {
		return orCause(ctx, fmt.Errorf("its receiver has gone: %w", err))
	}
	if reason, failed := strings.CutPrefix(line, failWord); failed {
		return errors.New(reason)
	}
	return nil
}

// orCause returns the cause of ctx if ctx has ended, and otherwise err.
func orCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// dial waits for the host's turn and connects to its receiver.
func (c *crew) dial(ctx context.Context, h *crewHost) (net.Conn, error) {
	if err := c.enter(ctx, h); err != nil {
		return nil, err
	}
	defer c.exit()
	d := net.Dialer{Timeout: cmp.Or(c.start.ssh.Connect, callPatience)}
	at := h.name
	if _, _, err := net.SplitHostPort(at); err != nil {
		at = net.JoinHostPort(strings.Trim(at, "[]"), c.start.call)
	}
	conn, err := d.DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, orCause(ctx, err)
	}
	seen, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c.mu.Lock()
	h.seen = seen // with a translation of addresses, the host sees another one
	c.mu.Unlock()
	return conn, nil
}

// ask asks a receiver to come, and returns its answer.
func (c *crew) ask(conn net.Conn, in *bufio.Reader, name string) (string, error) {
	if err := conn.SetDeadline(time.Now().Add(callPatience)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "%s%d %s\n", callWord, c.start.at.listener.Port(), name); err != nil {
		return "", err
	}
	line, err := readCallLine(in)
	if err != nil {
		return "", err
	}
	return line, conn.SetDeadline(time.Time{})
}

// readCallLine reads a line, and returns it without its line break.
func readCallLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(line), "\n"), nil
}
