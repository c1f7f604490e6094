package meet

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet/internal/contact"
	"github.com/schedgen/schedgen/internal/notice"
	"github.com/schedgen/schedgen/internal/transport/seal"
)

// guest is a rank other than 0. It comes to rank 0, again and again until the outcome of all is
// known or its context ends.
type guest struct {
	cfg  *Config
	bind string       // host for data
	data net.Listener // where this rank accepts connections afterwards
	last error        // why the last attempt failed

	// proven says that the process at the coordinator's address has proved the key. Otherwise any
	// process may listen there: a rank 0 without a key answers only when all ranks have come.
	proven bool

	told    bool           // rank 0 has been told this rank's fault
	trouble notice.Trouble // what this rank waits for, or what keeps it from joining
}

// join returns when all ranks are prepared, or none will be.
func (g *guest) join(ctx context.Context) (*Meeting, error) {
	stop := notice.Wait(g.cfg.Clock, g.cfg.Log, func() string {
		return fmt.Sprintf("rank %d of %d waits: %s", g.cfg.Rank, g.cfg.Size, g.trouble.String())
	})
	defer stop()
	defer context.AfterFunc(ctx, stop)() // it then waits only for an answer
	for pause := contact.FirstPause; ; pause = min(2*pause, contact.LastPause) {
		m, err := g.tryOnce(ctx)
		if err == nil || errors.As(err, new(*verdict)) || contact.IsFinal(err) {
			return m, err
		}
		if g.last == nil || ctx.Err() == nil && !timedOut(err) {
			g.last = err // later errors may only say that ctx has ended, before it has
			g.trouble.Set(g.absence() + ": " + err.Error())
		}
		if late := clock.Sleep(ctx, g.cfg.Clock, pause); late != nil {
			return nil, fmt.Errorf("%s: %w (%w)", g.absence(), g.last, late)
		}
	}
}

// absence says that rank 0 is not there.
func (g *guest) absence() string {
	switch {
	case !errors.Is(g.last, contact.ErrUnheard):
		return notCome([]int{0})
	case g.proven:
		return "rank 0 has gone and has not come again"
	}
	return "rank 0 is not, or no longer, at " + g.cfg.Coordinator
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// tryOnce goes to rank 0, says hello, and waits for the outcome there.
func (g *guest) tryOnce(ctx context.Context) (*Meeting, error) {
	conn, err := g.reach(ctx)
	if err != nil {
		return nil, err
	}
	l := newLink(conn)
	go l.write()
	defer func() {
		l.hangUp()
		<-l.written
	}()
	addr, err := g.listen(ctx, conn)
	if err != nil {
		return nil, err
	}
	defer quitInTime(ctx, l)()
	cfg := g.cfg
	l.send(appendHello(nil, &hello{rank: cfg.Rank, size: cfg.Size, job: cfg.Job, transport: cfg.Transport, addr: addr, blob: cfg.Blob}))
	m, err := g.await(ctx, l)
	if errors.As(err, new(*verdict)) {
		l.finish([]byte{reportAlive}, contact.FarewellTime)
		<-l.written
	}
	return m, err
}

// reach returns a connection to rank 0, over which the key is proved.
func (g *guest) reach(ctx context.Context) (net.Conn, error) {
	at := g.cfg.Coordinator
	g.proven = false
	if g.last == nil {
		g.trouble.Set("rank 0 has not answered yet at " + at)
	}
	conn, err := g.cfg.Network.Dial(ctx, at)
	if err != nil {
		err = fmt.Errorf("reach the coordinator at %s: %w", at, err)
		if contact.IsFinal(err) { // the reason is this rank's own
			err = g.fault(err)
		}
		return nil, err
	}
	contact.WatchOver(conn)
	talk, err := g.introduce(ctx, conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	if g.proven = g.cfg.credentials.Mode != seal.Plain; g.proven {
		g.trouble.Set(fmt.Sprintf("it is connected with rank 0 at %s, which has not said yet that all ranks have come", at))
	} else {
		g.trouble.Set(fmt.Sprintf("it is connected with %s, which has not said yet that it is rank 0 and that all ranks have come", at))
	}
	return talk, nil
}

// introduce proves the key over conn, if there is one, until ctx ends.
func (g *guest) introduce(ctx context.Context, conn net.Conn) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(contact.LongAgo) })
	talk, err := g.cfg.credentials.Introduce(conn, "the coordinator")
	if !stop() {
		return nil, fmt.Errorf("the coordinator has not answered: %w", context.Cause(ctx))
	}
	return talk, err
}

