package build

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/schedgen/schedgen/ir"
)

// writer makes the programs of all ranks from the steps of a Builder.
type writer struct {
	*Builder
	s     *ir.Schedule
	ranks []rankWriter
	when  []ir.Slot // scratch
	do    []ir.Action
	has   marks // see finish

	slots   slab[ir.Slot]
	actions slab[ir.Action]
}

// rankWriter is what the writer knows of a rank.
type rankWriter struct {
	sent  int                   // the first rule that comes after all rules that send
	asked map[ir.Slot]bool      // signals of requests
	folds map[ir.Slot][]ir.Slot // by slot: what the rank waits for before it folds the slot
	done  []ir.Slot
}

// schedule writes the schedule.
func (b *Builder) schedule() *ir.Schedule {
	w := &writer{Builder: b, s: &ir.Schedule{Header: b.h, Programs: empty(b.h.Ranks)}, ranks: make([]rankWriter, b.h.Ranks)}
	rules := make([]int, b.h.Ranks) // at most so many
	for i := range int32(b.steps.n) {
		rules[b.steps.at(i).rank]++
	}
	for rank := range w.s.Programs {
		w.s.Programs[rank].Rules = make([]ir.Rule, 0, rules[rank])
	}
	copied := w.chooseResults()
	for i := range int32(b.steps.n) {
		s := b.steps.at(i)
		switch s.do {
		case puts:
			w.put(s)
		case multicasts:
			w.multicast(s)
		case folds:
			w.fold(s)
		case results:
			if copied[i] {
				w.fold(s)
			}
		case signals:
			w.signal(s)
		case repairs:
			w.repair(s)
		case dones:
			for _, id := range b.operands(s) {
				w.ranks[s.rank].done = append(w.ranks[s.rank].done, w.premises([]int32{id})...)
			}
		}
	}
	for rank := range w.ranks {
		w.finish(rank)
	}
	for id, name := range w.names {
		p := &w.s.Programs[w.pieces.at(id).rank]
		if p.Names == nil {
			p.Names = make(map[ir.Slot]string)
		}
		p.Names[w.slot(id)] = name
	}
	w.checkUsed()
	return w.s
}

// chooseResults says which pieces are chunks because some rank wants them. If a rank wants a piece
// that was put to it, the sender has it as this chunk, too. It returns the steps that copy a piece
// for which that is impossible: a contribution, or the result of another chunk.
func (w *writer) chooseResults() (copied map[int32]bool) {
	copied = make(map[int32]bool)
	for i := range int32(w.steps.n) {
		s := w.steps.at(i)
		if s.do != results {
			continue
		}
		id := w.operands(s)[0]
		p := w.pieces.at(id)
		k := w.wanted(p)
		if (p.kind == input || p.kind == partial) && !w.becomes(id, ir.Chunk(k)) {
			copied[i] = true
			w.pieces.at(s.out).slot = ir.Chunk(k)
		}
	}
	for i := range int32(w.steps.n) {
		if s := w.steps.at(i); s.do == multicasts {
			id := w.operands(s)[0]
			if p := w.pieces.at(id); p.kind == partial && p.slot == ir.None {
				panic(&misuse{lineOf(w.where[i]) + ": Mcast: only a chunk can be multicast, or what a rank wants as its result"})
			} else if p.kind == partial {
				for rank := range w.h.Ranks {
					w.pieces.at(s.out + int32(rank)).slot = p.slot
				}
			}
		}
	}
	return copied
}

// becomes makes a piece chunk c, and all pieces from which it comes.
func (w *writer) becomes(id int32, c ir.Slot) bool {
	var way []int32
	for {
		p := w.pieces.at(id)
		if p.kind == input || p.slot != ir.None && p.slot != c {
			return false
		}
		way = append(way, id)
		if p.slot == c || p.src < 0 {
			break
		}
		id = p.src
	}
	for _, id := range way {
		w.pieces.at(id).slot = c
	}
	return true
}

// slot returns the slot of a piece at its rank.
func (w *writer) slot(id int32) ir.Slot {
	p := w.pieces.at(id)
	if p.slot == ir.None && p.src >= 0 && w.pieces.at(p.src).rank == p.rank { // see After
		return w.slot(p.src)
	}
	return p.slot
}

