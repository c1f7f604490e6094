package emit

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// operations are the sends, receives and folds of all ranks under some losses. They are found by
// visiting the rules in the order in which they fire, so an operation comes after everything that
// it requires. No two operations of a rank have the same name.
type operations struct {
	s       *ir.Schedule
	size    int
	fold    int // picoseconds a byte
	lost    Loss
	layout  *fixpoint.Layout
	ranks   [][]dag.Op
	first   []int32        // by slot number: 1 plus the index of the receive or the fold that sets it, else 0
	part    []int32        // by slot number of a partial result: the chunk of a block to which it belongs
	copies  map[copyOf]int // number of messages so far with this first slot from one rank to another
	joins   []int          // by rank: joins so far
	folds   []int          // by rank: folds so far
	width   int            // number of tags of one copy
	signals int            // the largest number of signals of a rank
}

// copyOf is a slot on its way between two ranks.
type copyOf struct {
	from, to int
	slot     ir.Slot
}

// newOperations returns what happens under the losses of o.
func newOperations(s *ir.Schedule, o Options) (*operations, error) {
	if o.Size < 0 {
		return nil, fmt.Errorf("a message of %d bytes: must not be negative", o.Size)
	}
	if o.Fold < 0 {
		return nil, fmt.Errorf("folds of %d ps a byte: must not be negative", o.Fold)
	}
	fix, err := fixpoint.Run(s, fixpoint.Model{Lost: o.Lost.Hits, Repairs: true})
	if err != nil {
		return nil, err
	}
	g := &operations{
		s: s, size: o.Size, fold: o.Fold, lost: o.Lost, layout: fix.Layout(), part: make([]int32, fix.Layout().Slots()),
		ranks: make([][]dag.Op, s.Ranks), first: make([]int32, fix.Layout().Slots()),
		copies: make(map[copyOf]int), joins: make([]int, s.Ranks), folds: make([]int, s.Ranks), width: s.Chunks,
	}
	for i := range s.Programs {
		g.signals = max(g.signals, s.Programs[i].Signals)
		g.width = max(g.width, s.Chunks+g.signals+s.Programs[i].Values)
	}
	for _, id := range fix.Fired() {
		rank, i := g.layout.RuleOf(int(id))
		g.fire(rank, &s.Programs[rank].Rules[i])
	}
	for rank := range g.ranks {
		if len(g.ranks[rank]) == 0 {
			g.add(rank, dag.Op{Name: "idle"}, nil) // LogGOPSim crashes on a rank without operations
		}
	}
	return g, nil
}

// fire adds the sends of a rule and their receives.
func (g *operations) fire(rank int, r *ir.Rule) {
	needs := g.needs(rank, r.When)
	if len(needs) > 1 && g.sends(rank, r) > 1 {
		join := g.add(rank, dag.Op{Name: fmt.Sprintf("j%d", g.joins[rank])}, needs)
		g.joins[rank]++
		needs = []int32{join}
	}
	for message := range messages(r.Do) {
		if message[0].Op == ir.Fold {
			g.foldOf(rank, message, needs)
			continue
		}
		own := needs
		for _, a := range message {
			if a.Slot.Kind() == ir.KindChunk && !slices.Contains(r.When, a.Slot) {
				own = append(own[:len(own):len(own)], g.needs(rank, []ir.Slot{a.Slot})...)
			}
		}
		g.act(rank, message, own)
	}
}

// needs returns the receives and folds that set the slots. A rank has the other slots from the
// beginning.
func (g *operations) needs(rank int, slots []ir.Slot) []int32 {
	var out []int32
	for _, s := range slots {
		if set := g.first[g.layout.Slot(rank, s)]; set > 0 {
			out = append(out, set-1)
		}
	}
	return out
}

// sends returns the number of messages and folds of the rule. A multicast counts once for each
// other rank.
func (g *operations) sends(rank int, r *ir.Rule) int {
	n := 0
	for message := range messages(r.Do) {
		if message[0].Op == ir.Mcast {
			n += g.s.Ranks - 1
		} else {
			n++
		}
	}
	return n
}

// foldOf adds a fold as the time that it takes.
func (g *operations) foldOf(rank int, do []ir.Action, needs []int32) {
	part := g.partOf(rank, do[0].Slot)
	bytes := g.chunkBytes(part) * max(len(do)-1, 1)
	op := dag.Op{Name: fmt.Sprintf("fold%d_%v", g.folds[rank], do[0].As), Size: bytes, Time: int((int64(bytes)*int64(g.fold) + 999) / 1000)}
	g.folds[rank]++
	g.sets(rank, do[0].As, g.add(rank, op, needs), part)
}

