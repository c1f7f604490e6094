package cast

import (
	"fmt"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/meet/lobby"
	"github.com/schedgen/schedgen/internal/words"
)

const (
	// The measurement of all networks sends at most 1/probeShare of the bytes of the cast, and at
	// least leastProbe bytes to each receiver. Fewer bytes would measure nothing, because a switch
	// or a system may let a burst pass at once.
	probeShare = 50
	leastProbe = 16 << 10
	// sureProbe is the number of bytes from which a measurement can be trusted even on shaped
	// links, which let a burst pass at once.
	sureProbe = 64 << 10
	// worthWaiting is the least time by which slow receivers must hold up the others to be served
	// in a round of their own.
	worthWaiting = 2 * time.Second
)

// rates holds the receivers with slow networks. A network is slow if a measurement before the first
// data was far below the measurements of the other receivers.
type rates struct {
	slow map[string]bool // by the ID of their processes
}

// behind reports whether receivers that are much slower than the others are served after them. A
// stream can be sent only once.
func (s *server) behind() bool { return !s.payload.streams() && !s.Strict }

// probe returns the number of bytes by which the network of each of guests receivers is measured,
// or 0 for none.
func (s *server) probe(guests int) int {
	if !s.behind() {
		return 0
	}
	return probeOf(s.payload.bytes(), guests)
}

// bytes returns the number of bytes in the blocks of lacked, where nil means all blocks, or -1 if
// it is not known.
func (s *server) bytes(lacked *block.Set) int64 {
	if lacked == nil {
		return s.payload.bytes()
	}
	return min(s.payload.bytes(), lacked.Lacked(s.lacks.blocks)*block.Len)
}

// remaining returns the number of bytes in lacked after byte from of the stream.
func (s *server) remaining(lacked *block.Set, from int64) int64 {
	n := s.bytes(lacked)
	if from == 0 {
		return n
	}
	return max(n-from, 0)
}

// probeOf returns the number of bytes by which each of guests receivers is measured for a cast of
// bytes bytes, or 0 if too few could be sent.
func probeOf(bytes int64, guests int) int {
	n := bytes / probeShare / int64(max(guests, 1))
	if n < leastProbe {
		return 0
	}
	return int(min(n, 1<<30))
}

// leaveOut removes from the chosen indexes of all the receivers whose networks are slow, and
// reports each of them once. bytes is the length of the data, and limit the sender's greatest rate
// in bytes a second, or 0.
func (r *rates) leaveOut(all []lobby.Guest, chosen []int, bytes int64, limit float64, tell *events) []int {
	middle := middleRate(all, chosen, limit)
	return slices.DeleteFunc(chosen, func(i int) bool {
		g := &all[i]
		if g.Rate == 0 || g.Rate*SlowRatio > middle || float64(bytes)/g.Rate < worthWaiting.Seconds() {
			return false
		}
		if id := wordOf(g).ID; !r.slow[id] {
			if r.slow == nil {
				r.slow = map[string]bool{}
			}
			r.slow[id] = true
			tell.notice(g.Name, fmt.Sprintf("its network takes %s/s, those of the others %s/s: it is served after them",
				words.Bytes(g.Rate), words.Bytes(middle)))
		}
		return true
	})
}

// middleRate returns the median of the measured rates of the chosen receivers in bytes a second,
// but not more than limit, or 0 if none was measured.
func middleRate(all []lobby.Guest, chosen []int, limit float64) float64 {
	var rates []float64
	for _, i := range chosen {
		if all[i].Rate > 0 {
			rates = append(rates, all[i].Rate)
		}
	}
	if len(rates) == 0 {
		return 0
	}
	slices.Sort(rates)
	middle := rates[len(rates)/2]
	if limit > 0 {
		middle = min(middle, limit)
	}
	return middle
}

// knows reports whether a receiver's network is known to be slow.
func (r *rates) knows(g *lobby.Guest) bool { return r.slow[wordOf(g).ID] }
