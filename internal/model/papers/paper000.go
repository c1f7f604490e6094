package papers

import (
	"math/bits"

	"github.com/schedgen/schedgen/sim"
)

// figures000 returns the figures of paper 000, the two-stage broadcast.
func figures000() []Entry {
	return []Entry{
		{"000/4", "broadcast latency against communicator size, 2 bytes", latency000},
		{"000/5", "broadcast latency of each rank among 116, 2 bytes", ranks000},
		{"000/6", "broadcast latency of rank 1 against communicator size, 2 bytes", firstRank000},
		{"000/7", "broadcast latency of the last rank against communicator size, 2 bytes", lastRank000},
		{"000/threshold", "size from which the two stages win against what they cost", threshold000},
		{"000/penalty", "penalty rounds against the probability of a loss, 116 ranks", penalty000},
		{"000/penalty-tail", "distribution of penalty rounds at a loss of 50 %, 116 ranks", penaltyTail000},
		{"000/worst", "time when every rank loses the multicast", worst000},
		{"000/second-stage", "chain or tree as the second stage, 116 ranks", secondStage000},
		{"000/delay-root-first", "root-delay policies, the root enters first", delayRootFirst000},
		{"000/delay-random", "root-delay policies, all enter at random", delayRandom000},
		{"000/delay-one-late", "root-delay policies, one rank enters late", delayOneLate000},
	}
}

const (
	ranks116 = 116 // nodes of the largest run (section 4.3)
	bytes000 = 2   // bytes of its messages (section 4.3)
	saved000 = 41  // percentage of latency that the two stages save there (abstract)
	tree000  = "bcast/binomial-doubling"
	mcast000 = "bcast/mcast-chain"
	treed000 = "bcast/mcast-binomial" // the tree that section 2.2 mentions as another second stage
)

// odin is the machine of paper 000 in the LogGP model. The text gives no times at all, so a
// transfer is assumed to take 5 µs, which is only the unit. Two ratios are fitted. o = g is 4 % of
// a transfer, so that rank 1 finishes 79.4 % earlier than the last rank of the tree (figure 5).
// prepare is such that the two stages save 41 % among 116 ranks (abstract).
var odin = cluster{
	model:   sim.LogGP{L: 4600, O: 200, Gap: 200},
	prepare: 12400,
}

const fitted000 = "The text gives no times. A transfer is taken to be 5 µs, which is but the unit. Two ratios are fitted: the overhead of a send, 4 % of a transfer, " +
	"to the 79.4 % of figure 5, and what the root does before its multicast is on the wire, 12.4 µs, to the 41 % of the abstract."

// cluster is a machine of paper 000.
type cluster struct {
	model   sim.LogGP
	prepare sim.Time // what a root needs before it can multicast
}

// config returns the configuration of a two-stage broadcast.
func (c *cluster) config() sim.Config {
	return sim.Config{Model: c.model, Bytes: bytes000, Delay: sim.Delay{Fixed: c.prepare}}
}

// hop returns the time from the start of a send of few bytes until it is received, between ranks
// that do nothing else.
func (c *cluster) hop() sim.Time { return 2*c.model.O + c.model.L }

// step returns the time between the starts of two sends of a rank.
func (c *cluster) step() sim.Time { return max(c.model.O, c.model.Gap) }

// treeReturn returns when rank r of p returns from the broadcast along the binomial tree of figure
// 3. In it r gets the message from r without its highest bit, and sends to the nearest rank first.
// The path to r has a hop for each set bit of r, and a step for each other bit, because the rank
// above has sent to a nearer rank before.
func (c *cluster) treeReturn(p, r int) sim.Time {
	set := bits.OnesCount(uint(r))
	at := sim.Time(set)*c.hop() + sim.Time(bits.Len(uint(r))-set)*c.step()
	if sends := bits.Len(uint(p-1-r)) - bits.Len(uint(r)); sends > 0 {
		at += sim.Time(sends-1)*c.step() + c.model.O
	}
	return at
}

// stagesReturn returns when rank r of p returns from the two-stage broadcast if nothing is lost.
// All ranks get the multicast at once, and all but the last send on. Rank 1 also has the root's
// copy by then, and receives it first.
func (c *cluster) stagesReturn(p, r int) sim.Time {
	switch {
	case p == 1:
		return c.prepare
	case r == 0:
		return c.prepare + c.step() + c.model.O
	case r == p-1:
		return c.prepare + c.hop()
	case r == 1 && c.step() == c.model.O:
		return c.prepare + c.hop() + 2*c.model.O
	}
	return c.prepare + c.hop() + c.model.O
}

// worstReturn returns when the last of p ranks returns from the two-stage broadcast if all lose the
// multicast: after p-1 penalty rounds. The first of these starts behind the multicast.
func (c *cluster) worstReturn(p int) sim.Time {
	return c.prepare + c.step() + sim.Time(p-1)*c.hop()
}

// treedWorstReturn returns when the last of p ranks returns from the two-stage broadcast with a
// binomial tree as the second stage if all lose the multicast. The first put starts behind the
// multicast, and a rank sends first to the child with the most ranks below it.
func (c *cluster) treedWorstReturn(p int) sim.Time {
	var below func(n int) sim.Time // in a tree of n ranks, from when the first of them sends on
	below = func(n int) (latest sim.Time) {
		for at := sim.Time(0); n > 1; at += c.step() {
			half := 1 << (bits.Len(uint(n-1)) - 1)
			latest = max(latest, at+c.hop()+below(n-half))
			n = half
		}
		return latest
	}
	return c.prepare + c.step() + below(p)
}

// last returns the latest of the times of p ranks.
func last(p int, of func(r int) sim.Time) sim.Time {
	latest := sim.Time(0)
	for r := range p {
		latest = max(latest, of(r))
	}
	return latest
}
