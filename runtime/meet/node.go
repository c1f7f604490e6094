package meet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/schedgen/schedgen/runtime/internal/notice"
)

// node is a rank while the communicator is built. It belongs to the goroutine inside run, to which
// other goroutines post functions.
type node struct {
	cfg    *Config
	id     [16]byte // drawn by rank 0
	roster roster
	below  map[int]*slot // by rank: the ranks directly below
	guide  guide
	up     *link // connection to the rank above, if there is one now
	late   bool  // the next news wait for a batch
	tab    *Meeting
	going  bool // the rank above says that all are prepared

	inbox  chan func() error
	closed chan struct{} // closed when posted functions are no longer run
	why    string        // the outcome, "" if it is good; valid after closed is closed
	end    *ending       // the result of the climb

	trouble notice.Trouble // the progress of the climb, or its problem

	door   net.Listener // where the ranks below come in
	guests guests
	early  earlies
	over   context.Context // ends the hellos
	hush   context.CancelFunc
	wg     sync.WaitGroup
}

func newNode(cfg *Config) *node {
	n := &node{
		cfg: cfg, roster: newRoster(cfg.Rank, cfg.Size), below: map[int]*slot{}, guide: newGuide(),
		inbox: make(chan func() error), closed: make(chan struct{}), guests: guests{most: fanOut + spareGuests},
	}
	n.over, n.hush = context.WithCancel(context.Background())
	if cfg.Rank == 0 && cfg.Doors == nil {
		n.guests.most = cfg.Size + spareGuests
	}
	n.early.most = cfg.Size + spareGuests
	for rank := cfg.Rank*fanOut + 1; rank < cfg.Size && rank <= cfg.Rank*fanOut+fanOut; rank++ {
		n.below[rank] = &slot{}
	}
	return n
}

// post makes run call do and reports whether it will.
func (n *node) post(do func() error) bool {
	select {
	case n.inbox <- do:
		return true
	case <-n.closed:
		return false
	}
}

// until runs posted functions until done.
func (n *node) until(ctx context.Context, done func() bool) error {
	for !done() {
		select {
		case do := <-n.inbox:
			if err := do(); err != nil {
				return err
			}
		case <-ctx.Done():
			return &lateError{context.Cause(ctx)}
		}
	}
	return nil
}

// lateError says that this rank's time is over.
type lateError struct{ cause error }

func (e *lateError) Error() string { return e.cause.Error() }

func (e *lateError) Unwrap() error { return e.cause }

// run returns when all ranks are prepared, or none will be. giveUp ends the climb, which all ranks
// except 0 have.
func (n *node) run(ctx context.Context, giveUp context.CancelCauseFunc) (*Meeting, error) {
	stop := notice.Wait(n.cfg.Clock, n.cfg.Log, n.waits)
	err := n.meet(ctx)
	stop()
	if err != nil {
		err = n.explain(err, giveUp)
	}
	n.why = n.reason(err)
	close(n.closed)
	n.dismiss()
	if err != nil && n.door != nil {
		n.cfg.Clock.AfterFunc(graceTime, n.hush)
		<-n.over.Done()
	} else if n.cfg.Share == nil {
		n.guests.close()
	}
	n.hush()
	if shut := n.shut(); err == nil {
		err = shut
	}
	early := n.early.take()
	if err != nil {
		for _, e := range early {
			e.Conn.Close()
		}
		return nil, err
	}
	n.tab.Early = early
	n.tab.Refused, _ = n.guests.count()
	return n.tab, nil
}

// meet is the course of a successful meeting.
func (n *node) meet(ctx context.Context) error {
	if err := n.until(ctx, func() bool { return n.tab != nil }); err != nil {
		return err
	}
	if err := n.handOut(); err != nil {
		return err
	}
	if err := prepare(n.cfg, n.tab); err != nil {
		return &unpreparedError{err}
	}
	if err := n.until(ctx, func() bool { return len(n.unprepared()) == 0 }); err != nil || n.cfg.Rank == 0 {
		return err
	}
	if n.up != nil { // otherwise the climb reports its result in a moment
		n.up.send([]byte{noteReady})
	}
	return n.until(ctx, func() bool { return n.going })
}

// waits says what this rank waits for, or "" when it waits no longer. Any goroutine may call it.
func (n *node) waits() string {
	words := make(chan string, 1)
	if !n.post(func() error {
		words <- fmt.Sprintf("rank %d of %d waits: %s", n.cfg.Rank, n.cfg.Size, n.waitsFor())
		return nil
	}) {
		return ""
	}
	return <-words
}

