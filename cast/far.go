package cast

import (
	"maps"
	"slices"
	"time"
)

// A receiver may be slow for other reasons than its disk: its link is, or its processor is busy. Then the others wait for it, and
// all get what is sent at its rate. What each could do shows in the first long piece over a communicator, which nobody waits for
// yet: it comes to each as fast as the network brings it. Receivers report that rate, and the one of each window.
//
// A receiver is slow if, for farWindows in a row,
//   - what comes to it has come about as fast as its first piece, between farLess of that and farMore;
//   - its first piece has come SlowRatio times slower than that of the others: in a chain, of the one before it; else, in the median;
//   - what comes to others comes SlowRatio times slower than their first pieces: in a chain, to all that are before it; else, to half of the others.
//
// So nobody is left out where all are equally slow, the sender included. In a chain the first piece is slow for all behind the slow one, so the
// first of them is taken. In a tree it is slow for who waits until those below have it, so the last is taken, for which nobody below can be the reason.
const (
	farWindows = 2
	farLess    = 0.25
	farMore    = 2
)

// start measures the rate at which the first long piece comes.
type start struct {
	pieces int
	since  time.Time // when the one before it had come
	rate   float64   // bytes a second; 0: it has not come
}

// piece takes note of a piece that has come.
func (s *start) piece(bytes int, now time.Time) {
	switch s.pieces++; s.pieces {
	case 1:
		s.since = now
	case 2:
		s.rate = float64(bytes) / max(now.Sub(s.since), time.Millisecond).Seconds()
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

// drags reports whether it comes about as fast as it can, which is much slower than to others, and does not wait for the disk.
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

// begin is for a communicator that there is now.
func (p *pace) begin() { p.recent = nil }
