package emit

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/fixpoint"
	"github.com/schedgen/schedgen/ir/term"
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

// transfer is one message on its way from one lane to another: the slots of a put that may have
// several, or what is multicast.
type transfer struct {
	round   int // column, counted from 1: it leaves and arrives in this one
	class   class
	from    int
	to      int // or everyone
	message []ir.Action
}

func compareTransfers(a, b transfer) int {
	return cmp.Or(a.round-b.round, cmp.Compare(a.class, b.class), a.from-b.from, a.to-b.to, cmp.Compare(a.message[0].Slot, b.message[0].Slot))
}

// spare is a transfer that only happens if something is lost; it has no round.
type spare struct {
	transfer
	after int // of a repair or request: multiples of the base timeout
}

// run is what happens when every rule fires as soon as it can.
type run struct {
	*ir.Schedule
	fix       *fixpoint.Result
	all       *fixpoint.Result // every repair is made too: a rule that it lacks can never fire
	onRequest []bool           // by rule: part of a repair
	lost      bool             // no multicast arrives

	folds []fold    // by round, then rank
	terms *term.Run // of what slots have at the end; nil: nothing is folded

	returns          []int           // the round after which each rank's call returns, -1: never
	rounds           int             // after which the last call has returned
	last             int             // the last round in which something moves or is folded
	stuck            int             // rules that can never fire
	idle             [answer + 1]int // by class: rules of repairs that are not needed in this run
	multicasts, puts int
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
	t := &run{Schedule: s, fix: fix, all: all, onRequest: all.OnRequest(), lost: lost, returns: fix.Returns(), rounds: fix.Rounds()}
	for rank := range s.Programs {
		t.count(rank)
	}
	t.findFolds()
	return t, nil
}

// count counts what a rank does in the run and what it does not.
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

// classOf returns the class of an action of the i-th rule of a rank.
func (t *run) classOf(rank, i int, a ir.Action) class {
	rule := &t.Programs[rank].Rules[i]
	if a.Op != ir.Mcast && !rule.IsRepair() && t.onRequest[t.fix.Layout().Rule(rank, i)] {
		return answer
	}
	return ruleClass(rule, a)
}

// ruleClass is the class of an action of a rule that is no answer.
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

// moves calls f with every message of the run, a multicast once, by rank and rule: the transfer
// between ranks, its round that of the run.
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

// mayMove calls f with what only moves if something is lost.
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

// transfers returns all that moves in the run, sorted.
func (t *run) transfers() []transfer {
	var out []transfer
	t.moves(func(tr transfer) { out = append(out, tr) })
	slices.SortStableFunc(out, compareTransfers)
	return out
}
