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

// ErrNobody is wrapped by the error of Send if no receiver is left.
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
	wg    sync.WaitGroup // goroutines that listen

	held      []*piece // consecutive pieces, up to the last one read
	origin    uint64   // first piece over comm
	next      uint64   // next piece to broadcast
	announced uint64   // all pieces below this number are announced
	ended     bool     // no piece follows the held ones
	broken    error    // why not everything is sent; nil if it is

	open      []*runtime.Request // broadcasts under way
	confirm   *runtime.Request   // last barrier
	confirmed uint64             // piece before which confirm was started
	pausing   bool               // no more pieces are announced, and all ranks pause after the last announced one
	bytes     int64
}

// Send sends the data of source to all other ranks, and reports the outcome at each. Rank 0 of comm
// calls it, while the other ranks call Receive. It closes comm.
//
// Send returns an error if the source fails, if ctx ends, or if all receivers fail before
// everything is sent. With SendOptions.Strict it also returns an error if one receiver fails. The
// report is not nil even with an error, unless ctx is nil or the rank is not 0.
func Send(ctx context.Context, comm *runtime.Comm, source Source, o SendOptions) (report *Report, err error) {
	if ctx == nil {
		return nil, errors.Join(fmt.Errorf("send: %w", errNoContext), comm.Close())
	}
	if comm.Rank() != 0 {
		return nil, errors.Join(fmt.Errorf("send: this is rank %d, but only rank 0 can send", comm.Rank()), comm.Close())
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
	err = s.sendAll(ctx)
	stop()
	if closed := s.comm.Close(); err != nil || !s.tally.silent() {
		err = errors.Join(err, closed)
	} // otherwise Close may give up on the silent receiver; the others have reported
	<-ended
	s.wg.Wait()
	if err == nil {
		err = s.broken
	}
	reason := "it has not reported that it is done"
	if err != nil {
		reason = err.Error()
		err = fmt.Errorf("send: %w", err)
	}
	return &Report{s.tally.result(shorten(reason)), s.bytes}, err
}

// sendAll sends, and continues without the ranks that are lost.
func (s *sender) sendAll(ctx context.Context) error {
	s.roll = hear(ctx, &s.wg, s.comm, s.tally.note)
	err := s.send(ctx)
	for err != nil {
		next, failed := shrink(ctx, s.comm, err)
		if next != nil || excluded(failed, s.comm.Rank()) {
			<-s.roll.over // a rank whose account has come is not lost
		}
		if excluded(failed, s.comm.Rank()) { // this rank was silent; the receivers come again
			s.tally.keep(nil, runtime.ErrPeerSilent)
			s.ended, s.broken = true, s.tally.stopped()
			return nil
		}
		if failed != nil {
			return failed
		}
		s.comm, s.roll = next, hear(ctx, &s.wg, next, s.tally.note)
		err = s.again(ctx, err)
	}
	return nil
}

// send sends the remaining pieces over the current communicator, and takes part in the last roll
// call.
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

// end returns the number that follows the last held piece.
func (s *sender) end() uint64 {
	if len(s.held) == 0 {
		return s.next
	}
	return s.held[len(s.held)-1].number + 1
}

// again continues with the remaining ranks after lost, the error of the communicator before.
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
	if silent { // the rank that noticed the loss knows the reason
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

// seal writes the head of a piece. The piece announces all pieces below until. pause says whether
// all ranks pause after it.
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

// wire returns the bytes of a piece that are broadcast.
func (p *piece) wire() []byte {
	if p.number == 0 {
		return p.buf[:firstLen]
	}
	return p.buf
}

func (s *sender) at(number uint64) *piece { return s.held[number-s.held[0].number] }

// load waits until all pieces below until are held, or no more follow.
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

// breakOff ends the stream with the last announced piece. If all announced pieces have been
// broadcast, breakOff adds an empty one.
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

// check waits until all ranks have confirmed the pieces before the last barrier, and starts the
// next barrier.
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

// release frees the pieces below from, which all ranks have.
func (s *sender) release(from uint64) {
	for len(s.held) > 0 && s.held[0].number < from {
		s.feed.free <- s.held[0]
		s.held[0] = nil
		s.held = s.held[1:]
	}
}
