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
	repair                 // a chunk, put by a repair rule
	request                // a signal that asks for chunks, put by a repair rule
	answer                 // what a request is answered with
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

// spare is a transfer that only happens if something is lost; it has no round.
type spare struct {
	transfer
	after int // of a repair or request: multiples of the base timeout
}

// run is what happens when every rule fires as soon as it can.
type run struct {
	*ir.Schedule
	transfers []transfer      // by round, class, from, to, slot
	spare     []spare         // of the rules that idle counts
	lost      bool            // no multicast arrives
	done      []int           // the round after which each rank's call returns, -1: never
	rounds    int             // after which the last call has returned
	last      int             // the last round in which something moves
	stuck     int             // rules that can never fire
	idle      [answer + 1]int // by class: rules of repairs that are not needed in this run
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
	onRequest := all.OnRequest()
	t := &run{Schedule: s, lost: lost, done: fix.Returns(), rounds: fix.Rounds()}
	for rank := range s.Programs {
		t.addProgram(fix, all, onRequest, rank)
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
// every repair is made too, so a rule that it lacks can never fire, and
// onRequest says which of its rules are part of a repair.
func (t *run) addProgram(fix, all *fixpoint.Result, onRequest []bool, rank int) {
	for i := range t.Programs[rank].Rules {
		rule := &t.Programs[rank].Rules[i]
		at := fix.Rule(rank, i)
		answers := !rule.IsRepair() && onRequest[fix.Layout().Rule(rank, i)]
		switch {
		case all.Rule(rank, i) < 0:
			t.stuck++
		case at < 0:
			t.addSpare(rule, rank, answers)
		default:
			t.addRule(rule, rank, at, answers)
		}
	}
}

func (t *run) addRule(rule *ir.Rule, rank, at int, answers bool) {
	for _, a := range rule.Do {
		t.transfers = append(t.transfers, newTransfer(rule, a, rank, at+1, answers))
	}
}

func (t *run) addSpare(rule *ir.Rule, rank int, answers bool) {
	if len(rule.Do) > 0 {
		t.idle[classOf(rule, rule.Do[0], answers)]++
	}
	for _, a := range rule.Do {
		if a.Op == ir.Put {
			t.spare = append(t.spare, spare{newTransfer(rule, a, rank, 0, answers), rule.After})
		}
	}
}

func newTransfer(rule *ir.Rule, a ir.Action, rank, round int, answers bool) transfer {
	to := int(a.To)
	if a.Op == ir.Mcast {
		to = everyone
	}
	return transfer{round: round, class: classOf(rule, a, answers), from: rank, to: to, slot: a.Slot}
}

func classOf(rule *ir.Rule, a ir.Action, answers bool) class {
	switch {
	case a.Op == ir.Mcast:
		return mcast
	case answers:
		return answer
	case rule.IsRepair() && a.Slot.Kind() == ir.KindSignal:
		return request
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

// notNeeded spells what this run does without because nothing that it would
// make up for is lost: "7 repairs, 4 requests, 4 answers". Each is a rule.
func (t *run) notNeeded() string {
	var parts []string
	for c, n := range t.idle {
		if n > 0 {
			parts = append(parts, count(n, classWord[c]))
		}
	}
	return list(parts)
}
