package engine

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// MaxTag is the largest tag that every MPI supports.
const MaxTag = 1<<15 - 1

// Lower returns the plans of all ranks of s.
//
// Repairs and requests are for lost messages. Here no message is lost, so plans have none of them.
// A multicast becomes a message to each rank that does not get the chunk by a put. If puts alone
// bring the chunk, as the chain of bcast/mcast-chain does, the puts are used. Of several messages
// that set one slot, only the one that can come first is sent. So every execution of the plans is
// an execution of the schedule in which everything left out comes last. Proofs of the schedule
// therefore hold for the plans: for example, no rank leaves a barrier too early.
//
// The error names a rank that waits forever, or two ranks that exchange more messages than MPI has
// tags.
func Lower(s *ir.Schedule) ([]Plan, error) {
	run, casts, err := withoutLoss(s)
	if err != nil {
		return nil, err
	}
	l := &lowering{
		s: s, layout: run.Layout(), casts: casts,
		setBy: make([]event, run.Layout().Slots()),
		place: make([]Place, run.Layout().Slots()),
		part:  make([]int32, run.Layout().Slots()),
		ranks: make([]rankState, s.Ranks),
		tags:  make(map[[2]int]int),
	}
	for rank := range l.ranks {
		l.begin(rank)
	}
	for _, id := range run.Fired() {
		if err := l.fire(l.layout.RuleOf(int(id))); err != nil {
			return nil, err
		}
	}
	plans := make([]Plan, s.Ranks)
	for rank := range plans {
		if err := l.finish(rank); err != nil {
			return nil, err
		}
		plans[rank] = l.ranks[rank].plan
	}
	return plans, nil
}

// withoutLoss runs s without repairs. A multicast brings its chunk to the ranks for which casts is
// true: the receivers that do not get it by puts alone.
func withoutLoss(s *ir.Schedule) (run *fixpoint.Result, casts func(to, chunk int) bool, err error) {
	puts, err := fixpoint.Run(s, fixpoint.Model{LoseMcast: true})
	if err != nil {
		return nil, nil, err
	}
	takes := takers(s)
	casts = func(to, chunk int) bool {
		return takes(to, chunk) && !puts.All(to, []ir.Slot{ir.Chunk(chunk)})
	}
	run, err = fixpoint.Run(s, fixpoint.Model{Lost: func(_, to, chunk int) bool { return !casts(to, chunk) }})
	return run, casts, err
}

// takers returns a function that says whether a rank takes a multicast of a chunk: the rank wants
// the chunk, or its program names it.
func takers(s *ir.Schedule) func(rank, chunk int) bool {
	named := make(map[[2]int]bool)
	for rank := range s.Programs {
		p := &s.Programs[rank]
		each := func(slots ...ir.Slot) {
			for _, slot := range slots {
				if slot.Kind() == ir.KindChunk {
					named[[2]int{rank, slot.Index()}] = true
				}
			}
		}
		each(p.Done...)
		for i := range p.Rules {
			each(p.Rules[i].When...)
			for _, a := range p.Rules[i].Do {
				each(a.Slot)
			}
		}
	}
	return func(rank, chunk int) bool {
		wanted := s.Wanted(rank)
		return wanted.Has(chunk) || named[[2]int{rank, chunk}]
	}
}

// event is the event that sets a slot of a rank: 0 none, 1 enter, 2+2i receive i, 3+2i fold i.
type event int32

const (
	unset   event = 0
	atEnter event = 1
)

func received(i int) event { return event(2 + 2*i) }
func folded(i int) event   { return event(3 + 2*i) }

// lowering visits the rules in an order in which they can fire.
type lowering struct {
	s      *ir.Schedule
	layout *fixpoint.Layout
	casts  func(to, chunk int) bool // see withoutLoss
	setBy  []event                  // by slot number
	place  []Place                  // by slot number: where a chunk or partial result is, once it is set
	part   []int32                  // by slot number: see Plan.Scratch, once it is set
	ranks  []rankState              // by rank
	tags   map[[2]int]int
}

// rankState is the state of one rank.
type rankState struct {
	plan    Plan
	actions [][]Action // by rule of the program
	copies  []Action   // between the buffers
}

