package emit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// mscclPut is slots on their way that are consecutive at both ranks. A message of several slots is
// one mscclPut for each of its runs.
type mscclPut struct {
	from, to int
	slots    []ir.Slot  // at the sender
	sets     []ir.Slot  // at the receiver
	src, dst mscclPlace // of the first slot
	needs    []maker    // what must have happened at the sender before; the maker of its own slots is last

	// folds says that the receiver folds the slots as it receives them, because it does nothing
	// else with them.
	folds bool
	with  []ir.Slot // the other operands
	made  []ir.Slot // the results, in place of sets
	after []maker   // what must have happened at the receiver before
}

// brings returns the slots that the receiver then has.
func (put *mscclPut) brings() []ir.Slot {
	if put.folds {
		return put.made
	}
	return put.sets
}

// mscclFold is a fold with steps of its own.
type mscclFold struct {
	rank     int
	made     ir.Slot
	operands []ir.Slot
	needs    []maker
	step     int // the last of its steps, in the rank's block of folds
}

// maker is the maker of a slot: put number n, or fold number -1-n.
type maker int

// mscclFits returns why a schedule does not consist only of puts and folds of chunks, or nil.
func mscclFits(s *ir.Schedule) error {
	if !s.HasMessage() {
		return &Unfit{"it moves no bytes but sets signals, and MSCCL only moves chunks"}
	}
	if s.QuestionChunks() > 0 {
		return &Unfit{fmt.Sprintf("ranks answer a question (%v) that must reach them first, and MSCCL has all contributions from the start", ir.Chunk(0))}
	}
	for rank := range s.Programs {
		for i := range s.Programs[rank].Rules {
			r := &s.Programs[rank].Rules[i]
			for _, a := range r.Do {
				switch {
				case a.Op == ir.Mcast:
					return &Unfit{fmt.Sprintf("rank %d multicasts %v, and MSCCL has no multicast", rank, a.Slot)}
				case a.Slot.Kind() == ir.KindSignal:
					return &Unfit{fmt.Sprintf("rank %d puts the signal %v (an acknowledgement or request), and MSCCL only moves chunks", rank, a.Slot)}
				case r.IsRepair():
					return &Unfit{fmt.Sprintf("rank %d has a repair, and MSCCL has no timeouts", rank)}
				}
			}
		}
	}
	return nil
}

// rankSlot is a slot of a rank.
type rankSlot struct {
	rank int
	slot ir.Slot
}

// connection is a connection from one rank to another.
type connection struct{ from, to int }

// mscclPlan distributes puts and folds over thread blocks.
type mscclPlan struct {
	s       *ir.Schedule
	puts    []mscclPut // each after the puts that it needs
	folds   []mscclFold
	order   []maker            // all puts and folds, in the order of a run
	uses    map[rankSlot]int   // how often it is put or folded
	waiters map[rankSlot]int   // how many rules wait for it
	came    map[rankSlot]maker // what brings or makes the slot
	place   map[rankSlot]mscclPlace
	scratch []int // by rank: chunks of its scratch buffer

	blocks [][]mscclBlock
	sends  map[connection]int // the block of the sender
	recvs  map[connection]int // the block of the receiver
	folder map[connection]int // by connection of a rank with itself: the block of its folds
	fused  map[connection]connection
	step   []int // by put: the step of the receiver's block that receives it
}

// newMSCCLPlan returns the thread blocks of every rank.
func newMSCCLPlan(s *ir.Schedule) (*mscclPlan, error) {
	if err := mscclFits(s); err != nil {
		return nil, err
	}
	p := &mscclPlan{
		s: s, uses: make(map[rankSlot]int), waiters: make(map[rankSlot]int), came: make(map[rankSlot]maker), place: make(map[rankSlot]mscclPlace), scratch: make([]int, s.Ranks),
		blocks: make([][]mscclBlock, s.Ranks), sends: make(map[connection]int), recvs: make(map[connection]int), folder: make(map[connection]int),
	}
	if err := p.find(); err != nil {
		return nil, err
	}
	p.fused = p.fusable()
	p.step = make([]int, len(p.puts))
	for rank := range s.Ranks {
		p.copyOwn(rank)
	}
	for _, m := range p.order {
		switch {
		case m < 0:
			p.fold(&p.folds[-1-m])
		case p.puts[m].from >= 0:
			p.send(&p.puts[m])
			if !p.puts[m].folds {
				p.receive(int(m))
			}
		}
	}
	return p, nil
}