// partOf returns the chunk of a block to which the contents of a slot belong.
func (g *operations) partOf(rank int, s ir.Slot) int {
	switch s.Kind() {
	case ir.KindChunk, ir.KindInput:
		return s.Index() % max(g.s.BlockChunks(), 1)
	case ir.KindValue:
		return int(g.part[g.layout.Slot(rank, s)])
	}
	return 0
}

// sets records the operation that brings a slot to a rank, if no earlier one has brought it.
func (g *operations) sets(rank int, s ir.Slot, op int32, part int) {
	held := s.Kind() == ir.KindChunk && g.s.Holds(rank, s.Index())
	if id := g.layout.Slot(rank, s); id >= 0 && g.first[id] == 0 && !held {
		g.first[id], g.part[id] = op+1, int32(part)
	}
}

// chunkBytes returns the length of a chunk of a block, at least 1: LogGOPSim crashes on messages
// without bytes.
func (g *operations) chunkBytes(part int) int {
	lo, hi := ir.ChunkBounds(g.size, max(g.s.BlockChunks(), 1), part)
	return max(hi-lo, 1)
}

func (g *operations) act(rank int, message []ir.Action, needs []int32) {
	a := message[0]
	if a.Op == ir.Put {
		g.message(rank, int(a.To), message, needs)
		return
	}
	for to := range g.s.Ranks {
		if to != rank && !g.lost.Hits(rank, to, a.Slot.Index()) {
			g.message(rank, to, message, needs)
		}
	}
}

// message adds one send and its receive. Its tag and its name come from its first slot at the
// destination.
func (g *operations) message(from, to int, message []ir.Action, needs []int32) {
	slot := message[0].Sets()
	c := copyOf{from, to, slot}
	n := g.copies[c]
	g.copies[c]++
	suffix := ""
	if n > 0 {
		suffix = fmt.Sprintf("_%d", n+1)
	}
	bytes, tag, name := 0, n*g.width+g.tag(slot), slot.String()
	if more := len(message) - 1; more > 0 {
		name += fmt.Sprintf("_and_%d_more", more)
	}
	for _, a := range message {
		bytes += g.bytes(from, a.Slot)
	}
	g.add(from, dag.Op{Kind: dag.Send, Name: fmt.Sprintf("%s_to_%d%s", name, to, suffix), Peer: to, Tag: tag, Size: bytes}, needs)
	recv := g.add(to, dag.Op{Kind: dag.Recv, Name: fmt.Sprintf("%s_from_%d%s", name, from, suffix), Peer: from, Tag: tag, Size: bytes}, nil)
	for _, a := range message {
		g.sets(to, a.Sets(), recv, g.partOf(from, a.Slot))
	}
}

// bytes returns the number of bytes that a slot of a rank adds to its message. A signal or a
// barrier's chunk has no data but counts as one byte, because LogGOPSim crashes on messages without
// bytes.
func (g *operations) bytes(rank int, slot ir.Slot) int {
	if slot.Kind() == ir.KindSignal || !g.s.HasMessage() {
		return 1
	}
	return g.chunkBytes(g.partOf(rank, slot))
}

// length returns the sum of the lengths of a block's chunks, as they are sent.
func (g *operations) length() int {
	sum := 0
	for k := range g.s.BlockChunks() {
		sum += g.bytes(0, ir.Chunk(k))
	}
	return sum
}

func (g *operations) tag(slot ir.Slot) int {
	switch slot.Kind() {
	case ir.KindChunk:
		return slot.Index()
	case ir.KindValue:
		return g.s.Chunks + g.signals + slot.Index()
	}
	return g.s.Chunks + slot.Index()
}

// add adds an operation and its requirements, and returns its index.
func (g *operations) add(rank int, op dag.Op, needs []int32) int32 {
	for i, n := range needs {
		if !slices.Contains(needs[:i], n) {
			op.After = append(op.After, n)
		}
	}
	g.ranks[rank] = append(g.ranks[rank], op)
	return int32(len(g.ranks[rank]) - 1)
}

// title says in a line what the operations are.
func (g *operations) title() string {
	title := fmt.Sprintf("%s, %s", g.s.Name(), count(g.s.Ranks, "rank"))
	if g.s.Rooted() {
		title += fmt.Sprintf(", %s %d", g.s.RootWord(), g.s.Root)
	}
	switch {
	case g.s.Blocks() > 1:
		title += fmt.Sprintf(", %s of %d bytes each in %s, lost: %v", count(g.s.Blocks(), "block"), g.size, count(g.s.BlockChunks(), "chunk"), g.lost)
	case g.s.HasMessage():
		title += fmt.Sprintf(", %d bytes in %s, lost: %v", g.size, count(g.s.Chunks, "chunk"), g.lost)
	case g.s.Chunks > 0:
		title += fmt.Sprintf(", %s of no bytes, lost: %v", count(g.s.Chunks, "chunk"), g.lost)
	}
	return title
}
