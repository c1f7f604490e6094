package emit

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/fixpoint"
)

// writeGOAL prints what happens under the losses of o as GOAL text, the input of
// the simulator LogGOPSim (grammar: package ir/goal).
func writeGOAL(w io.Writer, s *ir.Schedule, o Options) error {
	if o.Size < 0 {
		return fmt.Errorf("a message of %d bytes", o.Size)
	}
	g, err := newGoal(s, o)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(w)
	g.header(buf, o)
	for rank := range g.lines {
		fmt.Fprintf(buf, "\nrank %d {\n", rank)
		for _, line := range g.lines[rank] {
			fmt.Fprintln(buf, line)
		}
		fmt.Fprintln(buf, "}")
	}
	return buf.Flush()
}

// goal is the lines of all ranks, found by walking along the rules in the order
// in which they fire: what an operation requires stands above it.
type goal struct {
	s      *ir.Schedule
	size   int
	lost   Loss
	layout *fixpoint.Layout
	lines  [][]string
	first  []string       // by slot number: the label of the receive that sets it
	copies map[copyOf]int // of messages whose first slot it is, from one rank to another, so far
	joins  []int          // by rank: calcs so far
	width  int            // tags of one copy
}

// copyOf is a slot on its way between two ranks.
type copyOf struct {
	from, to int
	slot     ir.Slot
}

func newGoal(s *ir.Schedule, o Options) (*goal, error) {
	fix, err := fixpoint.Run(s, fixpoint.Model{Lost: o.Lost.Hits, Repairs: true})
	if err != nil {
		return nil, err
	}
	g := &goal{
		s: s, size: o.Size, lost: o.Lost, layout: fix.Layout(),
		lines: make([][]string, s.Ranks), first: make([]string, fix.Layout().Slots()),
		copies: make(map[copyOf]int), joins: make([]int, s.Ranks), width: s.Chunks,
	}
	for i := range s.Programs {
		g.width = max(g.width, s.Chunks+s.Programs[i].Signals)
	}
	for _, id := range fix.Fired() {
		rank, i := g.layout.RuleOf(int(id))
		g.fire(rank, &s.Programs[rank].Rules[i])
	}
	for rank := range g.lines {
		if len(g.lines[rank]) == 0 {
			g.add(rank, "idle", "calc 0", nil) // the simulator does not survive a rank without operations
		}
	}
	return g, nil
}

// fire prints the sends of a rule, with the receives of them.
func (g *goal) fire(rank int, r *ir.Rule) {
	needs := g.labels(rank, r.When)
	if len(needs) > 1 && g.sends(rank, r) > 1 {
		join := fmt.Sprintf("j%d", g.joins[rank])
		g.joins[rank]++
		g.add(rank, join, "calc 0", needs)
		needs = []string{join}
	}
	for message := range messages(r.Do) {
		own := needs
		for _, a := range message {
			if a.Slot.Kind() == ir.KindChunk && !slices.Contains(r.When, a.Slot) {
				own = append(own[:len(own):len(own)], g.labels(rank, []ir.Slot{a.Slot})...)
			}
		}
		g.act(rank, message, own)
	}
}

// labels returns the receives that set the slots; what a rank has from the
// beginning has none.
func (g *goal) labels(rank int, slots []ir.Slot) []string {
	var out []string
	for _, s := range slots {
		if label := g.first[g.layout.Slot(rank, s)]; label != "" {
			out = append(out, label)
		}
	}
	return out
}

// sends returns how many messages the rule sends.
func (g *goal) sends(rank int, r *ir.Rule) int {
	n := 0
	for message := range messages(r.Do) {
		if message[0].Op == ir.Put {
			n++
		} else {
			n += g.s.Ranks - 1
		}
	}
	return n
}

func (g *goal) act(rank int, message []ir.Action, needs []string) {
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

// message prints one send and its receive. Its tag is that of its first slot.
func (g *goal) message(from, to int, message []ir.Action, needs []string) {
	slot := message[0].Slot
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
	label := fmt.Sprintf("%s_from_%d%s", name, from, suffix)
	for _, a := range message {
		bytes += g.bytes(a.Slot)
		held := a.Slot.Kind() == ir.KindChunk && g.s.Holds(to, a.Slot.Index())
		if id := g.layout.Slot(to, a.Slot); g.first[id] == "" && !held {
			g.first[id] = label
		}
	}
	g.add(from, fmt.Sprintf("%s_to_%d%s", name, to, suffix), fmt.Sprintf("send %db to %d tag %d", bytes, to, tag), needs)
	g.add(to, label, fmt.Sprintf("recv %db from %d tag %d", bytes, from, tag), nil)
}

// bytes returns what the slot adds to the length of its message. A signal and a barrier's chunk
// carry no data; both are one byte, because LogGOPSim crashes on messages of no bytes.
func (g *goal) bytes(slot ir.Slot) int {
	if slot.Kind() != ir.KindChunk || !g.s.HasMessage() {
		return 1
	}
	per := g.s.BlockChunks()
	lo, hi := ir.ChunkBounds(g.size, per, slot.Index()%per)
	return max(hi-lo, 1)
}

// length returns the sum of the lengths of a block's chunks, as they are sent.
func (g *goal) length() int {
	sum := 0
	for k := range g.s.BlockChunks() {
		sum += g.bytes(ir.Chunk(k))
	}
	return sum
}

func (g *goal) tag(slot ir.Slot) int {
	if slot.Kind() == ir.KindChunk {
		return slot.Index()
	}
	return g.s.Chunks + slot.Index()
}

// add adds an operation and what it requires.
func (g *goal) add(rank int, label, op string, needs []string) {
	g.lines[rank] = append(g.lines[rank], label+": "+op)
	for i, n := range needs {
		if !slices.Contains(needs[:i], n) {
			g.lines[rank] = append(g.lines[rank], label+" requires "+n)
		}
	}
}

// header says what the file is.
func (g *goal) header(w io.Writer, o Options) {
	fmt.Fprintf(w, "// %s, %s", g.s.Name(), count(g.s.Ranks, "rank"))
	if g.s.Rooted() {
		fmt.Fprintf(w, ", %s %d", g.s.RootWord(), g.s.Root)
	}
	switch {
	case g.s.Blocks() > 1:
		fmt.Fprintf(w, ", %s of %d bytes each in %s, lost: %v", count(g.s.Blocks(), "block"), o.Size, count(g.s.BlockChunks(), "chunk"), o.Lost)
	case g.s.HasMessage():
		fmt.Fprintf(w, ", %d bytes in %s, lost: %v", o.Size, count(g.s.Chunks, "chunk"), o.Lost)
	case g.s.Chunks > 0:
		fmt.Fprintf(w, ", %s of no bytes, lost: %v", count(g.s.Chunks, "chunk"), o.Lost)
	}
	fmt.Fprintln(w)
	if o.Command != "" {
		fmt.Fprintf(w, "// made by: %s\n", o.Command)
	}
	if g.s.HasMessage() {
		fmt.Fprintf(w, "// message: %db\n", g.length()) // of one block
	}
	for _, line := range goalNotes {
		fmt.Fprintln(w, "// "+line)
	}
	fmt.Fprintf(w, "num_ranks %d\n", g.s.Ranks)
}

var goalNotes = []string{
	"GOAL has no multicast: it is a send to every rank that gets it. Repairs that",
	"these losses make necessary are sends like others; the time until a rank asks",
	"for one is not modelled. A signal, like a chunk of no bytes, is one byte.",
}