// listen opens the listener of this rank, at the local address of conn.
func (g *guest) listen(ctx context.Context, conn net.Conn) (addr string, err error) {
	bind := cmp.Or(g.cfg.Bind, hostOf(conn.LocalAddr()))
	if g.data != nil && g.bind != bind && g.cfg.Share == nil {
		g.data.Close()
		g.data = nil
	}
	if g.data == nil {
		g.bind = bind
		if g.data, _, err = listenForLater(ctx, g.cfg, bind); err != nil {
			return "", g.fault(err)
		}
	}
	return publicAddr(g.data)
}

// fault returns err as the reason why this rank cannot take part.
func (g *guest) fault(err error) error {
	return &contact.FinalError{Err: &faultError{g.cfg.Rank, err}}
}

// quitInTime reports, when ctx ends, that this rank waits no longer, and limits the time for the
// answer.
func quitInTime(ctx context.Context, l *link) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		l.send(appendReport(nil, reportQuit, cmp.Or(context.Cause(ctx).Error(), "its time is over")))
		l.conn.SetReadDeadline(time.Now().Add(contact.FarewellTime))
	})
}

// await waits for the table, prepares this rank, and waits for the message that all are prepared.
func (g *guest) await(ctx context.Context, l *link) (*Meeting, error) {
	r := bufio.NewReader(l.conn)
	if err := g.readFirst(ctx, r); err != nil {
		return nil, err
	}
	m, err := g.cfg.decode(r, g.cfg.Size)
	if err != nil {
		if ctx.Err() != nil {
			return nil, timeOver(ctx)
		}
		return nil, &contact.FinalError{Err: fmt.Errorf("read the table of all ranks: %w", err)}
	}
	if err := deriveSession(g.cfg, m); err != nil {
		return nil, &contact.FinalError{Err: err}
	}
	m.Listener = g.data
	g.trouble.Set("all ranks have come, and not all are prepared")
	return m, g.prepare(ctx, l, r, m)
}

// prepare prepares this rank, tells rank 0 the result, and returns the outcome of all. If the
// meeting fails meanwhile, the preparation ends.
func (g *guest) prepare(ctx context.Context, l *link, r io.Reader, m *Meeting) error {
	preparing, end := context.WithCancelCause(ctx)
	defer end(nil)
	prepared, outcome := make(chan error, 1), make(chan error, 1)
	go func() { prepared <- prepare(preparing, g.cfg, m) }()
	go func() {
		err := g.readVerdict(ctx, r)
		if err != nil {
			end(err)
		}
		outcome <- err
	}()
	err := <-prepared
	if preparing.Err() != nil { // the outcome is known, or this rank's time is over
		return <-outcome
	}
	if err == nil {
		l.send([]byte{reportReady})
		return <-outcome
	}
	own := &faultError{g.cfg.Rank, err}
	l.send(appendReport(nil, reportFault, own.Error()))
	l.conn.SetReadDeadline(time.Now().Add(contact.FarewellTime))
	<-outcome // rank 0 has heard it, or cannot hear it
	g.told = true
	return &contact.FinalError{Err: own}
}

// readFirst reads the status with which rank 0's first message begins. If there is no status, rank
// 0 has hung up without a verdict, and another attempt is due.
func (g *guest) readFirst(ctx context.Context, r *bufio.Reader) error {
	if _, err := r.Peek(1); err != nil {
		if ctx.Err() != nil {
			return timeOver(ctx)
		}
		return fmt.Errorf("%w: %w", contact.ErrUnheard, err)
	}
	return g.readVerdict(ctx, r)
}

// readVerdict reads a status.
func (g *guest) readVerdict(ctx context.Context, r io.Reader) error {
	why, err := contact.ReadStatus(r)
	switch {
	case err == nil && why == "":
		return nil
	case err == nil && ctx.Err() == nil:
		return &verdict{why}
	case err == nil:
		return fmt.Errorf("%w: %w", context.Cause(ctx), &verdict{why})
	case ctx.Err() != nil:
		return timeOver(ctx)
	case errors.As(err, new(*contact.LengthError)):
		return &contact.FinalError{Err: fmt.Errorf("%s should be the coordinator, but is no rank of this job: %w", g.cfg.Coordinator, err)}
	}
	return &contact.FinalError{Err: fmt.Errorf("the coordinator hung up: %w", err)}
}

// timeOver returns the error of a rank whose time is over.
func timeOver(ctx context.Context) error {
	return &contact.FinalError{Err: fmt.Errorf("wait for the other ranks: %w", context.Cause(ctx))}
}

// verdict is rank 0's reason why there is no communicator.
type verdict struct{ why string }

func (v *verdict) Error() string { return "the coordinator says: " + v.why }
