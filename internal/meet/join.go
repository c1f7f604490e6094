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
	"github.com/schedgen/schedgen/internal/transport/seal"
)

// joiner joins a rank to its parent, again and again until the outcome of all is known or ctx ends.
type joiner struct {
	n    *node
	ctx  context.Context
	bind string       // host for data
	data net.Listener // where this rank accepts connections afterwards
	to   int          // the rank to reach, now or last
	at   string       // its address
	last error        // why the last attempt failed

	// proven says that the process at that address has proved the key. Otherwise any process may
	// listen there: a rank without a key answers only when all ranks have come.
	proven bool
}

// joined is the result of joining: nil when all ranks are prepared.
type joined struct{ err error }

// joinParent returns when the result is posted.
func (j *joiner) joinParent() {
	err := j.keepTrying()
	j.n.post(func() error {
		j.n.outcome, j.n.going = &joined{err}, err == nil
		return err
	})
}

func (j *joiner) keepTrying() error {
	for pause := contact.FirstPause; ; pause = min(2*pause, contact.LastPause) {
		err := j.tryOnce()
		if err == nil || errors.As(err, new(*verdict)) || contact.IsFinal(err) {
			return err
		}
		if j.last == nil || j.ctx.Err() == nil && !timedOut(err) {
			j.last = err // later errors may only say that ctx has ended, before it has
			j.n.trouble.Set(j.absence() + ": " + err.Error())
		}
		if late := clock.Sleep(j.ctx, j.n.cfg.Clock, pause); late != nil {
			return fmt.Errorf("%s: %w (%w)", j.absence(), j.last, late)
		}
	}
}

