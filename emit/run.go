package emit

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/fixpoint"
)

// class tells the transfers apart that the pictures draw differently.
type class uint8

const (
	mcast     class = iota // unreliable, to all other ranks
	putChunk               // reliable, a chunk
	putSignal              // reliable, a signal
	repair                 // a put by a repair rule
)

// everyone is the destination of a multicast.
const everyone = -1

// transfer is one slot on its way from one rank to another.
type transfer struct {
	round int // counted from 1: it leaves and arrives in this round
	class class
	from  int
	to    int // or everyone
	slot  ir.Slot
}

// run is what happens when every rule fires as soon as it can.
type run struct {
	*ir.Schedule
	transfers []transfer // by round, class, from, to, slot
	spare     []transfer // of the rules that repairs counts; round 1 those of repairs, round 2 answers to them
	lost      bool       // no multicast arrives
	done      []int      // the round after which each rank's call returns, -1: never
	rounds    int        // after which the last call has returned
	last      int        // the last round in which something moves
	stuck     int        // rules that can never fire
	repairs   int        // rules of repairs that are not needed in this run
}

// trace follows s: as if nothing were lost, or as if all multicasts were lost
// and repairs made up for it.
func trace(s *ir.Schedule, lost bool) (*run, error) {
	fix, err := fixpoint.Run(s, fixpoint.Model{LoseMcast: lost, Repairs: lost})
	if err != nil {
		return nil, err
	}
	all, err := fixpoint.Run(s, fixpoint.Model{EveryRepair: true})
	if err != nil {
		return nil, err
	}
	t := &run{Schedule: s, lost: lost, done: fix.Returns(), rounds: fix.Rounds()}
	for rank := range s.Programs {
		t.addProgram(fix, all, rank)
	}
	slices.SortStableFunc(t.transfers, compareTransfers)
	if n := len(t.transfers); n > 0 {
		t.last = t.transfers[n-1].round
	}
	return t, nil
}

func compareTransfers(a, b transfer) int {
	return cmp.Or(a.round-b.round, cmp.Compare(a.class, b.class), a.from-b.from, a.to-b.to, cmp.Compare(a.slot, b.slot))
}

// addProgram adds what a rank does in the run fix; all is the run in which
// every repair is made too, so a rule that it lacks can never fire.
func (t *run) addProgram(fix, all *fixpoint.Result, rank int) {
	for i := range t.Programs[rank].Rules {
		rule := &t.Programs[rank].Rules[i]
		at := fix.Rule(rank, i)
		switch {
		case all.Rule(rank, i) < 0:
			t.stuck++
		case at < 0:
			t.repairs++
			t.addSpare(rule, rank)
		default:
			t.addRule(rule, rank, at)
		}
	}
}

func (t *run) addRule(rule *ir.Rule, rank, at int) {
	for _, a := range rule.Do {
		tr := transfer{round: at + 1, class: classOf(rule, a), from: rank, to: int(a.To), slot: a.Slot}
		if a.Op == ir.Mcast {
			tr.to = everyone
		}
		t.transfers = append(t.transfers, tr)
	}
}

func (t *run) addSpare(rule *ir.Rule, rank int) {
	round := 2
	if rule.IsRepair() {
		round = 1
	}
	for _, a := range rule.Do {
		if a.Op == ir.Put {
			t.spare = append(t.spare, transfer{round, repair, rank, int(a.To), a.Slot})
		}
	}
}

func classOf(rule *ir.Rule, a ir.Action) class {
	switch {
	case a.Op == ir.Mcast:
		return mcast
	case rule.IsRepair():
		return repair
	case a.Slot.Kind() == ir.KindSignal:
		return putSignal
	}
	return putChunk
}

// neverReturns counts the ranks whose call never returns.
func (t *run) neverReturns() int {
	n := 0
	for _, at := range t.done {
		if at < 0 {
			n++
		}
	}
	return n
}
