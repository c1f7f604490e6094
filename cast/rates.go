package cast

import (
	"fmt"
	"slices"
	"time"

	"github.com/schedgen/schedgen/cast/block"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/runtime/meet/lobby"
)

const (
	// probeShare is the part of a cast that it may take to measure how fast the networks of all
	// receivers are, and leastProbe the least for each that tells anything, in bytes: a switch or a
	// system may let some pass at once.
	probeShare = 50
	leastProbe = 16 << 10
	// sureProbe tells how fast a network is also where links are shaped and let some pass at once.
	sureProbe = 64 << 10
	// worthWaiting is how long those that are slow must hold up the others at least, to be served
	// in a round of their own.
	worthWaiting = 2 * time.Second
)

// rates are the receivers whose networks are known to be much slower than those of the others
// before anything is sent.
type rates struct {
	slow map[string]bool // by their processes
}

// behind reports whether receivers that are much slower than the others are served behind them. A
// stream comes once.
func (s *server) behind() bool { return !s.payload.streams() && !s.Strict }

// probe says by how many bytes each of so many receivers is measured.
func (s *server) probe(guests int) int {
	if !s.behind() {
		return 0
	}
	return probeOf(s.payload.bytes(), guests)
}

// bytes returns how much is sent to those that lack some blocks, nil for all; -1 if nobody knows.
func (s *server) bytes(lacked *block.Set) int64 {
	if lacked == nil {
		return s.payload.bytes()
	}
	return min(s.payload.bytes(), lacked.Lacked(s.lacks.blocks)*block.Len)
}

// left returns how much that is behind the first so many bytes.
func (s *server) left(lacked *block.Set, from int64) int64 {
	n := s.bytes(lacked)
	if from == 0 {
		return n
	}
	return max(n-from, 0)
}

// probeOf returns by how many bytes each of so many is measured, for a cast of so many; 0 if that
// would tell nothing.
func probeOf(bytes int64, guests int) int {
	n := bytes / probeShare / int64(max(guests, 1))
	if n < leastProbe {
		return 0
	}
	return int(min(n, 1<<30))
}

// leaveOut returns those of all that are chosen whose networks are not slow, for so many bytes, of
// which limit a second are sent at most, and tells who is, once each.
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
			tell.notice(g.Name, fmt.Sprintf("its network takes %s/s, those of the others %s/s: it is served behind them", words.Bytes(g.Rate), words.Bytes(middle)))
		}
		return true
	})
}

// middleRate returns how fast what is sent comes to the one in the middle of those that are chosen
// and were measured; 0 if none was.
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

// knows reports whether a receiver's network is slow.
func (r *rates) knows(g *lobby.Guest) bool { return r.slow[wordOf(g).ID] }
