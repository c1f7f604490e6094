package cast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/time/rate"

	"github.com/schedgen/schedgen/runtime"
)

// ErrNobody is what the error of Send wraps when there is nobody to send to.
var ErrNobody = errors.New("no receiver is left")

// sender is rank 0.
type sender struct {
	comm  *runtime.Comm
	o     SendOptions
	limit *rate.Limiter
	feed  *feed
	stop  context.CancelFunc // ends the source
	tally *tally
	roll  *roll
	wg    sync.WaitGroup // who hears

	held      []*piece // of ascending numbers, the last that was read at the end
	origin    uint64   // the first piece over comm
	next      uint64   // the piece that is broadcast next
	announced uint64   // all pieces below are
	ended     bool     // no piece follows those that are held
	broken    error    // and why that is not all

	open      []*runtime.Request // broadcasts under way
	confirm   *runtime.Request   // the last barrier
	confirmed uint64             // the piece before which it was started
	pausing   bool               // no more pieces are announced, and all pause behind the last that is
	bytes     int64
}

// Send sends what source writes to all other ranks, which call Receive, and says how it has ended
// at each. comm's rank 0 calls it. It closes comm.
//
// That receivers fail is no error of Send, unless all do before all is sent, or one does and
// SendOptions.Strict asks for it. The error of the source is, and that ctx has ended. The report is
// there also with an error, but not if the rank is not 0 or ctx is nil.
func Send(ctx context.Context, comm *runtime.Comm, source Source, o SendOptions) (report *Report, err error) {
	if ctx == nil {
		return nil, errors.Join(fmt.Errorf("send: %w", errNoContext), comm.Close())
	}
	if comm.Rank() != 0 {
		return nil, errors.Join(fmt.Errorf("send: rank %d, only rank 0 can", comm.Rank()), comm.Close())
	}
	o.piece = cmp.Or(o.piece, pieceFor(o.Rate, o.Limit))
	reading, stop := context.WithCancel(ctx)
	s := &sender{comm: comm, o: o, stop: stop, tally: newTally(comm.Size()-1, o.Strict, o.Chain), announced: 1}
	if o.Behind && o.stale == nil {
		s.o.stale = s.tally.stale
	}
	if o.Limit > 0 {
		s.limit = rate.NewLimiter(rate.Limit(o.Limit), o.piece)
	}
	var ended <-chan struct{}
	s.feed, ended = newFeed(reading, source, o.piece)
	err = s.run(ctx)
	stop()
	err = errors.Join(err, s.comm.Close())
	<-ended
	s.wg.Wait()
	if err == nil {
		err = s.broken
	}
	reason := "not told to be done"
	if err != nil {
		reason = err.Error()
		err = fmt.Errorf("send: %w", err)
	}
	return &Report{s.tally.result(shorten(reason)), s.bytes}, err
}

// run sends, and goes on without those that are lost.
func (s *sender) run(ctx context.Context) error {
	s.roll = hear(ctx, &s.wg, s.comm, s.tally.note)
	err := s.send(ctx)
	for err != nil {
		heir, failed := shrink(ctx, s.comm, err)
		if excluded(failed, s.comm.Rank()) { // it was this one that was silent: they come again
			s.tally.keep(nil, runtime.ErrPeerSilent)
			s.ended, s.broken = true, s.tally.stopped()
			return nil
		}
		if failed != nil {
			return failed
		}
		s.comm, s.roll = heir, hear(ctx, &s.wg, heir, s.tally.note)
		err = s.again(ctx, err)
	}
	return nil
}

// send sends all that is left to be sent over the communicator that there is now, and hears how it
// has ended.
func (s *sender) send(ctx context.Context) error {
	for !s.ended || s.next < s.end() {
		if err := s.piece(ctx); err != nil {
			return err
		}
	}
	for _, r := range append(s.open, s.confirm) {
		if r != nil {
			if err := r.Wait(ctx); err != nil {
				return err
			}
		}
	}
	mine := account{Sender: true, Have: s.next, Done: s.broken == nil}
	if s.broken != nil {
		mine.Reason = shorten(withoutDetails(s.broken))
	}
	_, err := s.roll.call(ctx, mine)
	return err
}

// end returns the number behind that of the last piece that is held.
func (s *sender) end() uint64 {
	if len(s.held) == 0 {
		return s.next
	}
	return s.held[len(s.held)-1].number + 1
}

