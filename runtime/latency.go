package runtime

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/core"
)

// Latency is how long operations of one algorithm have taken at this rank, from the call or start
// to the end, for blocks of one class of lengths. Operations that have failed do not count.
type Latency struct {
	Collective string        `json:"collective"`
	Algorithm  string        `json:"algorithm"` // such as bcast/chain
	Bytes      int           `json:"bytes"`     // greatest length of a block in the class, or -1 for the last class, without limit
	Counts     []uint64      `json:"counts"`    // Counts[i] operations have taken more than LatencyBound(i-1), and at most LatencyBound(i)
	Sum        time.Duration `json:"sum_ns"`    // of all operations
}

// The histograms of latency. Each class of lengths is 16 times as long as the one before, and each
// bucket of times twice as long.
const (
	lengthClasses  = 8  // up to 0, 16, 256, 4 Ki, 64 Ki, 1 Mi and 16 Mi bytes, and longer
	firstBound     = 9  // the first bucket has times up to 2^firstBound ns
	latencyBuckets = 27 // the last bucket but one has times up to 17 s
	classBits      = 4  // log₂ of the factor between classes
)

// LatencyBound returns the greatest time in bucket i of [Latency], or -1 for the last bucket, which
// has no limit.
func LatencyBound(i int) time.Duration {
	if i >= latencyBuckets-1 {
		return -1
	}
	return 1 << (firstBound + max(i, 0))
}

// lengthBound returns the greatest length in a class, or -1 for the last one.
func lengthBound(class int) int {
	switch class {
	case 0:
		return 0
	case lengthClasses - 1:
		return -1
	}
	return 1 << (classBits * class)
}

// lengthClass returns the class of blocks of n bytes.
func lengthClass(n int) int {
	if n <= 0 {
		return 0
	}
	return min(max(1, (bits.Len(uint(n-1))+classBits-1)/classBits), lengthClasses-1)
}

// latencyBucket returns the bucket of an operation that has taken the time t.
func latencyBucket(t core.Time) int {
	return min(max(0, bits.Len64(uint64(max(1, t)-1))-firstBound), latencyBuckets-1)
}

// latencies has the histograms of a communicator, by algorithm. A plan keeps a pointer to those of
// its algorithm, so that an operation looks nothing up.
type latencies map[string]*algorithmLatency

type algorithmLatency struct {
	collective string
	classes    [lengthClasses]struct {
		counts [latencyBuckets]uint64
		sum    core.Time
	}
}

// since returns the time at which an operation starts, or 0 if its latency does not matter.
func (c *Comm) since() core.Time {
	if !c.cfg.Observe.Latency {
		return 0
	}
	return c.drv.now()
}

// took records an operation under p with blocks of n bytes, which has started at since and ends now.
func (c *Comm) took(p *plan, n int, since core.Time) {
	if p.latency == nil {
		p.latency = c.latencies.of(p)
	}
	t := c.drv.now() - since
	of := &p.latency.classes[lengthClass(n)]
	of.counts[latencyBucket(t)]++
	of.sum += t
}

// of returns the histograms of p's algorithm.
func (l *latencies) of(p *plan) *algorithmLatency {
	if *l == nil {
		*l = make(latencies)
	}
	a := (*l)[p.Name]
	if a == nil {
		a = &algorithmLatency{collective: p.Collective()}
		(*l)[p.Name] = a
	}
	return a
}

// list returns the histograms that are not empty, by algorithm and length.
func (l latencies) list() []Latency {
	var all []Latency
	for name, a := range l {
		for class := range a.classes {
			of := &a.classes[class]
			if of.counts != [latencyBuckets]uint64{} {
				all = append(all, Latency{a.collective, name, lengthBound(class), slices.Clone(of.counts[:]), time.Duration(of.sum)})
			}
		}
	}
	slices.SortFunc(all, func(x, y Latency) int {
		return cmp.Or(cmp.Compare(x.Algorithm, y.Algorithm), cmp.Compare(uint(x.Bytes), uint(y.Bytes))) // -1 last
	})
	return all
}