// premises returns the slots for which a step with these operands waits, ascending. The slice is
// valid until the next call.
func (w *writer) premises(operands []int32) []ir.Slot {
	w.when = w.when[:0]
	for _, id := range operands {
		w.premise(id)
	}
	slices.Sort(w.when)
	w.when = slices.Compact(w.when)
	return w.when
}

func (w *writer) premise(id int32) {
	p := w.pieces.at(id)
	switch p.kind {
	case held, enter:
		w.when = append(w.when, ir.Enter)
	case input:
		w.when = append(w.when, ir.Enter)
		for k := range w.h.QuestionChunks() {
			if !w.h.Holds(int(p.rank), k) {
				w.when = append(w.when, ir.Chunk(k))
			}
		}
	default:
		w.when = append(w.when, w.slot(id))
	}
	for _, late := range w.late[id] {
		w.premise(late)
	}
}

// add adds actions to the rule of rank that waits for the operands: to an earlier one with the same
// premises if the order in which the rank sends stays as it is.
func (w *writer) add(rank int32, operands []int32, sends bool, do ...ir.Action) {
	w.addTo(rank, w.premises(operands), sends, do)
}

func (w *writer) addTo(rank int32, when []ir.Slot, sends bool, do []ir.Action) {
	rules, r := &w.s.Programs[rank].Rules, &w.ranks[rank]
	from := max(0, len(*rules)-maxLook)
	if sends {
		from = max(from, r.sent-1)
	}
	at := len(*rules)
	for at > from && !joins(&(*rules)[at-1], when) {
		at--
	}
	if at > from {
		at--
		(*rules)[at].Do = append((*rules)[at].Do, do...)
	} else {
		at = len(*rules)
		*rules = append(*rules, ir.Rule{When: w.slots.clone(when), Do: w.actions.clone(do)})
	}
	if sends {
		r.sent = max(r.sent, at+1)
	}
}

// maxLook is how many rules back a rule with the same premises is looked for.
const maxLook = 8

func joins(r *ir.Rule, when []ir.Slot) bool {
	return !r.IsRepair() && slices.Equal(r.When, when)
}

func (w *writer) put(s *step) {
	of := w.operands(s)
	do := w.room(len(of))
	for i, id := range of {
		there := w.pieces.at(s.out + int32(i))
		do[i] = ir.Action{Op: ir.Put, Joins: i > 0, Slot: w.slot(id), To: s.to}
		if there.kind == partial && there.slot != do[i].Slot {
			there.slot = w.value(s.to)
			do[i].As = there.slot
		}
	}
	w.add(s.rank, of, true, do...)
}

// room returns n actions to be filled in, valid until the next call.
func (w *writer) room(n int) []ir.Action {
	w.do = slices.Grow(w.do[:0], n)[:n]
	return w.do
}

// value returns the next partial result of rank.
func (w *writer) value(rank int32) ir.Slot {
	p := &w.s.Programs[rank]
	p.Values++
	return ir.Value(p.Values - 1)
}

func (w *writer) multicast(s *step) {
	of := w.operands(s)
	w.add(s.rank, of, true, ir.McastOf(w.slot(of[0])))
}

func (w *writer) fold(s *step) {
	of, out := w.operands(s), w.pieces.at(s.out)
	if out.slot == ir.None {
		out.slot = w.value(s.rank)
	}
	do := w.room(len(of))
	for i, id := range of {
		do[i] = ir.Action{Op: ir.Fold, Joins: i > 0, Slot: w.slot(id), As: out.slot}
	}
	r := &w.ranks[s.rank]
	if r.folds == nil {
		r.folds = make(map[ir.Slot][]ir.Slot)
	}
	r.folds[out.slot] = slices.Clone(w.premises(of))
	w.add(s.rank, of, false, do...)
}

// newSignal returns the next signal of rank.
func (w *writer) newSignal(rank int32) ir.Slot {
	p := &w.s.Programs[rank]
	p.Signals++
	return ir.Signal(p.Signals - 1)
}

func (w *writer) signal(s *step) {
	to := w.newSignal(s.to)
	w.pieces.at(s.out).slot = to
	w.add(s.rank, w.operands(s), true, ir.PutTo(to, int(s.to)))
}

