package selection

import (
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// Modelled in place of an algorithm's name means the algorithm that takes the least time by its
// closed form in a model. Operations among ranks that share memory have the model of Case.Pace, and
// all other cases have the LogGP model of their network. Every rank has a processor to itself there, so
// such a rule suits ranks that each have a host. It chooses among algorithms without multicast.
const Modelled = "modelled"

// Network returns the modelled network of a transport. It has LogGOPSim's defaults. With adapters
// that write into the memory of receivers, it has the costs of paper 003: 182 ns to write a message
// or to read it, and 4 µs until it is there; a byte takes 1 ns.
func Network(rdma bool) sim.LogGP {
	if rdma {
		return sim.LogGP{L: 4000, O: 182, Gap: 182, GPerByte: 1000}
	}
	return sim.DefaultLogGP()
}

// candidate is an algorithm that a Modelled rule can choose.
type candidate struct {
	rule Rule
	time func(n *loggp, p int, bytes float64) float64
}

// worthwhile is the part of the time of the choice so far that a later candidate may take at most.
// So the earlier one, which talks to fewer ranks, is chosen where the model makes little difference.
const worthwhile = 0.9

// candidates are the candidates of each collective, in the order in which they are tried.
//
// They are not the result of a sync.OnceValue, whose initialization would put them into every program.
func candidates() map[string][]candidate {
	allCandidates.once.Do(func() { allCandidates.of = makeCandidates() })
	return allCandidates.of
}

var allCandidates struct {
	once sync.Once
	of   map[string][]candidate
}

func makeCandidates() map[string][]candidate {
	all := map[string][]candidate{}
	add := func(collective, name string, params Params, time func(n *loggp, p int, bytes float64) float64) {
		all[collective] = append(all[collective], candidate{Rule{
			Collective: collective, Place: OneEach, Algorithm: collective + "/" + name, Params: params,
			Reason: "one rank a host: the least time in the model of the network",
		}, time})
	}
	for _, degree := range []int{24, 11, 8, 4, 3} {
		add(schedule.Barrier, "dissemination", Params{Degree: degree}, func(n *loggp, p int, _ float64) float64 { return n.disseminate(p, degree) })
	}

	add(schedule.Bcast, "binomial", Params{}, func(n *loggp, p int, b float64) float64 { return n.tree(p, b, 0) })
	add(schedule.Bcast, "linear", Params{}, func(n *loggp, p int, b float64) float64 { return n.fan(p-1, b) })
	add(schedule.Bcast, "chain", Params{}, func(n *loggp, p int, b float64) float64 { return n.chain("bcast/chain", p, b, 0) })
	add(schedule.Bcast, "symmetric", Params{}, func(n *loggp, p int, b float64) float64 { return n.symmetric(p, b) })

	add(schedule.Bcast, "two-tree", Params{}, func(n *loggp, p int, b float64) float64 { return n.twoTree("bcast/two-tree", p, b, 1, 0) })

	add("scatter", "linear", Params{}, func(n *loggp, p int, b float64) float64 { return n.fan(p-1, b) })
	add("scatter", "binomial", Params{}, func(n *loggp, p int, b float64) float64 { return n.tree(p, 0, 0) + n.wire(float64(p-1)*b) })
	add("gather", "linear", Params{}, func(n *loggp, p int, b float64) float64 { return n.collect(p-1, b) })
	add("gather", "binomial", Params{}, func(n *loggp, p int, b float64) float64 { return n.tree(p, 0, 0) + n.wire(float64(p-1)*b) })
	add("allgather", "ring", Params{}, func(n *loggp, p int, b float64) float64 { return float64(p-1) * n.exchange(1, b) })
	add("allgather", "bruck", Params{}, func(n *loggp, p int, b float64) float64 {
		return n.rounds(p)*n.exchange(1, 0) + n.wire(float64(p-1)*b)
	})
	add("allgather", "linear", Params{}, func(n *loggp, p int, b float64) float64 { return n.exchange(p-1, b) })
	add("alltoall", "pairwise", Params{}, func(n *loggp, p int, b float64) float64 { return float64(p-1) * n.exchange(1, b) })
	add("alltoall", "bruck", Params{}, func(n *loggp, p int, b float64) float64 {
		return n.rounds(p) * n.exchange(1, b*float64(p)/2)
	})
	add("alltoall", "linear", Params{}, func(n *loggp, p int, b float64) float64 { return n.exchange(p-1, b) })
	const short = 2 << 10 // bytes: over verbs, a rank sends all of its shorter chunks before the first one arrives
	add("alltoall", "linear", Params{Chunk: short}, func(n *loggp, p int, b float64) float64 {
		chunks := math.Ceil(max(b, 1) / short)
		return n.exchange(int(chunks)*(p-1), b/chunks)
	})

	add(schedule.Reduce, "linear", Params{}, func(n *loggp, p int, b float64) float64 { return n.collect(p-1, b) + n.fold(float64(p-1)*b) })
	add(schedule.Reduce, "binomial", Params{}, func(n *loggp, p int, b float64) float64 { return n.tree(p, b, n.fold(b)) })
	add(schedule.Reduce, "halving", Params{}, func(n *loggp, p int, b float64) float64 { return n.halve(p, b, b) })
	add(schedule.Reduce, "chain", Params{}, func(n *loggp, p int, b float64) float64 { return n.chain("reduce/chain", p, b, n.fold(b)) })
	add(schedule.Reduce, "two-tree", Params{}, func(n *loggp, p int, b float64) float64 {
		return n.twoTree("reduce/two-tree", p, b, 1, n.fold(b))
	})
	add(schedule.Allreduce, "ring", Params{}, func(n *loggp, p int, b float64) float64 {
		return float64(2*(p-1))*n.exchange(1, b/float64(p)) + n.fold(b*share(p))
	})
	add(schedule.Allreduce, "doubling", Params{}, func(n *loggp, p int, b float64) float64 {
		return n.folded(p, 2, n.exchange(1, b)+n.fold(b))
	})
	add(schedule.Allreduce, "linear", Params{}, func(n *loggp, p int, b float64) float64 { return n.exchange(p-1, b) + n.fold(float64(p-1)*b) })
	for degree := 3; degree <= 32; degree++ { // each is the best where the ranks are a power of it
		add(schedule.Allreduce, "multiplying", Params{Degree: degree}, func(n *loggp, p int, b float64) float64 {
			return n.folded(p, degree, n.exchange(degree-1, b)+n.fold(float64(degree-1)*b))
		})
	}
	add(schedule.Allreduce, "circulant", Params{}, func(n *loggp, p int, b float64) float64 {
		return 2*math.Log2(float64(p))*n.exchange(1, 0) + 2*n.wire(b*share(p)) + n.fold(b*share(p))
	})
	add(schedule.Allreduce, "halving", Params{}, func(n *loggp, p int, b float64) float64 { return n.halve(p, b, b) })
	add(schedule.Allreduce, "two-shot", Params{}, func(n *loggp, p int, b float64) float64 {
		return 2*n.exchange(p-1, b/float64(p)) + n.fold(b*share(p))
	})
	add(schedule.Allreduce, "two-tree", Params{}, func(n *loggp, p int, b float64) float64 {
		return n.twoTree("allreduce/two-tree", p, b, 2, n.fold(b))
	})
	add(schedule.ReduceScatter, "circulant", Params{}, func(n *loggp, p int, b float64) float64 {
		return math.Log2(float64(p))*n.exchange(1, 0) + n.wire(float64(p-1)*b) + n.fold(float64(p-1)*b)
	})
	add(schedule.ReduceScatter, "linear", Params{}, func(n *loggp, p int, b float64) float64 { return n.exchange(p-1, b) + n.fold(float64(p-1)*b) })
	add(schedule.ReduceScatter, "pairwise", Params{}, func(n *loggp, p int, b float64) float64 { return float64(p-1) * (n.exchange(1, b) + n.fold(b)) })
	add(schedule.ReduceScatter, "halving", Params{}, func(n *loggp, p int, b float64) float64 { return n.halve(p, b*float64(p), 0) })
	add(schedule.Scan, "doubling", Params{}, func(n *loggp, p int, b float64) float64 {
		// a message of a later round often comes early, and delays one that the rank waits for
		const early = 1.25
		return n.rounds(p) * (n.exchange(1, 0) + early*n.wire(b) + n.fold(b))
	})
	add(schedule.Scan, "chain", Params{}, func(n *loggp, p int, b float64) float64 { return n.chain("scan/chain", p, b, n.fold(b)) })
	return all
}

// Candidates returns the algorithms among which a Modelled rule for the collective chooses.
func Candidates(collective string) (names []string) {
	for i := range sharing {
		if r := &sharing[i].rule; r.Collective == collective {
			names = append(names, r.Algorithm)
		}
	}
	for _, of := range candidates()[collective] {
		if !slices.Contains(names, of.rule.Algorithm) {
			names = append(names, of.rule.Algorithm)
		}
	}
	return names
}

// networkOf returns the model of the network of a case.
func networkOf(c *Case) *loggp {
	if c.RDMA {
		return &networks[1]
	}
	return &networks[0]
}

// modelled returns the candidate rule for a case that takes the least time. It is nil if no
// candidate folds as the case demands.
func modelled(c *Case) (fastest *Rule) {
	if c.Memory {
		fastest = modelledInMemory(c)
	}
	if fastest != nil {
		return fastest
	}
	n, least := networkOf(c), math.Inf(1)
	all := candidates()[c.Collective]
	for i := range all {
		took := all[i].time(n, c.Ranks, float64(c.Bytes))
		if (fastest == nil || took < worthwhile*least) && all[i].rule.serves(c) {
			fastest, least = &all[i].rule, took
		}
	}
	return fastest
}

// loggp holds the parameters of LogGP in nanoseconds. Its methods return the times of parts of
// algorithms in nanoseconds.
type loggp struct {
	l, o, g, perByte, perFold float64
	rdma                      bool
}

var networks = [...]loggp{newNetwork(false), newNetwork(true)}

func newNetwork(rdma bool) loggp {
	m := Network(rdma)
	return loggp{float64(m.L), float64(m.O), float64(m.Gap), float64(m.GPerByte) / 1000, float64(sim.DefaultFold) / 1000, rdma}
}

// wire returns the time in which a link carries bytes.
func (n *loggp) wire(bytes float64) float64 { return n.perByte * bytes }

// fold returns the time in which a rank folds bytes.
func (n *loggp) fold(bytes float64) float64 { return n.perFold * bytes }

// fan returns the time until the last of k messages that one rank sends has arrived.
func (n *loggp) fan(k int, bytes float64) float64 {
	return float64(k-1)*max(n.o, n.g+n.wire(bytes)) + n.exchange(1, bytes)
}

// collect returns the time until one rank has received a message from each of k ranks.
func (n *loggp) collect(k int, bytes float64) float64 {
	return n.o + n.l + float64(k)*(n.o+n.wire(bytes))
}

// exchange returns the time in which all ranks send k messages each, and receive as many. A rank
// sends all of its short messages before the first one arrives. Otherwise it receives one between
// two sends.
func (n *loggp) exchange(k int, bytes float64) float64 {
	if n.g+n.wire(bytes) > n.o+n.l {
		return float64(k) * (2*n.o + n.l + n.wire(bytes))
	}
	return max(float64(k)*n.o, n.o+n.l) + float64(k)*(n.o+n.wire(bytes))
}

// disseminate returns the time of a barrier by dissemination. The last round has fewer messages.
func (n *loggp) disseminate(p, degree int) (time float64) {
	for told := 1; told < p; told *= degree {
		time += n.exchange(min(degree, (p-1)/told+1)-1, 0)
	}
	return time
}

// rounds returns ⌈log2 p⌉.
func (n *loggp) rounds(p int) float64 { return float64(bits.Len(uint(p - 1))) }

// tree returns the time along a binomial tree whose ranks also work for some time on each message.
// The longest path has ⌊log2 p⌋ hops, and follows another send unless p is a power of two.
func (n *loggp) tree(p int, bytes, work float64) float64 {
	hops := bits.Len(uint(p)) - 1
	time := float64(hops) * (n.exchange(1, bytes) + work)
	if p > 1<<hops {
		time += max(n.o, n.g+n.wire(bytes)) + work
	}
	return time
}

// chain returns the time along a chain whose ranks work for some time on a whole message. It is cut
// as the algorithm of that name is cut.
func (n *loggp) chain(name string, p int, bytes, work float64) float64 {
	m := Message{Algorithm: name, Ranks: p, Bytes: int(bytes), Links: true}
	chunks := float64(Chunks(m))
	each := n.wire(bytes/chunks) + work/chunks
	time := float64(p-1)*(2*n.o+n.l+each) + (chunks-1)*(2*n.o+each)
	if work > 0 && chunks > 1 {
		// Work on a chunk, and its send, wait for chunks that came before. The longer chunks are on
		// the wire, the more of them come together.
		time += float64(2*p-5)*each + float64(p-2)*n.l*2/3
	}
	return time
}

// twoTree returns the time down or up two trees, or both ways, if ranks also work for some time on a
// whole message, cut as the algorithm of that name is cut. On each level a rank sends a chunk twice,
// or gets two, and a chunk of the other tree comes between.
func (n *loggp) twoTree(name string, p int, bytes, ways, work float64) float64 {
	m := Message{Algorithm: name, Ranks: p, Bytes: int(bytes), Links: true}
	chunks, levels := float64(Chunks(m)), float64(bits.Len(uint(p))-1)
	each := n.wire(bytes / chunks)
	return ways*(levels*(4*n.o+n.l+2.5*each)+(chunks-1)*(2*n.o+each)) + (levels+chunks)*work/chunks
}

// symmetric returns the time of the symmetric broadcast. A destination receives a fragment while it
// puts the one before to the other destinations.
func (n *loggp) symmetric(p int, bytes float64) float64 {
	m := Message{Algorithm: "bcast/symmetric", Ranks: p, Bytes: int(bytes), Links: true, RDMA: n.rdma}
	fragments := float64(Chunks(m))
	if fragments == 1 || p == 2 {
		return n.fan(p-1, bytes)
	}
	each := n.wire(bytes / fragments)
	return 2*n.exchange(1, bytes/fragments) + (fragments-1)*(2*n.o+each) + float64(p-2)*each
}

// folded returns the time of rounds among the largest power of degree up to p ranks, each of which
// takes a time. The other ranks tell what they have before, and hear the result after.
func (n *loggp) folded(p, degree int, round float64) float64 {
	time, ranks := 0.0, 1
	for ; ranks*degree <= p; ranks *= degree {
		time += round
	}
	if ranks < p {
		time += 2 * round
	}
	return time
}

// halve returns the time of recursive halving of a vector, and of collecting results of some bytes.
// Unless p is a power of two, some ranks give all that they have to others first.
func (n *loggp) halve(p int, vector, results float64) float64 {
	hops := bits.Len(uint(p)) - 1
	time := float64(hops)*n.exchange(1, 0) + n.wire(vector*share(1<<hops)) + n.fold(vector*share(1<<hops))
	if results > 0 {
		time += float64(hops)*n.exchange(1, 0) + n.wire(results*share(1<<hops))
	}
	if p > 1<<hops {
		time += n.exchange(1, vector) + n.wire(vector) + n.fold(vector) // their partners are behind in each round
	}
	return time
}

// share returns the part of a vector that is not a rank's own.
func share(p int) float64 { return float64(p-1) / float64(p) }

// modelledServes reports whether a Modelled rule has a candidate that folds as the case demands.
func modelledServes(c *Case) bool {
	return slices.ContainsFunc(candidates()[c.Collective], func(of candidate) bool { return of.rule.serves(c) })
}