// moment is a message or a fold of a run.
type moment struct {
	rank  int
	rule  *ir.Rule
	do    []ir.Action
	round int
}

// find visits the rules, round by round, in the order in which they fire. In each round folds come
// before sends, so that a rank may fold what it receives at once.
func (p *mscclPlan) find() error {
	fix, err := fixpoint.Run(p.s, fixpoint.Model{})
	if err != nil {
		return err
	}
	var all []moment
	for _, id := range fix.Fired() {
		rank, i := fix.Layout().RuleOf(int(id))
		r := &p.s.Programs[rank].Rules[i]
		for do := range messages(r.Do) {
			all = append(all, moment{rank, r, do, fix.Rule(rank, i)})
			for _, a := range do {
				p.uses[rankSlot{rank, a.Slot}]++
			}
		}
		for _, w := range r.When {
			p.waiters[rankSlot{rank, w}]++
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int {
		return cmp.Or(a.round-b.round, count01(a.do[0].Op != ir.Fold)-count01(b.do[0].Op != ir.Fold))
	})
	folding := p.foldable(all)
	for _, m := range all {
		if m.do[0].Op == ir.Fold {
			err = p.addFold(m, folding)
		} else {
			err = p.addMessage(m, folding)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// foldable returns, by partial result, the fold that a rank does while it receives that result.
// Such a fold has two operands, is the only use of the partial result, and comes before the next
// message from the same sender.
func (p *mscclPlan) foldable(all []moment) map[rankSlot]moment {
	// partial results that came by the last message of their connection
	brought := make(map[rankSlot]connection)
	out := make(map[rankSlot]moment)
	last := make(map[connection][]rankSlot)
	for _, m := range all {
		if m.do[0].Op == ir.Put {
			c := connection{m.rank, int(m.do[0].To)}
			for _, s := range last[c] {
				delete(brought, s)
			}
			last[c] = nil
			for _, a := range m.do {
				if s := (rankSlot{c.to, a.Sets()}); s.slot.Kind() == ir.KindValue && p.uses[s] == 1 && p.waiters[s] == 1 {
					brought[s] = c
					last[c] = append(last[c], s)
				}
			}
			continue
		}
		if len(m.do) != 2 {
			continue
		}
		for i := range m.do {
			s := rankSlot{m.rank, m.do[i].Slot}
			if _, ok := brought[s]; ok {
				out[s] = m
				delete(brought, s)
				break
			}
		}
	}
	return out
}

// other returns the operand of a fold of two that is not s.
func other(do []ir.Action, s ir.Slot) ir.Slot {
	if do[0].Slot == s {
		return do[1].Slot
	}
	return do[0].Slot
}

// addMessage adds a put for every run of the message. Only its first put waits for the slots of the
// rule, because the steps of a block follow each other.
func (p *mscclPlan) addMessage(m moment, folding map[rankSlot]moment) error {
	to := int(m.do[0].To)
	rule, err := p.waits(m, nil)
	if err != nil {
		return err
	}
	for message := m.do; len(message) > 0; {
		put := mscclPut{from: m.rank, to: to, needs: rule}
		rule = nil
		for _, a := range message {
			at := rankSlot{to, a.Sets()}
			if _, twice := p.came[at]; twice || a.Sets().Kind() == ir.KindChunk && p.s.Holds(to, a.Sets().Index()) {
				return &Unfit{fmt.Sprintf("rank %d gets %v twice", to, a.Sets())}
			}
			need, err := p.need(m.rank, a.Slot)
			if err != nil {
				return err
			}
			fold, folds := folding[at]
			src, dst := p.source(m.rank, a.Slot), mscclPlace{}
			if !folds {
				dst = p.destination(to, a.Sets())
			}
			n := len(put.slots)
			switch {
			case n == 0:
				put.src, put.dst, put.folds = src, dst, folds
			case src != put.src.plus(n) || folds != put.folds || !folds && dst != put.dst.plus(n) || folds && !p.follows(&put, fold, at.slot):
				n = -1
			}
			if n < 0 {
				break
			}
			put.slots, put.sets, put.needs = append(put.slots, a.Slot), append(put.sets, at.slot), append(put.needs, need...)
			p.came[at] = maker(len(p.puts))
			if folds {
				put.with, put.made = append(put.with, other(fold.do, at.slot)), append(put.made, fold.do[0].As)
				continue
			}
			p.put(at, dst)
		}
		put.needs = lastOfEach(put.needs)
		p.order = append(p.order, maker(len(p.puts)))
		p.puts = append(p.puts, put)
		message = message[len(put.slots):]
	}
	return nil
}

// follows reports whether a further slot of a put can join it: the operand with which the slot is
// folded and the result must directly follow the operand and the result of the slot before it. One
// rule must do all these folds.
func (p *mscclPlan) follows(put *mscclPut, fold moment, s ir.Slot) bool {
	n := len(put.with) - 1
	with, made := other(fold.do, s), fold.do[0].As
	next := func(before, x ir.Slot) bool {
		if x.Kind() == ir.KindValue { // its place has not been chosen yet
			return before.Kind() == ir.KindValue
		}
		return x.Kind() == before.Kind() && p.fixed(put.to, x) == p.fixed(put.to, before).plus(1)
	}
	sameRule := slices.ContainsFunc(fold.rule.Do, func(a ir.Action) bool { return a.Op == ir.Fold && a.As == put.made[0] })
	return with.Kind() == ir.KindInput && next(put.with[n], with) && next(put.made[n], made) && sameRule
}

// fixed returns the place of a contribution or of a wanted chunk.
func (p *mscclPlan) fixed(rank int, s ir.Slot) mscclPlace {
	if s.Kind() == ir.KindInput {
		return mscclPlace{"i", s.Index()}
	}
	wanted := p.s.Wanted(rank)
	return mscclPlace{"o", wanted.Place(s.Index())}
}

// put records the place of a slot.
func (p *mscclPlan) put(at rankSlot, where mscclPlace) {
	p.place[at] = where
	if where.buffer == "s" {
		p.scratch[at.rank]++
	}
}

// addFold adds a fold, or lets the put that brings its operand fold it.
func (p *mscclPlan) addFold(m moment, folding map[rankSlot]moment) error {
	made := rankSlot{m.rank, m.do[0].As}
	if _, twice := p.came[made]; twice {
		return &Unfit{fmt.Sprintf("rank %d makes %v twice", m.rank, made.slot)}
	}
	rule, err := p.waits(m, folding)
	if err != nil {
		return err
	}
	dst := p.destination(m.rank, made.slot)
	for i := range m.do {
		at := rankSlot{m.rank, m.do[i].Slot}
		if f, ok := folding[at]; !ok || &f.do[0] != &m.do[0] {
			continue
		}
		by := p.came[at]
		put := &p.puts[by]
		if put.made[0] == made.slot {
			put.dst = dst
		}
		other, err := p.need(m.rank, other(m.do, at.slot))
		if err != nil {
			return err
		}
		put.after = append(put.after, slices.DeleteFunc(append(rule, other...), func(x maker) bool { return x == by })...)
		p.came[made] = by
		p.put(made, dst)
		if put.made[len(put.made)-1] == made.slot {
			put.after = lastOfEach(put.after)
			p.order = append(p.order, -1-maker(len(p.folds)))
			p.folds = append(p.folds, mscclFold{rank: -1, step: int(by)}) // the receive happens here
		}
		return nil
	}
	fold := mscclFold{rank: m.rank, made: made.slot, needs: rule}
	for _, a := range m.do {
		need, err := p.need(m.rank, a.Slot)
		if err != nil {
			return err
		}
		fold.needs, fold.operands = append(fold.needs, need...), append(fold.operands, a.Slot)
	}
	fold.needs = lastOfEach(fold.needs)
	p.came[made] = -1 - maker(len(p.folds))
	p.put(made, dst)
	p.order = append(p.order, -1-maker(len(p.folds)))
	p.folds = append(p.folds, fold)
	return nil
}

// waits returns the makers of the slots for which the rule of a message or fold waits and that the
// message or fold does not use. It leaves out slots that folds receive as they fold.
func (p *mscclPlan) waits(m moment, folding map[rankSlot]moment) (needs []maker, err error) {
	for _, w := range m.rule.When {
		if _, folds := folding[rankSlot{m.rank, w}]; folds || w == ir.Enter || slices.ContainsFunc(m.do, func(a ir.Action) bool { return a.Slot == w }) {
			continue
		}
		need, err := p.need(m.rank, w)
		if err != nil {
			return nil, err
		}
		needs = append(needs, need...)
	}
	return needs, nil
}

func (at mscclPlace) plus(n int) mscclPlace { return mscclPlace{at.buffer, at.at + n} }

// lastOfEach removes duplicates and keeps the last of each.
func lastOfEach(list []maker) []maker {
	var out []maker
	for i, v := range list {
		if !slices.Contains(list[i+1:], v) {
			out = append(out, v)
		}
	}
	return out
}

// need returns the maker of a slot of the rank, or none if the rank has the slot at enter.
func (p *mscclPlan) need(rank int, s ir.Slot) ([]maker, error) {
	if s.Kind() == ir.KindInput || s.Kind() == ir.KindChunk && p.s.Holds(rank, s.Index()) {
		return nil, nil
	}
	m, ok := p.came[rankSlot{rank, s}]
	if !ok {
		return nil, &Unfit{fmt.Sprintf("rank %d puts %v before it has it", rank, s)}
	}
	return []maker{m}, nil
}

// source returns the place from which the rank reads a slot that it has.
func (p *mscclPlan) source(rank int, s ir.Slot) mscclPlace {
	if held := p.s.Held(rank); s.Kind() == ir.KindChunk && held.Has(s.Index()) {
		return mscclPlace{"i", held.Place(s.Index())}
	}
	if s.Kind() == ir.KindInput {
		return mscclPlace{"i", s.Index()}
	}
	return p.place[rankSlot{rank, s}]
}

// destination returns the place of a slot that comes to the rank or that the rank makes.
func (p *mscclPlan) destination(rank int, s ir.Slot) mscclPlace {
	if wanted := p.s.Wanted(rank); s.Kind() == ir.KindChunk && wanted.Has(s.Index()) {
		return mscclPlace{"o", wanted.Place(s.Index())}
	}
	return mscclPlace{"s", p.scratch[rank]}
}

// copyOwn adds a block that copies the chunks that the rank both holds and wants to its output, run
// by run.
func (p *mscclPlan) copyOwn(rank int) {
	held, wanted := p.s.Held(rank), p.s.Wanted(rank)
	var steps []mscclStep
	for k := range held.All() {
		if !wanted.Has(k) {
			continue
		}
		src, dst := mscclPlace{"i", held.Place(k)}, mscclPlace{"o", wanted.Place(k)}
		if n := len(steps) - 1; n >= 0 && src == steps[n].src.plus(steps[n].cnt) && dst == steps[n].dst.plus(steps[n].cnt) {
			steps[n].cnt++
			continue
		}
		steps = append(steps, mscclStep{kind: "cpy", src: src, dst: dst, cnt: 1, block: -1, dep: -1})
	}
	if len(steps) > 0 {
		p.blocks[rank] = append(p.blocks[rank], mscclBlock{send: -1, recv: -1, steps: steps})
	}
}

// fusable returns, by outgoing connection of a rank, an incoming one with which it can share a
// block. The slots that leave must be the slots that come, or their folds, in the same runs and
// order, and must need nothing else. Slots of the rank's own may leave first. No connection occurs
// twice.
func (p *mscclPlan) fusable() map[connection]connection {
	puts := make(map[connection][]int)
	var order []connection
	for i := range p.puts {
		c := connection{p.puts[i].from, p.puts[i].to}
		if puts[c] == nil {
			order = append(order, c)
		}
		puts[c] = append(puts[c], i)
	}
	fused := make(map[connection]connection)
	taken := make(map[connection]bool)
	for _, out := range order {
		list := puts[out]
		if p.s.Folds() { // otherwise the slots that come and leave agree from the first message on
			for len(list) > 0 && len(p.puts[list[0]].needs) == 0 {
				list = list[1:]
			}
		}
		if len(list) == 0 || len(p.puts[list[0]].needs) != 1 || p.puts[list[0]].needs[0] < 0 {
			continue
		}
		in := connection{p.puts[p.puts[list[0]].needs[0]].from, out.from}
		come := puts[in]
		if taken[in] || len(come) < len(list) || !p.s.Folds() && len(come) > len(list) {
			continue
		}
		alike := true
		for i, put := range list {
			alike = alike && slices.Equal(p.puts[put].needs, []maker{maker(come[i])}) && slices.Equal(p.puts[put].slots, p.puts[come[i]].brings())
		}
		if alike {
			fused[out], taken[in] = in, true
		}
	}
	return fused
}

// block returns the number of the rank's block for a connection. It adds the block fresh if there
// is none.
func (p *mscclPlan) block(rank int, known map[connection]int, c connection, fresh mscclBlock) int {
	id, ok := known[c]
	if !ok {
		id = len(p.blocks[rank])
		known[c] = id
		p.blocks[rank] = append(p.blocks[rank], fresh)
	}
	return id
}

// await returns the block and the step of the rank that does m, and marks the step as awaited.
func (p *mscclPlan) await(rank int, m maker) (block, step int) {
	if m < 0 {
		block, step = p.folder[connection{rank, rank}], p.folds[-1-m].step
	} else {
		block, step = p.recvs[connection{p.puts[m].from, rank}], p.step[m]
	}
	p.blocks[rank][block].steps[step].awaited = true
	return block, step
}

// addStep adds a step to a block of the rank and returns its number. The step waits for the last of
// needs. Steps before it wait for the others. Steps of the same block need no waiting.
func (p *mscclPlan) addStep(rank, block int, needs []maker, step mscclStep) int {
	step.block, step.dep = -1, -1
	nothing := mscclPlace{"o", -1}
	for _, need := range needs {
		of, dep := p.await(rank, need)
		if of == block {
			continue
		}
		b := &p.blocks[rank][block]
		if step.block >= 0 {
			b.steps = append(b.steps, mscclStep{kind: "nop", src: nothing, dst: nothing, block: step.block, dep: step.dep})
		}
		step.block, step.dep = of, dep
	}
	b := &p.blocks[rank][block]
	b.steps = append(b.steps, step)
	return len(b.steps) - 1
}

// send adds the steps of the sender. In a block that both receives and sends, the step that
// receives the slots sends them too.
func (p *mscclPlan) send(put *mscclPut) {
	c := connection{put.from, put.to}
	if in, ok := p.fused[c]; ok {
		id := p.block(put.from, p.recvs, in, mscclBlock{send: put.to, recv: in.from})
		b := &p.blocks[put.from][id]
		b.send = put.to
		if len(put.needs) > 0 {
			p.sendOn(put, &b.steps[p.step[put.needs[0]]])
			return
		}
		p.addStep(put.from, id, nil, mscclStep{kind: "s", src: put.src, dst: put.src, cnt: len(put.slots)})
		return
	}
	id := p.block(put.from, p.sends, c, mscclBlock{send: put.to, recv: -1})
	dst := put.dst
	if put.folds {
		dst = put.src
	}
	p.addStep(put.from, id, put.needs, mscclStep{kind: "s", src: put.src, dst: dst, cnt: len(put.slots)})
}

// sendOn lets the step that receives the slots of a put also send them, or their folds. It does not
// write results that have no other use.
func (p *mscclPlan) sendOn(put *mscclPut, step *mscclStep) {
	if step.kind == "r" {
		step.kind = "rcs"
		return
	}
	step.kind = "rrs"
	for _, s := range put.slots {
		if s.Kind() != ir.KindValue || p.uses[rankSlot{put.from, s}] > 1 {
			step.kind = "rrcs"
		}
	}
}

// receive adds the step of the receiver.
func (p *mscclPlan) receive(i int) {
	put := &p.puts[i]
	id := p.block(put.to, p.recvs, connection{put.from, put.to}, mscclBlock{send: -1, recv: put.from})
	step := mscclStep{kind: "r", src: put.dst, dst: put.dst, cnt: len(put.slots)}
	if put.folds {
		step.kind, step.src = "rrc", p.source(put.to, put.with[0])
	}
	p.step[i] = p.addStep(put.to, id, put.after, step)
}

// fold adds the steps of a fold: a copy of the first operand, onto which the others are folded. If
// a put folds its own slots, fold adds one step that receives and folds.
func (p *mscclPlan) fold(f *mscclFold) {
	if f.rank < 0 {
		p.receive(f.step)
		return
	}
	id := p.block(f.rank, p.folder, connection{f.rank, f.rank}, mscclBlock{send: -1, recv: -1})
	dst := p.place[rankSlot{f.rank, f.made}]
	f.step = p.addStep(f.rank, id, f.needs, mscclStep{kind: "cpy", src: p.source(f.rank, f.operands[0]), dst: dst, cnt: 1})
	for _, s := range f.operands[1:] {
		f.step = p.addStep(f.rank, id, nil, mscclStep{kind: "re", src: p.source(f.rank, s), dst: dst, cnt: 1})
	}
}
