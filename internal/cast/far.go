package cast

import (
	"context"
	"maps"
	"slices"
	"time"
)

// A receiver may be slow because its link is slow or its processor is busy. Then the other
// receivers wait for it, and all receive at its rate. The first long piece over a communicator
// shows how fast each receiver could be: no receiver waits for another yet, so the piece comes as
// fast as the network brings it. Receivers report the rate of this piece, and the rate of each
// window.
//
// A receiver is slow if, for farWindows in a row,
//   - it receives about as fast as its first piece came, between farLess and farMore of that rate;
//   - its first piece came SlowRatio times slower than that of the receiver before it in a chain,
//     or, without a chain, than the median;
//   - other receivers receive SlowRatio times slower than their first pieces came: all receivers
//     before it in a chain, or, without a chain, half of the others.
//
// So no receiver is left out if all are equally slow, or if the sender is slow. In a chain, the
// first piece comes slowly to all receivers behind the slow one, so the first of them counts. In a
// tree, it comes slowly to receivers that wait for those below them, so the last counts, because no
// receiver below it can be the reason.
const (
	farWindows = 2
	farLess    = 0.25
	farMore    = 2
)

// start measures the rate at which the first long piece comes. After a pause it measures two
// pieces, and takes the higher rate.
type start struct {
	from   uint64    // piece after which all ranks paused; 0: no pause on this communicator
	pieces int       // number of pieces that have come; after a pause, the one before it counts, too
	since  time.Time // when the last of them came
	first  float64   // after a pause: rate of the first piece, in bytes a second
	rate   float64   // result in bytes a second; 0: not known yet
}

// piece records a piece that has come.
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

// far returns the rank of a slow receiver, or 0 if there is none. The ranks follow the order of the
// chain, if there is one.
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

// firstFar returns the index of the slow receiver of a chain, or -1 if there is none.
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

// lastFar returns the index of the slow receiver of a tree, or -1 if there is none.
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

// idles reports whether the receiver could receive much faster.
func (w *stint) idles() bool { return w.First >= SlowRatio*w.Rate }

// drags reports whether the receiver receives as fast as it can, does not wait for its disk, and is
// much slower than others, whose first pieces came at the rate others.
func (w *stint) drags(others float64) bool {
	return SlowRatio*w.First <= others && w.Rate >= farLess*w.First && w.Rate <= farMore*w.First && w.Waited < slowShare
}

// mean returns the mean of the last farWindows windows.
func mean(windows []stint) (m stint) {
	for _, w := range windows[len(windows)-farWindows:] {
		m.Rate += w.Rate / farWindows
		m.Waited += w.Waited / farWindows
		m.First = w.First
	}
	return m
}

// The rates of the networks may change. If for staleWindows in a row all receivers receive
// SlowRatio times slower than their first pieces came, and no disk is the reason, a receiver or the
// sender has become slow. Then all ranks pause until every rank has the last announced piece, and
// measure again by the next two pieces. The first of them comes late to a rank that leaves the
// barrier early, or that is far behind in a chain. The second waits in a chain at the receiver
// before the slow one. So the higher rate counts. After losses it may be too high; then all receive
// slower than that again, and the ranks measure once more.
const staleWindows = 3

// stale reports whether the rates must be measured again. If so, it discards all windows, and from
// then on ignores windows measured up to the piece behind.
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

// begin discards all windows, because a new communicator begins.
func (p *pace) begin() { p.recent, p.from = nil, 0 }

// pauses reports whether all ranks pause after the next piece. That piece is the last announced
// one, because other ranks may have begun the announced ones.
func (s *sender) pauses() bool {
	if !s.pausing && s.o.stale != nil {
		s.pausing = s.o.stale(s.announced - 1)
	}
	return s.pausing && s.next+1 == s.announced
}

// pause waits until all ranks have all pieces that were sent.
func (s *sender) pause(ctx context.Context) error {
	s.pausing = false
	return s.comm.Barrier(ctx)
}

// leaveOut tells a receiver that holds up the others that it is left out.
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
