package meet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
	"github.com/schedgen/schedgen/internal/notice"
)

// graceTime is how long rank 0 stays after the meeting has failed, to tell late ranks the reason.
const graceTime = 200 * time.Millisecond

// host is rank 0, to which all others come. It belongs to the goroutine inside host, to which other
// goroutines post functions.
type host struct {
	cfg    *Config
	id     [16]byte     // of the communicator
	addr   string       // where rank 0 accepts connections afterwards
	data   net.Listener // the same
	guests []place      // by rank; of rank 0's own, only ready is used
	here   int          // number of guests that are here
	table  *Meeting     // nil: not all ranks have come

	inbox  chan func() error
	closed chan struct{} // closed when posted functions are no longer run
	why    string        // the outcome, "" if it is good; valid after closed is closed

	late latecomers // ranks that hear the reason after the meeting has failed

	door       net.Listener // where guests come in
	strangers  contact.Strangers
	early      earlies
	hellosOver context.Context // ends the hellos
	endHellos  context.CancelFunc
	wg         sync.WaitGroup
}

// place is what rank 0 knows of another rank.
type place struct {
	link  *link    // nil: the rank is not here
	next  *arrival // replaces it if its process is dead
	addr  string   // where it accepts connections afterwards
	blob  []byte
	gone  string // it was here: why it is here no longer, or ""
	ready bool   // it is prepared
}

// arrival is a rank that has said hello.
type arrival struct {
	link   *link
	hello  *hello
	counts chan struct{} // closed when its reports count, or do not matter
}

func newHost(cfg *Config) *host {
	h := &host{cfg: cfg, guests: make([]place, cfg.Size), inbox: make(chan func() error), closed: make(chan struct{})}
	h.hellosOver, h.endHellos = context.WithCancel(context.Background())
	h.strangers.Most = cfg.Size + spareStrangers
	h.early.most = cfg.Size + spareStrangers
	return h
}

// post makes host call do and reports whether it will.
func (h *host) post(do func() error) bool {
	select {
	case h.inbox <- do:
		return true
	case <-h.closed:
		return false
	}
}

// until runs posted functions until done.
func (h *host) until(ctx context.Context, done func() bool) error {
	for !done() {
		select {
		case do := <-h.inbox:
			if err := do(); err != nil {
				return err
			}
		case <-ctx.Done():
			return h.timeOver(context.Cause(ctx))
		}
	}
	return nil
}

// host returns when all ranks are prepared, or none will be.
func (h *host) host(ctx context.Context) (*Meeting, error) {
	stop := notice.Wait(h.cfg.Clock, h.cfg.Log, h.waiting)
	err := h.meet(ctx)
	stop()
	if err != nil {
		h.why = err.Error()
	}
	close(h.closed)
	h.dismiss()
	if err != nil {
		h.cfg.Clock.AfterFunc(graceTime, h.graceOver(err))
		<-h.hellosOver.Done()
	} else if h.cfg.Share == nil {
		h.strangers.Close()
	}
	h.endHellos()
	if shut := h.closeDoor(); err == nil {
		err = shut
	}
	early := h.early.takeAll()
	if err != nil {
		for _, e := range early {
			e.Conn.Close()
		}
		if own := new(faultError); errors.As(err, &own) {
			err = own.err
		}
		return nil, err
	}
	h.table.Early = early
	h.table.Refused, _ = h.strangers.Count()
	return h.table, nil
}

// meet is the course of a successful meeting.
func (h *host) meet(ctx context.Context) error {
	if h.cfg.Fault != nil {
		return &faultError{0, h.cfg.Fault}
	}
	if err := h.until(ctx, func() bool { return h.here == h.cfg.Size-1 }); err != nil {
		return err
	}
	table, err := h.makeTable()
	if err != nil {
		return err
	}
	h.table = table
	msg := appendTable(nil, table)
	for rank := 1; rank < h.cfg.Size; rank++ {
		h.guests[rank].link.send(msg)
	}
	if err := h.prepareSelf(ctx); err != nil {
		return err
	}
	return h.until(ctx, func() bool { return len(h.unprepared()) == 0 })
}

// makeTable makes the table of all ranks, which have come.
//
// If rank 0 accepts connections at all its addresses, the table has the one at which rank 1 has
// reached it. So all ranks of rank 0's host see that they are on one host.
func (h *host) makeTable() (*Meeting, error) {
	addr, err := fillHost(h.addr, h.guests[1].link.conn.LocalAddr())
	if err != nil {
		return nil, err
	}
	m := &Meeting{ID: h.id, Addrs: []string{addr}, Blobs: [][]byte{h.cfg.Blob}, Listener: h.data}
	for _, g := range h.guests[1:] {
		m.Addrs, m.Blobs = append(m.Addrs, g.addr), append(m.Blobs, g.blob)
	}
	if err := oneSide(m.Addrs, h.door.Addr()); err != nil {
		return nil, err
	}
	drawSeed(m)
	return m, deriveSession(h.cfg, m)
}

// prepareSelf prepares rank 0. If the meeting fails meanwhile, it ends the preparation and returns
// that error.
func (h *host) prepareSelf(ctx context.Context) error {
	preparing, end := context.WithCancelCause(ctx)
	defer end(nil)
	result := make(chan error, 1)
	h.wg.Go(func() {
		result <- prepare(preparing, h.cfg, h.table)
		h.post(func() error { return nil }) // until looks again
	})
	if err := h.until(ctx, func() bool { return len(result) > 0 }); err != nil {
		end(err)
		<-result // the first error counts
		return err
	}
	if err := <-result; err != nil {
		return &faultError{0, err}
	}
	h.guests[0].ready = true
	return nil
}