// begin records what a rank has at enter, and copies what is in both of its buffers.
func (l *lowering) begin(rank int) {
	r := &l.ranks[rank]
	held, wanted := l.s.Held(rank), l.s.Wanted(rank)
	r.plan = Plan{Per: max(l.s.BlockChunks(), 1), Held: held.Count, Wanted: wanted.Count, OwnHeld: -1, OwnWanted: -1}
	r.plan.Held += l.s.Row().InputBlocks(l.s.Ranks)
	r.actions = make([][]Action, len(l.s.Programs[rank].Rules))
	l.setBy[l.layout.Slot(rank, ir.Enter)] = atEnter
	for id := range l.layout.Held(l.s, rank) {
		k := l.layout.PlaceOf(id).Slot.Index()
		l.setBy[id], l.place[id] = atEnter, l.heldAt(rank, k)
	}
	for k := range held.All() {
		if !wanted.Has(k) {
			continue
		}
		if r.plan.OwnHeld < 0 {
			r.plan.OwnHeld, r.plan.OwnWanted = l.s.Row().InputBlocks(l.s.Ranks)+held.Place(k)/held.Per, wanted.Place(k)/wanted.Per
		}
		r.copies = append(r.copies, ^Action(len(r.plan.Folds)))
		r.plan.Folds = append(r.plan.Folds, Fold{Slot: ir.Chunk(k), Made: placeIn(ReceiveBuffer, wanted.Place(k)), Operands: []Place{l.heldAt(rank, k)}})
	}
}

// heldAt returns the place of chunk k, which the rank holds at enter.
func (l *lowering) heldAt(rank, k int) Place {
	held := l.s.Held(rank)
	return placeIn(SendBuffer, l.s.Row().InputBlocks(l.s.Ranks)*held.Per+held.Place(k))
}

