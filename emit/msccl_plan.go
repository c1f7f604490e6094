package emit

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/fixpoint"
)

// mscclPut is one chunk on its way.
type mscclPut struct {
	from, to, chunk int
	needs           []int // chunks that the sender must have received before
}

// mscclFits returns why a schedule is no broadcast of puts alone, or nil.
func mscclFits(s *ir.Schedule) error {
	if !s.HasMessage() {
		return &Unfit{"a barrier sets signals, and MSCCL only moves chunks"}
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

// mscclPuts returns all puts, each after those that it needs.
func mscclPuts(s *ir.Schedule) ([]mscclPut, error) {
	if err := mscclFits(s); err != nil {
		return nil, err
	}
	fix, err := fixpoint.Run(s, fixpoint.Model{})
	if err != nil {
		return nil, err
	}
	var puts []mscclPut
	got := make(map[[2]int]bool) // rank and chunk
	for _, id := range fix.Fired() {
		rank, i := fix.Layout().RuleOf(int(id))
		r := &s.Programs[rank].Rules[i]
		for _, a := range r.Do {
			key := [2]int{int(a.To), a.Slot.Index()}
			if got[key] || int(a.To) == s.Root {
				return nil, &Unfit{fmt.Sprintf("rank %d gets %v twice", a.To, a.Slot)}
			}
			needs := mscclNeeds(s, rank, r, a)
			for _, chunk := range needs {
				if !got[[2]int{rank, chunk}] {
					return nil, &Unfit{fmt.Sprintf("rank %d puts %v before it has it", rank, ir.Chunk(chunk))}
				}
			}
			got[key] = true
			puts = append(puts, mscclPut{rank, int(a.To), a.Slot.Index(), needs})
		}
	}
	return puts, nil
}

// mscclNeeds returns the chunks that a put waits for, its own last; of the root
// none, as it has them all.
func mscclNeeds(s *ir.Schedule, rank int, r *ir.Rule, a ir.Action) []int {
	if rank == s.Root {
		return nil
	}
	var needs []int
	for _, w := range r.When {
		if w.Kind() == ir.KindChunk && w != a.Slot {
			needs = append(needs, w.Index())
		}
	}
	return append(needs, a.Slot.Index())
}

// connection is from one rank to another.
type connection struct{ from, to int }

// mscclPlan places puts into thread blocks.
type mscclPlan struct {
	blocks [][]mscclBlock
	sends  map[connection]int // which block of the sender
	recvs  map[connection]int // which block of the receiver
	fused  map[connection]connection
	place  map[[2]int][2]int // by rank and chunk: block and step that receive it
}

// mscclBlocks returns the thread blocks of every rank.
func mscclBlocks(s *ir.Schedule) ([][]mscclBlock, error) {
	puts, err := mscclPuts(s)
	if err != nil {
		return nil, err
	}
	p := &mscclPlan{
		blocks: make([][]mscclBlock, s.Ranks), sends: make(map[connection]int), recvs: make(map[connection]int),
		fused: fusable(puts), place: make(map[[2]int][2]int),
	}
	copied := mscclStep{kind: "cpy", src: "i", cnt: s.Chunks, block: -1, dep: -1}
	p.blocks[s.Root] = []mscclBlock{{send: -1, recv: -1, steps: []mscclStep{copied}}}
	for _, put := range puts {
		p.send(put)
		p.receive(put)
	}
	return p.blocks, nil
}

// fusable returns, by the connection on which chunks leave a rank, the one on
// which the very same chunks come in the same order, if what leaves needs
// nothing else. No connection occurs twice.
func fusable(puts []mscclPut) map[connection]connection {
	chunks := make(map[connection][]int)
	source := make(map[[2]int]int) // by rank and chunk: who sends it
	var order []connection
	for _, put := range puts {
		c := connection{put.from, put.to}
		if chunks[c] == nil {
			order = append(order, c)
		}
		chunks[c] = append(chunks[c], put.chunk)
		source[[2]int{put.to, put.chunk}] = put.from
	}
	lone := make(map[connection]bool)
	for _, put := range puts {
		c := connection{put.from, put.to}
		if was, seen := lone[c]; !seen || was {
			lone[c] = len(put.needs) == 1
		}
	}
	fused := make(map[connection]connection)
	taken := make(map[connection]bool)
	for _, out := range order {
		from, ok := source[[2]int{out.from, chunks[out][0]}]
		in := connection{from, out.from}
		if ok && lone[out] && !taken[in] && slices.Equal(chunks[in], chunks[out]) {
			fused[out], taken[in] = in, true
		}
	}
	return fused
}

// block returns the number of the rank's block for a connection, a new one if
// there is none.
func (p *mscclPlan) block(rank int, known map[connection]int, c connection, fresh mscclBlock) int {
	id, ok := known[c]
	if !ok {
		id = len(p.blocks[rank])
		known[c] = id
		p.blocks[rank] = append(p.blocks[rank], fresh)
	}
	return id
}

// send adds the steps of the sender. In a block that does both, the step that
// receives the chunk sends it too.
func (p *mscclPlan) send(put mscclPut) {
	c := connection{put.from, put.to}
	if in, ok := p.fused[c]; ok {
		id := p.recvs[in]
		b := &p.blocks[put.from][id]
		b.send = put.to
		b.steps[p.place[[2]int{put.from, put.chunk}][1]].kind = "rcs"
		return
	}
	id := p.block(put.from, p.sends, c, mscclBlock{send: put.to, recv: -1})
	b := &p.blocks[put.from][id]
	for i, chunk := range put.needs {
		at := p.place[[2]int{put.from, chunk}]
		p.blocks[put.from][at[0]].steps[at[1]].awaited = true
		st := mscclStep{kind: "nop", src: "o", chunk: -1, block: at[0], dep: at[1]}
		if i == len(put.needs)-1 {
			st.kind, st.chunk, st.cnt = "s", put.chunk, 1
		}
		b.steps = append(b.steps, st)
	}
	if len(put.needs) == 0 {
		b.steps = append(b.steps, mscclStep{kind: "s", src: "i", chunk: put.chunk, cnt: 1, block: -1, dep: -1})
	}
}

// receive adds the step of the receiver.
func (p *mscclPlan) receive(put mscclPut) {
	id := p.block(put.to, p.recvs, connection{put.from, put.to}, mscclBlock{send: -1, recv: put.from})
	b := &p.blocks[put.to][id]
	p.place[[2]int{put.to, put.chunk}] = [2]int{id, len(b.steps)}
	b.steps = append(b.steps, mscclStep{kind: "r", src: "o", chunk: put.chunk, cnt: 1, block: -1, dep: -1})
}
