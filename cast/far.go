package cast

import (
	"context"
	"maps"
	"slices"
	"time"
)

// A receiver may be slow for other reasons than its disk: its link is, or its processor is busy.
// Then the others wait for it, and all get what is sent at its rate. What each could do shows in
// the first long piece over a communicator, which nobody waits for yet: it comes to each as fast as
// the network brings it. Receivers report that rate, and the one of each window.
//
// A receiver is slow if, for farWindows in a row,
//   - what comes to it has come about as fast as its first piece, between farLess of that and
//     farMore;
//   - its first piece has come SlowRatio times slower than that of the others: in a chain, of the
//     one before it; else, in the median;
//   - what comes to others comes SlowRatio times slower than their first pieces: in a chain, to all
//     that are before it; else, to half of the others.
//
// So nobody is left out where all are equally slow, the sender included. In a chain the first piece
// is slow for all behind the slow one, so the first of them is taken. In a tree it is slow for who
// waits until those below have it, so the last is taken, for which nobody below can be the reason.
const (
	farWindows = 2
	farLess    = 0.25
	farMore    = 2
)

// start measures the rate at which the first long piece comes; behind a pause, that of the faster
// of two.
type start struct {
	from   uint64    // the piece behind which all have paused; 0: none yet over the communicator
	pieces int       // that have come; behind a pause, that and those that have come
	since  time.Time // when the last of them had come
	first  float64   // behind a pause: bytes a second of the first
	rate   float64   // bytes a second; 0: what is measured has not come
}

// piece takes note of a piece that has come.
func (s *start) piece(bytes int, now time.Time) {
	if s.pieces++; s.pieces > 3 {
		return
	}
	rate := float64(bytes) / max(now.Sub(s.since), time.Millisecond).Seconds()
	s.since = now
	switch {
	case s.pieces == 2 && s.from == 0:
		s.rate = rate
	case s.pieces == 2:
		s.first = rate
	case s.pieces == 3 && s.from > 0:
		s.rate = max(s.first, rate)
	}
}

// far returns a receiver that is slow, 0 if there is none. Of a chain the ranks are in its order.
func (p *pace) far(chain bool) int {
	ranks := slices.Sorted(maps.Keys(p.recent))
	all := make([]stint, len(ranks))
	for i, rank := range ranks {
		if len(p.recent[rank]) < farWindows {
			return 0
		}
		all[i] = mean(p.recent[rank])
	}
	i := lastFar(all)
	if chain {
		i = firstFar(all)
	}
	if i < 0 {
		return 0
	}
	return ranks[i]
}

// firstFar returns which of a chain is slow, -1 if none is.
func firstFar(all []stint) int {
	for i := range all {
		if !all[i].idles() {
			if i > 0 && all[i].drags(all[i-1].First) {
				return i
			}
			break
		}
	}
	return -1
}

// lastFar returns which of a tree is slow, -1 if none is.
func lastFar(all []stint) int {
	idle, last := 0, -1
	firsts := make([]float64, len(all))
	for i := range all {
		firsts[i] = all[i].First
		if all[i].idles() {
			idle++
		}
	}
	slices.Sort(firsts)
	for i := range all {
		if all[i].drags(firsts[len(firsts)/2]) {
			last = i
		}
	}
	if idle == 0 || 2*idle < len(all)-1 {
		return -1
	}
	return last
}

// idles reports whether what comes could come much faster.
func (w *stint) idles() bool { return w.First >= SlowRatio*w.Rate }

// drags reports whether it comes about as fast as it can, which is much slower than to others, and
// does not wait for the disk.
func (w *stint) drags(others float64) bool {
	return SlowRatio*w.First <= others && w.Rate >= farLess*w.First && w.Rate <= farMore*w.First && w.Waited < slowShare
}

// mean returns the mean of the last of some windows.
func mean(windows []stint) (m stint) {
	for _, w := range windows[len(windows)-farWindows:] {
		m.Rate += w.Rate / farWindows
		m.Waited += w.Waited / farWindows
		m.First = w.First
	}
	return m
}

// What could come to each may change. If for staleWindows in a row what comes to all comes
// SlowRatio times slower than their first pieces, and no disk is the reason, one of them or the
// sender has become slow. Then all pause until the last of the pieces that are announced has come
// to everybody, and measure anew by the two that follow. The first comes later to who leaves the
// barrier before others, or stands behind others in a chain; the second waits in a chain at the one
// before the slow one. So the faster counts. Where it says nothing, as it may after losses, all
// comes slower than that again, and is measured once more.
const staleWindows = 3

// stale reports whether that is so; then what is reported counts again when it was measured behind
// that piece.
func (p *pace) stale(behind uint64) bool {
	if len(p.recent) < 2 {
		return false
	}
	for _, windows := range p.recent {
		if len(windows) < staleWindows {
			return false
		}
		for _, w := range windows[len(windows)-staleWindows:] {
			if !w.idles() || w.Waited >= heldShare {
				return false
			}
		}
	}
	p.begin()
	p.from = behind
	return true
}

// begin is for a communicator that there is now.
func (p *pace) begin() { p.recent, p.from = nil, 0 }

// pauses reports whether all pause behind the next piece. It is the last that is announced, since
// others may have begun already.
func (s *sender) pauses() bool {
	if !s.pausing && s.o.stale != nil {
		s.pausing = s.o.stale(s.announced - 1)
	}
	return s.pausing && s.next+1 == s.announced
}

// pause waits until all have all pieces that were sent.
func (s *sender) pause(ctx context.Context) error {
	s.pausing = false
	return s.comm.Barrier(ctx)
}

// leaveOut tells a receiver that holds up the others that it is to be served behind them.
func (s *sender) leaveOut(ctx context.Context) error {
	if !s.o.Behind {
		return nil
	}
	rank, leave := s.tally.slow()
	if rank == 0 {
		return nil
	}
	return account{Sender: true, Slow: rank, Leave: leave}.publish(ctx, s.comm)
}