// fire adds the sends and folds of rule i of rank.
func (l *lowering) fire(rank, i int) error {
	for do := l.s.Programs[rank].Rules[i].Do; len(do) > 0; {
		message := ir.MessageOf(do)
		do = do[len(message):]
		switch message[0].Op {
		case ir.Fold:
			l.fold(rank, i, message)
		case ir.Put:
			if err := l.send(rank, i, int(message[0].To), message); err != nil {
				return err
			}
		case ir.Mcast:
			for to := range l.ranks {
				if to == rank || !l.casts(to, message[0].Slot.Index()) {
					continue
				}
				if err := l.send(rank, i, to, message); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// send adds a message with the slots that rank to does not have yet, if there are any.
func (l *lowering) send(from, rule, to int, message []ir.Action) error {
	sender, receiver := &l.ranks[from].plan, &l.ranks[to].plan
	at := Message{Peer: from}
	out := Message{Peer: to}
	for _, a := range message {
		id := l.layout.Slot(to, a.Sets())
		if id < 0 || l.setBy[id] != unset {
			continue
		}
		l.setBy[id] = received(len(receiver.Receives))
		at.Slots, out.Slots = append(at.Slots, a.Sets()), append(out.Slots, a.Slot)
		if !l.hasBytes(a.Slot) {
			continue
		}
		place, part := l.find(from, a.Slot)
		out.Places = append(out.Places, place)
		at.Places = append(at.Places, l.give(to, id, part))
	}
	if len(at.Slots) == 0 {
		return nil
	}
	out.As = at.Slots
	pair := [2]int{from, to}
	at.Tag, out.Tag = l.tags[pair], l.tags[pair]
	if at.Tag > MaxTag {
		return fmt.Errorf("rank %d sends more messages to rank %d than the %d tags that every MPI has", from, to, MaxTag+1)
	}
	l.tags[pair]++
	l.ranks[from].actions[rule] = append(l.ranks[from].actions[rule], Action(len(sender.Sends)))
	sender.Sends = append(sender.Sends, out)
	receiver.Receives = append(receiver.Receives, at)
	return nil
}

// fold adds a fold, unless its rank has the result already.
func (l *lowering) fold(rank, rule int, do []ir.Action) {
	r := &l.ranks[rank]
	id := l.layout.Slot(rank, do[0].As)
	if l.setBy[id] != unset {
		return
	}
	f := Fold{Slot: do[0].As}
	var part int32
	for _, a := range do {
		var place Place
		place, part = l.find(rank, a.Slot)
		f.Operands = append(f.Operands, place)
	}
	l.setBy[id] = folded(len(r.plan.Folds))
	f.Made = l.give(rank, id, part)
	r.actions[rule] = append(r.actions[rule], ^Action(len(r.plan.Folds)))
	r.plan.Folds = append(r.plan.Folds, f)
}

// hasBytes reports whether a slot has bytes. Signals and the chunks of a barrier do not.
func (l *lowering) hasBytes(s ir.Slot) bool { return s.Kind() != ir.KindSignal && l.s.HasMessage() }

// find returns the place of a slot of a rank, and the part that the slot is.
func (l *lowering) find(rank int, s ir.Slot) (Place, int32) {
	if s.Kind() == ir.KindInput {
		return placeIn(SendBuffer, s.Index()), int32(s.Index())
	}
	id := l.layout.Slot(rank, s)
	if id < 0 { // a chunk that the rank holds and that only its puts name
		return l.heldAt(rank, s.Index()), l.partOf(s.Index())
	}
	if s.Kind() == ir.KindChunk {
		return l.place[id], l.partOf(s.Index())
	}
	return l.place[id], l.part[id]
}

// partOf returns the part that chunk k is: a part of the contributions if the schedule folds,
// otherwise a part of any block.
func (l *lowering) partOf(k int) int32 {
	if l.s.Folds() {
		return int32(l.s.InputOf(k))
	}
	return int32(k % l.s.BlockChunks())
}

// give assigns a place to a slot of a rank.
func (l *lowering) give(rank, id int, part int32) Place {
	plan, s := &l.ranks[rank].plan, l.layout.PlaceOf(id).Slot
	if wanted := l.s.Wanted(rank); s.Kind() == ir.KindChunk && wanted.Has(s.Index()) {
		l.place[id] = placeIn(ReceiveBuffer, wanted.Place(s.Index()))
	} else {
		l.place[id] = placeIn(ScratchMemory, len(plan.Scratch))
		plan.Scratch = append(plan.Scratch, part)
	}
	l.part[id] = part
	return l.place[id]
}

// finish makes the rules of a rank. It leaves out rules that send and fold nothing. Copies between
// the buffers come last, when everything that other ranks wait for is on its way.
func (l *lowering) finish(rank int) error {
	r, program := &l.ranks[rank], &l.s.Programs[rank]
	for i := range program.Rules {
		if len(r.actions[i]) == 0 {
			continue
		}
		rule := Rule{Actions: r.actions[i]}
		var seen []event
		for _, slot := range program.Rules[i].When {
			by := l.setBy[l.layout.Slot(rank, slot)]
			if by == atEnter || slices.Contains(seen, by) {
				continue
			}
			seen = append(seen, by)
			var due *[]int32
			if by%2 == 0 {
				due = &r.plan.Receives[(by-2)/2].Due
			} else {
				due = &r.plan.Folds[(by-3)/2].Due
			}
			*due = append(*due, int32(len(r.plan.Rules)))
		}
		rule.Need = len(seen)
		r.plan.Rules = append(r.plan.Rules, rule)
	}
	for _, slot := range program.Done {
		if id := l.layout.Slot(rank, slot); id < 0 || l.setBy[id] == unset {
			return l.neverSet(rank, slot)
		}
	}
	if len(r.copies) > 0 {
		r.plan.Rules = append(r.plan.Rules, Rule{Actions: r.copies})
	}
	return nil
}

// neverSet returns the error for a rank that waits forever for a slot. It tells a schedule that
// sets the slot by repairs from one that never sets it, whatever is lost.
func (l *lowering) neverSet(rank int, slot ir.Slot) error {
	repaired, err := fixpoint.Run(l.s, fixpoint.Model{EveryRepair: true})
	switch {
	case err != nil:
		return err
	case repaired.Slot(rank, slot) >= 0:
		return fmt.Errorf("rank %d waits for %v, which nothing sets unless messages are lost", rank, slot)
	}
	return fmt.Errorf("rank %d waits for %v, which nothing sets: the schedule deadlocks", rank, slot)
}