// unprepared returns the ranks that are not known to be prepared.
func (h *host) unprepared() (ranks []int) {
	for rank := range h.guests {
		if !h.guests[rank].ready {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// arrive lets in a rank that has said hello; one that does not fit is an error for all.
func (h *host) arrive(a *arrival) error {
	l, hello := a.link, a.hello
	fits := hello.fault == "" && hello.size == h.cfg.Size && hello.transport == h.cfg.Transport && hello.rank > 0
	if fits && h.table == nil && h.guests[hello.rank].link != nil {
		h.challenge(&h.guests[hello.rank], a)
		return nil
	}
	defer close(a.counts)
	from := l.conn.RemoteAddr()
	switch {
	case hello.fault != "" && (hello.size == h.cfg.Size || hello.size == 0):
		h.late.record(hello.rank)
		return refuse(l, &saidError{hello.fault})
	case hello.size != h.cfg.Size:
		return refuse(l, fmt.Errorf("rank %d at %v was told that there are %d ranks, rank 0 that there are %d",
			hello.rank, from, hello.size, h.cfg.Size))
	case hello.transport != h.cfg.Transport:
		return refuse(l, fmt.Errorf("rank %d at %v uses the transport %s, rank 0 the transport %s: all ranks need the same (see SCHEDGEN_TRANSPORT and SCHEDGEN_INTERFACE)",
			hello.rank, from, contact.Printable([]byte(hello.transport)), h.cfg.Transport))
	case hello.rank == 0:
		return refuse(l, fmt.Errorf("rank 0 has arrived twice, the second time from %v", from))
	case h.table != nil:
		l.finish(contact.AppendStatus(nil, errTooLate.Error()), contact.FarewellTime)
		return nil
	}
	return h.enroll(a)
}

// refuse tells the offending rank the error, in addition to all others.
func refuse(l *link, err error) error {
	l.finish(contact.AppendStatus(nil, err.Error()), contact.FarewellTime)
	return err
}

// challenge handles a rank that comes again while it is here. If its process was started again, the
// old process is dead and does not answer, even if the system has not reported its death yet. If
// the old process answers, two processes have one rank.
func (h *host) challenge(p *place, next *arrival) {
	text := contact.AppendStatus(nil, fmt.Sprintf("another process has come as rank %d, from %v", next.hello.rank, next.link.conn.RemoteAddr()))
	if p.next != nil {
		p.next.link.finish(text, contact.FarewellTime)
		close(p.next.counts)
	} else {
		p.link.finish(text, contact.HelloTime)
		p.gone = "another process has come in its place"
		h.here--
	}
	p.next = next
}

// enroll takes in a rank.
func (h *host) enroll(a *arrival) error {
	addr, err := fillHost(a.hello.addr, a.link.conn.RemoteAddr())
	if err != nil {
		return refuse(a.link, fmt.Errorf("rank %d listens at an invalid address: %w", a.hello.rank, err))
	}
	h.guests[a.hello.rank] = place{link: a.link, addr: addr, blob: a.hello.blob}
	h.here++
	return nil
}

// hungUp is called when the peer of l has hung up; it came as the given rank.
func (h *host) hungUp(l *link, rank int, why error) error {
	if rank >= len(h.guests) || h.guests[rank].link != l {
		return nil
	}
	p, text := &h.guests[rank], fmt.Sprintf("it hung up: %v", why)
	switch {
	case h.table != nil:
		return fmt.Errorf("rank %d has gone after all had arrived: %s", rank, text)
	case p.next != nil:
		defer close(p.next.counts)
		return h.enroll(p.next)
	}
	*p = place{gone: text}
	h.here--
	return nil
}

// hear handles a report of a rank over l.
func (h *host) hear(l *link, rank int, r *report) error {
	if rank >= len(h.guests) || h.guests[rank].link != l {
		return nil
	}
	p := &h.guests[rank]
	switch {
	case r.kind == reportQuit && h.table == nil:
		return h.absence(fmt.Errorf("rank %d waits no longer: %s", rank, r.why))
	case r.kind == reportQuit:
		return fmt.Errorf("rank %d: %s", rank, r.why)
	case p.next != nil && r.kind == reportAlive:
		return fmt.Errorf("rank %d has arrived twice, from %v and from %v: both processes live", rank, l.conn.RemoteAddr(), p.next.link.conn.RemoteAddr())
	case p.next != nil: // its reports no longer count
	case r.kind == reportFault:
		return &saidError{r.why}
	case r.kind == reportReady:
		p.ready = true
	}
	return nil
}

// dismiss sends the outcome to all that are here, and hangs up.
func (h *host) dismiss() {
	last := contact.AppendStatus(nil, h.why)
	for rank := range h.guests {
		p := &h.guests[rank]
		if p.link != nil {
			p.link.finish(last, contact.FarewellTime)
			h.late.record(rank)
		}
		if p.next != nil {
			p.next.link.finish(last, contact.FarewellTime)
		}
	}
}

// waiting says what rank 0 waits for, or "" when it waits no longer. Any goroutine may call it.
func (h *host) waiting() string {
	text := make(chan string, 1)
	if !h.post(func() error {
		text <- fmt.Sprintf("rank 0 of %d waits: %s", h.cfg.Size, h.waitsFor())
		return nil
	}) {
		return ""
	}
	return <-text
}

func (h *host) waitsFor() string {
	if h.table == nil {
		why, besides, _ := h.absent()
		return why + besides
	}
	return "not yet prepared: " + RankList(h.unprepared())
}
