package verify

import (
	"github.com/schedgen/schedgen/ir"
)

// Cost is the cost of a schedule if nothing is lost. It excludes repairs, requests and the answers
// to them.
type Cost struct {
	Rounds   int // the round after which the last call has returned, see fixpoint.Result.Rounds
	Puts     int // messages that put chunks; a message may have several chunks
	Chunks   int // chunks that are put, including contributions and partial results
	Mcasts   int // multicasts, each counted once, however many ranks it reaches
	Signals  int // puts of signals
	Messages int // puts, multicasts and signals
	// Bytes is the number of bytes handed to the network, in blocks: multiply it by the bytes of a
	// block. A multicast counts once.
	Bytes  float64
	MaxOut int // the largest number of ranks to which one rank puts
	MaxIn  int // the largest number of ranks that put to one rank
}

// RankCost is one rank's part of the cost.
type RankCost struct {
	Sent     int     // messages: puts and multicasts
	Received int     // messages: puts, and multicasts of others
	Out, In  int     // numbers of ranks to which it puts, and that put to it
	BytesOut float64 // in blocks
	BytesIn  float64 // in blocks, including every copy
}

// CostOf returns the cost of s. It fails if s names ranks or slots that do not exist.
func CostOf(s *ir.Schedule) (Cost, error) {
	sub, err := newSubject(s)
	if err != nil {
		return Cost{}, named("cost", err)
	}
	return costOf(sub, nil), nil
}

// CostByRank returns the cost of s and each rank's part of it, by rank. It fails as CostOf does.
func CostByRank(s *ir.Schedule) (Cost, []RankCost, error) {
	sub, err := newSubject(s)
	if err != nil {
		return Cost{}, nil, named("cost", err)
	}
	ranks := make([]RankCost, s.Ranks)
	return costOf(sub, ranks), ranks, nil
}

// costOf returns the cost. It fills in ranks unless that is nil.
func costOf(sub *subject, ranks []RankCost) Cost {
	if ranks == nil {
		ranks = make([]RankCost, sub.s.Ranks)
	}
	c := Cost{Rounds: sub.calm.Rounds()}
	own := make([]tally, sub.s.Ranks)
	for _, id := range sub.calm.Fired() {
		rank, i := sub.layout.RuleOf(int(id))
		for _, a := range sub.s.Programs[rank].Rules[i].Do {
			c.count(a)
			own[rank].send(a)
			if a.Op == ir.Put {
				own[a.To].receive(a)
			}
		}
	}
	c.Messages = c.Puts + c.Mcasts + c.Signals
	c.Bytes = inBlocks(sub.s, c.Chunks+c.Mcasts)
	for r, t := range own {
		ranks[r] = t.cost(sub.s, c.Mcasts)
	}
	countPeers(sub, ranks)
	for _, r := range ranks {
		c.MaxOut, c.MaxIn = max(c.MaxOut, r.Out), max(c.MaxIn, r.In)
	}
	return c
}

// EachSend calls f with each put and each multicast of a run in which nothing is lost, and with the
// rank that sends it. It excludes repairs, as [CostOf] does, and fails in the same way.
func EachSend(s *ir.Schedule, f func(rank int, a ir.Action)) error {
	sub, err := newSubject(s)
	if err != nil {
		return named("cost", err)
	}
	for _, id := range sub.calm.Fired() {
		rank, i := sub.layout.RuleOf(int(id))
		for _, a := range s.Programs[rank].Rules[i].Do {
			if a.Op != ir.Fold {
				f(rank, a)
			}
		}
	}
	return nil
}

func (c *Cost) count(a ir.Action) {
	switch {
	case a.Op == ir.Fold:
	case a.Op == ir.Mcast:
		c.Mcasts++
	case a.Slot.Kind() == ir.KindSignal:
		c.Signals++
	default:
		c.Chunks++
		if !a.Joins {
			c.Puts++
		}
	}
}

// tally counts what one rank sends and receives by put.
type tally struct{ sent, mcasts, chunksOut, received, chunksIn int }

func (t *tally) send(a ir.Action) {
	if a.Op == ir.Fold {
		return
	}
	if !a.Joins {
		t.sent++
	}
	if a.Op == ir.Mcast {
		t.mcasts++
	}
	if a.Slot.Kind() != ir.KindSignal {
		t.chunksOut++
	}
}

func (t *tally) receive(a ir.Action) {
	if !a.Joins {
		t.received++
	}
	if a.Slot.Kind() != ir.KindSignal {
		t.chunksIn++
	}
}

// cost returns the cost of the rank, given the number of multicasts of all ranks.
func (t *tally) cost(s *ir.Schedule, mcasts int) RankCost {
	others := mcasts - t.mcasts
	return RankCost{
		Sent:     t.sent,
		Received: t.received + others,
		BytesOut: inBlocks(s, t.chunksOut),
		BytesIn:  inBlocks(s, t.chunksIn+others),
	}
}

// inBlocks converts a number of chunks to blocks. The chunks of a barrier have no bytes, so it
// returns 0 for a barrier.
func inBlocks(s *ir.Schedule, chunks int) float64 {
	if !s.HasMessage() {
		return 0
	}
	return float64(chunks) / float64(s.BlockChunks())
}

// countPeers counts every pair of ranks with a put between them once. It goes rank by rank, so that
// one stamp for each destination suffices.
func countPeers(sub *subject, ranks []RankCost) {
	seen := make([]int32, sub.s.Ranks)
	for rank := range sub.s.Programs {
		for i := range sub.s.Programs[rank].Rules {
			if sub.calm.Rule(rank, i) < 0 {
				continue
			}
			for _, a := range sub.s.Programs[rank].Rules[i].Do {
				if a.Op == ir.Put && seen[a.To] != int32(rank+1) {
					seen[a.To] = int32(rank + 1)
					ranks[rank].Out++
					ranks[a.To].In++
				}
			}
		}
	}
}