// repair writes a repair, see [Builder.Repair].
func (w *writer) repair(s *step) {
	id := w.operands(s)[0]
	p := w.pieces.at(id)
	made, _ := w.repaired(p, s.to)
	cast := w.steps.at(made)
	origin := w.operands(cast)[0]
	at := func(rank int32) []int32 { // the chunk at a rank
		if rank == cast.rank {
			return []int32{origin}
		}
		return []int32{cast.out + rank}
	}
	c := w.slot(origin)
	rules := &w.s.Programs[s.rank].Rules
	if p.kind == signal {
		*rules = append(*rules, ir.Rule{When: slices.Clone(w.premises(at(s.rank))), Do: []ir.Action{ir.PutTo(c, int(s.to))}, Unless: p.slot, After: int(s.after)})
		w.ranks[s.rank].sent = len(*rules)
		w.ranks[s.rank].done = append(w.ranks[s.rank].done, p.slot)
		return
	}
	w.ranks[s.rank].done = append(w.ranks[s.rank].done, c)
	request := w.newSignal(s.to)
	*rules = append(*rules, ir.Rule{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.PutTo(request, int(s.to))}, Unless: c, After: int(s.after)})
	w.ranks[s.rank].sent = len(*rules)
	r := &w.ranks[s.to]
	if r.asked == nil {
		r.asked = make(map[ir.Slot]bool)
	}
	r.asked[request] = true
	when := append(slices.Clone(w.premises(at(s.to))), request)
	slices.Sort(when)
	w.addTo(s.to, when, true, []ir.Action{ir.PutTo(c, int(s.rank))})
}

// checkUsed fails if a rank gets or makes a partial result that nothing uses.
func (w *writer) checkUsed() {
	used := make([]bool, w.pieces.n)
	for i := range int32(w.of.n) {
		for id := *w.of.at(i); id >= 0 && !used[id]; id = w.pieces.at(id).src {
			used[id] = true
			if src := w.pieces.at(id).src; src >= 0 && w.pieces.at(src).rank != w.pieces.at(id).rank {
				break // the piece from which it was put has been used by the put
			}
		}
	}
	for i := range int32(w.steps.n) {
		s := w.steps.at(i)
		n := int32(0)
		switch s.do {
		case puts:
			n = s.n
		case folds:
			n = 1
		}
		for id := s.out; id < s.out+n; id++ {
			if p := w.pieces.at(id); p.kind == partial && !used[id] {
				what := "makes"
				if s.do == puts {
					what = "gets from rank " + strconv.Itoa(int(s.rank))
				}
				panic(&misuse{fmt.Sprintf("nothing uses what rank %d %s: part %d of the vector is neither folded nor put further, and is no Result", p.rank, what, p.part)})
			}
		}
	}
}

// finish writes for what a rank waits before it returns: the chunks that it wants, what Done names,
// and what its rules wait for. A rank that has folded something has had all of its operands.
func (w *writer) finish(rank int) {
	p, r := &w.s.Programs[rank], &w.ranks[rank]
	p.Done = make([]ir.Slot, 0, 1)
	if len(p.Rules) == 0 {
		p.Rules = nil
	}
	w.has.clear()
	var folded func(s ir.Slot)
	folded = func(s ir.Slot) {
		for _, operand := range r.folds[s] {
			if w.has.add(operand) {
				folded(operand)
			}
		}
	}
	need := func(s ir.Slot) {
		if w.has.add(s) {
			p.Done = append(p.Done, s)
			folded(s)
		}
	}
	if w.h.HasMessage() {
		wanted := w.h.Wanted(rank)
		p.Done = slices.Grow(p.Done, wanted.Len())
		for k := range wanted.All() {
			if !w.h.Holds(rank, k) {
				need(ir.Chunk(k))
			}
		}
	}
	wanted := len(p.Done)
	for i := len(p.Rules) - 1; i >= 0; i-- {
		rule := &p.Rules[i]
		if rule.IsRepair() || slices.ContainsFunc(rule.When, func(s ir.Slot) bool { return r.asked[s] }) {
			continue
		}
		for _, s := range rule.When {
			if s != ir.Enter {
				need(s)
			}
		}
	}
	for _, s := range r.done {
		if s != ir.Enter {
			need(s)
		}
	}
	slices.Sort(p.Done[wanted:])
	if len(p.Done) == 0 {
		p.Done = []ir.Slot{ir.Enter}
	}
}
