package emit

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/internal/ir/term"
	"github.com/schedgen/schedgen/ir"
)

// class distinguishes transfers that the pictures draw differently.
type class uint8

const (
	mcast     class = iota // unreliable, to all other ranks
	putChunk               // reliable, a chunk
	putSignal              // reliable, a signal
	repair                 // a chunk, put by a repair rule
	request                // a signal that asks for chunks, put by a repair rule
	answer                 // the answer to a request
)

// everyone is the destination of a multicast.
const everyone = -1

// transfer is one message from one lane to another: a put of one or more slots, or a multicast.
type transfer struct {
	round   int // column, counted from 1, in which it leaves and arrives
	class   class
	from    int
	to      int // or everyone
	message []ir.Action
}

func compareTransfers(a, b transfer) int {
	return cmp.Or(a.round-b.round, cmp.Compare(a.class, b.class), a.from-b.from, a.to-b.to, cmp.Compare(a.message[0].Slot, b.message[0].Slot))
}

// spare is a transfer that only happens if something is lost. It has no round.
type spare struct {
	transfer
	after int // of a repair or request: multiples of the base timeout
}

// run is what happens if every rule fires as soon as it can.
type run struct {
	*ir.Schedule
	fix       *fixpoint.Result
	all       *fixpoint.Result // with every repair made; a rule that does not fire here can never fire
	onRequest []bool           // by rule: part of a repair
	lost      bool             // no multicast arrives

	folds []fold    // by round, then rank
	terms *term.Run // of the slots at the end; nil: nothing is folded

	returns          []int           // the round after which each rank's call returns, -1: never
	rounds           int             // the round after which the last call has returned
	last             int             // the last round in which something moves or is folded
	stuck            int             // number of rules that can never fire
	idle             [answer + 1]int // by class: rules of repairs that are not needed in this run
	multicasts, puts int
}

// trace returns the run of s without losses, or, if lost is true, the run in which all multicasts
// are lost and repairs make up for them.
func trace(s *ir.Schedule, lost bool) (*run, error) {
	fix, err := fixpoint.Run(s, fixpoint.Model{LoseMcast: lost, Repairs: lost})
	if err != nil {
		return nil, err
	}
	all, err := fixpoint.Run(s, fixpoint.Model{EveryRepair: true})
	if err != nil {
		return nil, err
	}
	t := &run{Schedule: s, fix: fix, all: all, onRequest: all.OnRequest(), lost: lost, returns: fix.Returns(), rounds: fix.Rounds()}
	for rank := range s.Programs {
		t.count(rank)
	}
	t.findFolds()
	return t, nil
}

// count counts what a rank does in the run and what it does not need.
func (t *run) count(rank int) {
	for i := range t.Programs[rank].Rules {
		rule := &t.Programs[rank].Rules[i]
		at := t.fix.Rule(rank, i)
		switch {
		case t.all.Rule(rank, i) < 0:
			t.stuck++
		case !sends(rule.Do):
		case at < 0:
			t.idle[t.classOf(rank, i, rule.Do[0])]++
		default:
			t.last = max(t.last, at+1)
			t.countActions(rule)
		}
	}
}

func (t *run) countActions(rule *ir.Rule) {
	for message := range sent(rule.Do) {
		if message[0].Op == ir.Mcast {
			t.multicasts++
		} else {
			t.puts++
		}
	}
}

// classOf returns the class of an action of rule i of a rank.
func (t *run) classOf(rank, i int, a ir.Action) class {
	rule := &t.Programs[rank].Rules[i]
	if a.Op != ir.Mcast && !rule.IsRepair() && t.onRequest[t.fix.Layout().Rule(rank, i)] {
		return answer
	}
	return ruleClass(rule, a)
}

// ruleClass returns the class of an action of a rule that is not an answer.
func ruleClass(rule *ir.Rule, a ir.Action) class {
	switch {
	case a.Op == ir.Mcast:
		return mcast
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
	for _, at := range t.returns {
		if at < 0 {
			n++
		}
	}
	return n
}

// notNeeded describes the rules that this run does not need because nothing is lost: "7 repairs, 4
// requests, 4 answers".
func (t *run) notNeeded() string {
	var parts []string
	for c, n := range t.idle {
		if n > 0 {
			parts = append(parts, count(n, classWord[c]))
		}
	}
	return list(parts)
}

// moves calls f for every message of the run, by rank and rule. A multicast counts once. The
// transfer is between ranks, and its round is the run's round.
func (t *run) moves(f func(transfer)) {
	for rank := range t.Programs {
		for i := range t.Programs[rank].Rules {
			at := t.fix.Rule(rank, i)
			if at < 0 || t.all.Rule(rank, i) < 0 {
				continue
			}
			for message := range sent(t.Programs[rank].Rules[i].Do) {
				f(transfer{at + 1, t.classOf(rank, i, message[0]), rank, destination(message[0]), message})
			}
		}
	}
}

// mayMove calls f for every transfer that only happens if something is lost.
func (t *run) mayMove(f func(spare)) {
	for rank := range t.Programs {
		for i := range t.Programs[rank].Rules {
			if t.fix.Rule(rank, i) >= 0 || t.all.Rule(rank, i) < 0 {
				continue
			}
			rule := &t.Programs[rank].Rules[i]
			for message := range messages(rule.Do) {
				if a := message[0]; a.Op == ir.Put {
					f(spare{transfer{0, t.classOf(rank, i, a), rank, int(a.To), message}, rule.After})
				}
			}
		}
	}
}

func destination(a ir.Action) int {
	if a.Op == ir.Mcast {
		return everyone
	}
	return int(a.To)
}

// transfers returns all transfers of the run, sorted.
func (t *run) transfers() []transfer {
	var out []transfer
	t.moves(func(tr transfer) { out = append(out, tr) })
	slices.SortStableFunc(out, compareTransfers)
	return out
}