// again begins again, with those that are left after lost.
func (s *sender) again(ctx context.Context, lost error) error {
	s.open, s.confirm, s.pausing = nil, nil, false
	from, silent := s.end(), errors.Is(lost, runtime.ErrPeerSilent)
	var ranks []int
	all, err := s.roll.call(ctx, account{Sender: true, Have: s.next})
	if err != nil {
		return err
	}
	for _, a := range all {
		ranks, silent = append(ranks, a.Rank), silent || a.Silent
		if !a.Sender {
			from = min(from, a.Have)
		}
	}
	if silent { // who has found that out knows best
		lost = runtime.ErrPeerSilent
	}
	s.tally.keep(ranks, lost)
	if s.comm.Size() == 1 {
		s.ended, s.broken = true, s.tally.stopped()
		return nil
	}
	s.release(from)
	s.origin, s.next, s.announced = from, from, from
	if len(s.held) > 0 && s.held[0].number != from {
		return fmt.Errorf("a rank lacks piece %d, which all had confirmed", from)
	}
	if err := s.load(ctx, from+1); err != nil {
		return err
	}
	r := resume{From: from}
	if from < s.end() {
		r.Length = len(s.at(from).wire())
		s.announced++
	}
	if _, err := agree(ctx, s.comm, r); err != nil {
		return err
	}
	return s.send(ctx)
}

// piece starts the broadcast of the next piece.
func (s *sender) piece(ctx context.Context) error {
	if s.next%stride == 0 && s.next > s.origin {
		if err := s.check(ctx); err != nil {
			return err
		}
	}
	until := min(s.next+1+window, s.announced+2)
	pause := s.pauses()
	if s.pausing && !pause {
		until = s.announced
	}
	if err := s.load(ctx, until); err != nil {
		return err
	}
	if why := s.tally.stopped(); why != nil && s.broken == nil {
		s.breakOff(why)
	}
	p := s.at(s.next)
	if err := s.leaveOut(ctx); err != nil {
		return err
	}
	if s.o.Progress != nil {
		s.o.Progress(s.tally.progress(s.bytes))
	}
	if s.limit != nil {
		if err := s.limit.WaitN(ctx, len(p.wire())); err != nil {
			return err
		}
	}
	if len(s.open) == window {
		if err := s.open[0].Wait(ctx); err != nil {
			return err
		}
		s.open = append(s.open[:0], s.open[1:]...)
	}
	until = min(until, s.end())
	pause = pause && !p.last
	s.seal(p, until, pause)
	r, err := s.comm.StartBcast(ctx, p.wire(), 0)
	if err != nil {
		return err
	}
	s.open = append(s.open, r)
	s.announced, s.next, s.bytes = max(s.announced, until), s.next+1, s.bytes+int64(len(p.buf)-headLen)
	if pause {
		return s.pause(ctx)
	}
	return nil
}

// seal writes the head of a piece, which announces those before until, and whether all pause behind
// it.
func (s *sender) seal(p *piece, until uint64, pause bool) {
	h := head{number: p.number, length: len(p.buf) - headLen}
	if pause {
		h.flags = flagPause
	}
	for n := s.announced; n < until; n++ {
		h.announce = append(h.announce, len(s.at(n).wire()))
	}
	if p.last {
		h.flags |= flagLast
		if s.broken != nil {
			h.flags |= flagBroken
		}
	}
	h.seal(p.wire())
}

// wire returns all that is broadcast of a piece.
func (p *piece) wire() []byte {
	if p.number == 0 {
		return p.buf[:firstLen]
	}
	return p.buf
}

func (s *sender) at(number uint64) *piece { return s.held[number-s.held[0].number] }

// load waits until all pieces below until are held, or there are no more.
func (s *sender) load(ctx context.Context, until uint64) error {
	for s.end() < until && !s.ended {
		select {
		case p, ok := <-s.feed.full:
			if !ok {
				s.breakOff(s.feed.err)
				return nil
			}
			s.held = append(s.held, p)
			s.ended = p.last
		case <-s.tally.stop:
			s.breakOff(s.tally.stopped())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// breakOff makes the last piece that is announced the last of all. There is one that is not
// broadcast yet, or is made here, where none has been announced.
func (s *sender) breakOff(why error) {
	s.stop()
	s.broken, s.ended = why, true
	for s.end() > max(s.announced, s.next+1) {
		s.held = s.held[:len(s.held)-1]
	}
	if s.end() == s.next {
		s.held = append(s.held, &piece{number: s.next, buf: make([]byte, headLen, firstLen)})
	}
	s.held[len(s.held)-1].last = true
}

// check waits until all have the pieces that they had to have before the last barrier, and starts
// the next one.
func (s *sender) check(ctx context.Context) (err error) {
	if s.confirm != nil {
		if err := s.confirm.Wait(ctx); err != nil {
			return err
		}
		s.release(s.confirmed - min(s.confirmed, window-1))
	}
	s.confirmed = s.next
	s.confirm, err = s.comm.StartBarrier(ctx)
	return err
}

// release gives back the pieces before from, which all have.
func (s *sender) release(from uint64) {
	for len(s.held) > 0 && s.held[0].number < from {
		s.feed.free <- s.held[0]
		s.held[0] = nil
		s.held = s.held[1:]
	}
}
