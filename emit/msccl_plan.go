package emit

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/fixpoint"
)

// mscclPut is chunks on their way that lie one behind the other at both ranks. A message of several
// chunks is as many of them as it has runs.
type mscclPut struct {
	from, to int
	chunks   []int
	src, dst mscclPlace // of the first chunk
	needs    []int      // puts that must have come to the sender before, the last that of its own chunks
}

// mscclFits returns why a schedule does not consist of puts of chunks alone, or nil.
func mscclFits(s *ir.Schedule) error {
	if !s.HasMessage() {
		return &Unfit{"it moves no bytes but sets signals, and MSCCL only moves chunks"}
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

// rankChunk is a chunk at a rank.
type rankChunk struct{ rank, chunk int }

// connection is from one rank to another.
type connection struct{ from, to int }

// mscclPlan places puts into thread blocks.
type mscclPlan struct {
	s       *ir.Schedule
	puts    []mscclPut        // each after those that it needs
	came    map[rankChunk]int // the put that brings the chunk
	place   map[rankChunk]mscclPlace
	scratch []int // by rank: chunks of its scratch buffer

	blocks [][]mscclBlock
	sends  map[connection]int // which block of the sender
	recvs  map[connection]int // which block of the receiver
	fused  map[connection]connection
	step   []int // by put: which step of the receiver's block receives it
}

// newMSCCLPlan returns the thread blocks of every rank.
func newMSCCLPlan(s *ir.Schedule) (*mscclPlan, error) {
	if err := mscclFits(s); err != nil {
		return nil, err
	}
	p := &mscclPlan{
		s: s, came: make(map[rankChunk]int), place: make(map[rankChunk]mscclPlace), scratch: make([]int, s.Ranks),
		blocks: make([][]mscclBlock, s.Ranks), sends: make(map[connection]int), recvs: make(map[connection]int),
	}
	if err := p.findPuts(); err != nil {
		return nil, err
	}
	p.fused = p.fusable()
	p.step = make([]int, len(p.puts))
	for rank := range s.Ranks {
		p.copyOwn(rank)
	}
	for i := range p.puts {
		p.send(&p.puts[i])
		p.receive(i)
	}
	return p, nil
}

// findPuts walks along the rules in the order in which they fire.
func (p *mscclPlan) findPuts() error {
	fix, err := fixpoint.Run(p.s, fixpoint.Model{})
	if err != nil {
		return err
	}
	for _, id := range fix.Fired() {
		rank, i := fix.Layout().RuleOf(int(id))
		r := &p.s.Programs[rank].Rules[i]
		for message := range messages(r.Do) {
			if err := p.addMessage(rank, r, message); err != nil {
				return err
			}
		}
	}
	return nil
}

// addMessage adds a put for every run of the message. Its first put waits for all that the rule waits
// for: the steps of a block follow each other.
func (p *mscclPlan) addMessage(rank int, r *ir.Rule, message []ir.Action) error {
	to := int(message[0].To)
	var rule []int
	for _, w := range r.When {
		if w.Kind() == ir.KindChunk && !slices.ContainsFunc(message, func(a ir.Action) bool { return a.Slot == w }) {
			need, err := p.need(rank, w.Index())
			if err != nil {
				return err
			}
			rule = append(rule, need...)
		}
	}
	for len(message) > 0 {
		put := mscclPut{from: rank, to: to, needs: rule}
		rule = nil
		for _, a := range message {
			k := a.Slot.Index()
			at := rankChunk{to, k}
			if _, twice := p.came[at]; twice || p.s.Holds(to, k) {
				return &Unfit{fmt.Sprintf("rank %d gets %v twice", to, a.Slot)}
			}
			need, err := p.need(rank, k)
			if err != nil {
				return err
			}
			src, dst := p.source(rank, k), p.destination(to, k)
			if n := len(put.chunks); n == 0 {
				put.src, put.dst = src, dst
			} else if src != put.src.plus(n) || dst != put.dst.plus(n) {
				break
			}
			put.chunks, put.needs = append(put.chunks, k), append(put.needs, need...)
			p.came[at], p.place[at] = len(p.puts), dst
			if dst.buffer == "s" {
				p.scratch[to]++
			}
		}
		put.needs = lastOfEach(put.needs)
		p.puts = append(p.puts, put)
		message = message[len(put.chunks):]
	}
	return nil
}

func (at mscclPlace) plus(n int) mscclPlace { return mscclPlace{at.buffer, at.at + n} }

// lastOfEach drops all but the last of numbers that repeat.
func lastOfEach(list []int) []int {
	var out []int
	for i, v := range list {
		if !slices.Contains(list[i+1:], v) {
			out = append(out, v)
		}
	}
	return out
}

// need returns the put that brings the chunk to the rank, none if it holds it.
func (p *mscclPlan) need(rank, chunk int) ([]int, error) {
	if p.s.Holds(rank, chunk) {
		return nil, nil
	}
	put, ok := p.came[rankChunk{rank, chunk}]
	if !ok {
		return nil, &Unfit{fmt.Sprintf("rank %d puts %v before it has it", rank, ir.Chunk(chunk))}
	}
	return []int{put}, nil
}

// source returns where the rank reads a chunk that it holds or has received.
func (p *mscclPlan) source(rank, chunk int) mscclPlace {
	if held := p.s.Held(rank); held.Has(chunk) {
		return mscclPlace{"i", held.Place(chunk)}
	}
	return p.place[rankChunk{rank, chunk}]
}

// destination returns where the rank puts a chunk that comes to it.
func (p *mscclPlan) destination(rank, chunk int) mscclPlace {
	if wanted := p.s.Wanted(rank); wanted.Has(chunk) {
		return mscclPlace{"o", wanted.Place(chunk)}
	}
	return mscclPlace{"s", p.scratch[rank]}
}

// copyOwn adds a block that copies what the rank both holds and wants to its output, run by run.
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

// fusable returns, by the connection on which chunks leave a rank, the one on which the very same
// runs come in the same order, if what leaves needs nothing else. No connection occurs twice.
func (p *mscclPlan) fusable() map[connection]connection {
	runs := make(map[connection][][]int)
	lone := make(map[connection]bool)
	var order []connection
	for _, put := range p.puts {
		c := connection{put.from, put.to}
		if runs[c] == nil {
			order = append(order, c)
			lone[c] = true
		}
		runs[c] = append(runs[c], put.chunks)
		lone[c] = lone[c] && len(put.needs) == 1
	}
	fused := make(map[connection]connection)
	taken := make(map[connection]bool)
	for _, out := range order {
		put, ok := p.came[rankChunk{out.from, runs[out][0][0]}]
		if !ok {
			continue
		}
		in := connection{p.puts[put].from, out.from}
		if lone[out] && !taken[in] && slices.EqualFunc(runs[in], runs[out], slices.Equal) {
			fused[out], taken[in] = in, true
		}
	}
	return fused
}

// block returns the number of the rank's block for a connection, a new one if there is none.
func (p *mscclPlan) block(rank int, known map[connection]int, c connection, fresh mscclBlock) int {
	id, ok := known[c]
	if !ok {
		id = len(p.blocks[rank])
		known[c] = id
		p.blocks[rank] = append(p.blocks[rank], fresh)
	}
	return id
}

// send adds the steps of the sender. In a block that does both, the step that receives the chunks
// sends them too.
func (p *mscclPlan) send(put *mscclPut) {
	c := connection{put.from, put.to}
	if in, ok := p.fused[c]; ok {
		b := &p.blocks[put.from][p.recvs[in]]
		b.send = put.to
		b.steps[p.step[put.needs[0]]].kind = "rcs"
		return
	}
	id := p.block(put.from, p.sends, c, mscclBlock{send: put.to, recv: -1})
	b := &p.blocks[put.from][id]
	step := mscclStep{kind: "s", src: put.src, dst: put.dst, cnt: len(put.chunks), block: -1, dep: -1}
	for i, need := range put.needs {
		in := connection{p.puts[need].from, put.from}
		block, dep := p.recvs[in], p.step[need]
		p.blocks[put.from][block].steps[dep].awaited = true
		if i == len(put.needs)-1 {
			step.block, step.dep = block, dep
			break
		}
		nothing := mscclPlace{"o", -1}
		b.steps = append(b.steps, mscclStep{kind: "nop", src: nothing, dst: nothing, block: block, dep: dep})
	}
	b.steps = append(b.steps, step)
}

// receive adds the step of the receiver.
func (p *mscclPlan) receive(i int) {
	put := &p.puts[i]
	id := p.block(put.to, p.recvs, connection{put.from, put.to}, mscclBlock{send: -1, recv: put.from})
	b := &p.blocks[put.to][id]
	p.step[i] = len(b.steps)
	b.steps = append(b.steps, mscclStep{kind: "r", src: put.dst, dst: put.dst, cnt: len(put.chunks), block: -1, dep: -1})
}