// absence says which rank is missing.
func (j *joiner) absence() string {
	switch rank := RankList([]int{j.to}); {
	case !errors.Is(j.last, contact.ErrUnheard):
		return notCome([]int{j.to})
	case j.proven:
		return rank + " has gone and has not come again"
	default:
		return fmt.Sprintf("%s is not, or no longer, at %s", rank, j.at)
	}
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// tryOnce goes to the parent and waits for the outcome there. If only rank 0's door is known, it
// first asks rank 0 where the parent waits.
func (j *joiner) tryOnce() error {
	cfg := j.n.cfg
	parent := parentOf(cfg.Rank)
	if cfg.Doors != nil {
		return j.joinAt(parent, cfg.Doors(parent))
	}
	conn, err := j.reach(0, cfg.Coordinator)
	if err != nil {
		return err
	}
	if hasChildren(cfg.Rank, cfg.Size) && j.n.door == nil {
		if err := j.openDoor(conn); err != nil {
			conn.Close()
			return err
		}
	}
	if parent == 0 {
		return j.join(conn)
	}
	door, err := j.askForDoor(conn)
	if err != nil {
		return err
	}
	return j.joinAt(parent, door)
}

func (j *joiner) joinAt(rank int, addr string) error {
	conn, err := j.reach(rank, addr)
	if err != nil {
		return err
	}
	return j.join(conn)
}

// reach returns a connection to a rank, over which the key is proved.
func (j *joiner) reach(rank int, addr string) (net.Conn, error) {
	j.to, j.at, j.proven = rank, addr, false
	if j.last == nil {
		j.n.trouble.Set(fmt.Sprintf("%s has not answered yet at %s", RankList([]int{rank}), addr))
	}
	conn, err := j.n.cfg.Network.Dial(j.ctx, addr)
	if err != nil {
		err = fmt.Errorf("reach %s at %s: %w", j.who(), addr, err)
		if contact.IsFinal(err) { // the reason is this rank's own
			err = j.fault(err)
		}
		return nil, err
	}
	contact.WatchOver(conn)
	talk, err := j.introduce(conn)
	if err != nil {
		conn.Close()
		return talk, err
	}
	if j.proven = j.n.cfg.credentials.Mode != seal.Plain; j.proven {
		j.n.trouble.Set(fmt.Sprintf("it is connected with %s at %s, which has not said yet that all ranks have come", RankList([]int{rank}), addr))
	} else {
		j.n.trouble.Set(fmt.Sprintf("it is connected with %s, which has not said yet that it is %s and that all ranks have come", addr, RankList([]int{rank})))
	}
	return talk, nil
}

// introduce proves the key over conn, if there is one, until ctx ends.
func (j *joiner) introduce(conn net.Conn) (net.Conn, error) {
	stop := context.AfterFunc(j.ctx, func() { conn.SetDeadline(contact.LongAgo) })
	talk, err := j.n.cfg.credentials.Introduce(conn, j.who())
	if !stop() {
		return nil, fmt.Errorf("%s has not answered: %w", j.who(), context.Cause(j.ctx))
	}
	return talk, err
}

// who names the rank to reach, now or last.
func (j *joiner) who() string {
	if j.to == 0 {
		return "the coordinator"
	}
	return fmt.Sprintf("rank %d", j.to)
}

// openDoor lets the children come in at the local address of conn.
func (j *joiner) openDoor(conn net.Conn) error {
	ln, _, err := listenForLater(j.ctx, j.n.cfg, cmp.Or(j.n.cfg.Bind, hostOf(conn.LocalAddr())))
	if err != nil {
		return j.fault(err)
	}
	opened := make(chan struct{})
	if !j.n.post(func() error { j.n.openDoor(ln); close(opened); return nil }) {
		if j.n.cfg.Share == nil {
			ln.Close()
		}
		return context.Canceled
	}
	<-opened
	return nil
}

// askForDoor asks rank 0 where the parent waits, which rank 0 may not know yet.
func (j *joiner) askForDoor(conn net.Conn) (door string, err error) {
	l := newLink(conn)
	j.n.wg.Go(l.write)
	defer l.hangUp()
	defer j.quitInTime(l)()
	l.send(j.hello("", nil))
	r := bufio.NewReader(conn)
	if err := j.readFirst(r); err != nil {
		return "", err
	}
	b, err := contact.ReadBytes(r, contact.MaxText)
	if err != nil {
		return "", fmt.Errorf("%w: %w", contact.ErrUnheard, err)
	}
	return string(b), nil
}

// join says hello to the parent on conn and waits for the outcome.
func (j *joiner) join(conn net.Conn) error {
	l := newLink(conn)
	j.n.wg.Go(l.write)
	defer l.hangUp()
	addr, err := j.listen(conn)
	if err != nil {
		return err
	}
	defer j.quitInTime(l)()
	j.n.post(func() error { j.n.attach(l, j.hello(addr, j.n.cfg.Blob), addr); return nil })
	err = j.awaitOutcome(conn, bufio.NewReader(conn))
	if errors.As(err, new(*verdict)) {
		l.finish([]byte{reportAlive}, contact.FarewellTime)
		<-l.written
	}
	j.n.post(func() error { j.n.parent = nil; return nil })
	return err
}

// listen opens the listener of this rank, at the local address of conn.
func (j *joiner) listen(conn net.Conn) (addr string, err error) {
	bind := cmp.Or(j.n.cfg.Bind, hostOf(conn.LocalAddr()))
	if j.data != nil && j.bind != bind && j.n.cfg.Share == nil {
		j.data.Close()
		j.data = nil
	}
	if j.data == nil {
		j.bind = bind
		if j.data, _, err = listenForLater(j.ctx, j.n.cfg, bind); err != nil {
			return "", j.fault(err)
		}
	}
	return publicAddr(j.data)
}

// fault returns err as the reason why this rank cannot take part.
func (j *joiner) fault(err error) error {
	return &contact.FinalError{Err: &faultError{j.n.cfg.Rank, err}}
}

// hello returns this rank's hello. When it asks for a door, the hello does not contain its blob.
func (j *joiner) hello(addr string, blob []byte) []byte {
	cfg := j.n.cfg
	h := hello{rank: cfg.Rank, size: cfg.Size, job: cfg.Job, transport: cfg.Transport, addr: addr, blob: blob}
	if cfg.Doors == nil && j.n.door != nil {
		h.door, _ = publicAddr(j.n.door) // it was valid before
	}
	return appendHello(nil, &h)
}

// attach begins to represent this rank and those below it at the parent.
func (n *node) attach(l *link, hello []byte, addr string) {
	n.parent = l
	l.send(hello)
	n.roster.come[n.cfg.Rank] = entry{n.cfg.Rank, addr, n.cfg.Blob}
	var others []entry
	for _, e := range n.roster.all() {
		if e.rank != n.cfg.Rank {
			others = append(others, e)
		}
	}
	if len(others) > 0 {
		l.send(appendCome(nil, others))
	}
}

// quitInTime reports, when ctx ends, that this rank waits no longer, and limits the time for the
// answer.
func (j *joiner) quitInTime(l *link) (stop func() bool) {
	return context.AfterFunc(j.ctx, func() {
		l.send(appendAbout(nil, reportQuit, j.n.cfg.Rank, cmp.Or(context.Cause(j.ctx).Error(), "its time is over")))
		l.conn.SetReadDeadline(time.Now().Add(contact.FarewellTime))
	})
}

// awaitOutcome waits for the table and for the message that all are prepared.
func (j *joiner) awaitOutcome(conn net.Conn, r *bufio.Reader) error {
	if err := j.readFirst(r); err != nil {
		return err
	}
	cfg := j.n.cfg
	tab, err := cfg.decode(r, cfg.Size)
	if err == nil && hostIn(tab.Addrs[0]) == "" { // the other ranks' addresses have hosts already
		tab.Addrs[0], err = fillHost(tab.Addrs[0], conn.RemoteAddr())
	}
	if err != nil {
		if j.ctx.Err() != nil {
			return j.timeOver()
		}
		return &contact.FinalError{Err: fmt.Errorf("read the table of all ranks: %w", err)}
	}
	if err := deriveSession(cfg, tab); err != nil {
		return &contact.FinalError{Err: err}
	}
	j.n.post(func() error { j.n.table = tab; return nil })
	return j.readVerdict(r)
}

// readFirst reads the status with which the host's first message begins. If there is no status, the
// host has hung up without a verdict, and another attempt is due.
func (j *joiner) readFirst(r *bufio.Reader) error {
	if _, err := r.Peek(1); err != nil {
		if j.ctx.Err() != nil {
			return j.timeOver()
		}
		return fmt.Errorf("%w: %w", contact.ErrUnheard, err)
	}
	return j.readVerdict(r)
}

// readVerdict reads a status.
func (j *joiner) readVerdict(r io.Reader) error {
	why, err := contact.ReadStatus(r)
	switch {
	case err == nil && why == "":
		return nil
	case err == nil && j.ctx.Err() == nil:
		return &verdict{why}
	case err == nil:
		return fmt.Errorf("%w: %w", context.Cause(j.ctx), &verdict{why})
	case j.ctx.Err() != nil:
		return j.timeOver()
	case errors.As(err, new(*contact.LengthError)):
		return &contact.FinalError{Err: fmt.Errorf("%s should be %s, but is no rank of this job: %w", j.at, j.who(), err)}
	}
	return &contact.FinalError{Err: fmt.Errorf("%s hung up: %w", j.who(), err)}
}

// timeOver returns the error of a rank whose time is over.
func (j *joiner) timeOver() error {
	return &contact.FinalError{Err: fmt.Errorf("wait for the other ranks: %w", context.Cause(j.ctx))}
}

// verdict is rank 0's reason why there is no communicator.
type verdict struct{ why string }

func (v *verdict) Error() string { return "the coordinator says: " + v.why }