func (n *node) waitsFor() string {
	switch {
	case n.tab != nil && len(n.unprepared()) > 0:
		return "not yet prepared: " + n.inTree()
	case n.tab != nil:
		return "all ranks have come, and not all are prepared"
	case n.cfg.Rank == 0:
		why, besides, _ := n.absent()
		return why + besides
	}
	return n.trouble.String()
}

// handOut sends the table to the ranks directly below.
func (n *node) handOut() error {
	if len(n.below) == 0 {
		return nil
	}
	msg := appendTable(nil, n.tab)
	for rank, s := range n.below {
		if s.link == nil {
			return &tooLateError{rank, n.roster.gone[rank]}
		}
		s.link.send(msg)
	}
	return n.standIn()
}

// standIn fills in rank 0's address in its own table, if rank 0 accepts connections at all its
// addresses. It uses the address at which rank 1 has reached it, which is also in rank 1's table:
// all ranks of one host must see that they are on one host.
func (n *node) standIn() (err error) {
	if n.cfg.Rank == 0 && hostIn(n.tab.Addrs[0]) == "" {
		n.tab.Addrs[0], err = fillHost(n.tab.Addrs[0], n.below[1].link.conn.LocalAddr())
	}
	return err
}

// tooLateError is the error of a rank that has gone after all had arrived.
type tooLateError struct {
	rank int
	why  string
}

func (e *tooLateError) Error() string {
	return fmt.Sprintf("rank %d has gone after all had arrived: %s", e.rank, e.why)
}

// unpreparedError is why this rank could not prepare itself.
type unpreparedError struct{ error }

func (e *unpreparedError) Unwrap() error { return e.error }

// explain turns an error of meet into the caller's error.
func (n *node) explain(err error, giveUp context.CancelCauseFunc) error {
	late := errors.As(err, new(*lateError))
	switch {
	case n.cfg.Rank > 0:
		return n.appeal(err, late, giveUp)
	case late && n.tab == nil:
		return n.absence(errors.Unwrap(err))
	case late:
		return fmt.Errorf("wait for %s to be prepared: %w", n.inTree(), errors.Unwrap(err))
	}
	return err
}

// appeal reports an error to the rank above, and waits for the outcome of all.
func (n *node) appeal(err error, late bool, giveUp context.CancelCauseFunc) error {
	if n.end != nil {
		return err
	}
	if n.up != nil && !late {
		n.up.send(appendFault(nil, n.blame(err)))
	}
	giveUp(err)
	for n.end == nil {
		_ = (<-n.inbox)() // the first error counts
	}
	if late {
		return n.end.err
	}
	return err
}

// blame says which rank an error belongs to.
func (n *node) blame(err error) string {
	if errors.As(err, new(*unpreparedError)) {
		return fmt.Sprintf("rank %d: %v", n.cfg.Rank, err)
	}
	return err.Error()
}

// reason is the text for the ranks below.
func (n *node) reason(err error) string {
	if n.end != nil {
		if v := new(verdict); errors.As(n.end.err, &v) {
			return v.why
		}
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// dismiss sends the outcome to all that are here, and hangs up.
func (n *node) dismiss() {
	last := appendStatus(nil, n.why)
	for _, s := range n.below {
		if s.link != nil {
			s.link.finish(last, farewellTime)
		}
		if s.next != nil {
			s.next.link.finish(last, farewellTime)
		}
	}
	for _, l := range n.guide.waiting {
		l.finish(last, farewellTime)
	}
}

// progress acts on the arrivals so far.
func (n *node) progress() error {
	if n.cfg.Rank > 0 {
		n.tellNews()
		return nil
	}
	n.roster.news = nil
	if !n.roster.complete() {
		return nil
	}
	return n.conclude()
}

// conclude makes rank 0's table.
func (n *node) conclude() error {
	tab := &Meeting{ID: n.id}
	for _, e := range n.roster.all() {
		tab.Addrs, tab.Blobs = append(tab.Addrs, e.addr), append(tab.Blobs, e.blob)
	}
	if err := oneSide(tab.Addrs, n.door.Addr()); err != nil {
		return err
	}
	drawSeed(tab)
	if err := share(n.cfg, tab); err != nil {
		return err
	}
	n.tab = tab
	return nil
}

// inTree names the ranks that are not known to be prepared.
func (n *node) inTree() string {
	ranks := n.unprepared()
	if slices.ContainsFunc(ranks, func(rank int) bool { return hasBelow(rank, n.cfg.Size) }) {
		return RankList(ranks) + ", or ranks below,"
	}
	return RankList(ranks)
}
