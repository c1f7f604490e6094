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
	copies map[copyOf]int // of a slot from one rank to another, so far
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
	for _, a := range r.Do {
		own := needs
		if a.Slot.Kind() == ir.KindChunk && !slices.Contains(r.When, a.Slot) {
			own = append(own[:len(own):len(own)], g.labels(rank, []ir.Slot{a.Slot})...)
		}
		g.act(rank, a, own)
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
	for _, a := range r.Do {
		if a.Op == ir.Put {
			n++
		} else {
			n += g.s.Ranks - 1
		}
	}
	return n
}

func (g *goal) act(rank int, a ir.Action, needs []string) {
	if a.Op == ir.Put {
		g.message(rank, int(a.To), a.Slot, needs)
		return
	}
	for to := range g.s.Ranks {
		if to != rank && !g.lost.Hits(rank, to, a.Slot.Index()) {
			g.message(rank, to, a.Slot, needs)
		}
	}
}

// message prints one send and its receive.
func (g *goal) message(from, to int, slot ir.Slot, needs []string) {
	c := copyOf{from, to, slot}
	n := g.copies[c]
	g.copies[c]++
	suffix := ""
	if n > 0 {
		suffix = fmt.Sprintf("_%d", n+1)
	}
	bytes, tag := g.bytes(slot), n*g.width+g.tag(slot)
	g.add(from, fmt.Sprintf("%v_to_%d%s", slot, to, suffix), fmt.Sprintf("send %db to %d tag %d", bytes, to, tag), needs)
	label := fmt.Sprintf("%v_from_%d%s", slot, from, suffix)
	g.add(to, label, fmt.Sprintf("recv %db from %d tag %d", bytes, from, tag), nil)
	if id := g.layout.Slot(to, slot); g.first[id] == "" && !(g.s.HasMessage() && to == g.s.Root && slot.Kind() == ir.KindChunk) {
		g.first[id] = label
	}
}

// bytes returns the length of the message that carries the slot. A signal and a
// barrier's chunk carry no data; both are one byte, because LogGOPSim crashes on
// messages of no bytes.
func (g *goal) bytes(slot ir.Slot) int {
	if slot.Kind() != ir.KindChunk || !g.s.HasMessage() {
		return 1
	}
	lo, hi := ir.ChunkBounds(g.size, g.s.Chunks, slot.Index())
	return max(hi-lo, 1)
}

// length returns the sum of the lengths of all chunks, as they are sent.
func (g *goal) length() int {
	sum := 0
	for k := range g.s.Chunks {
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
	switch {
	case g.s.HasMessage():
		fmt.Fprintf(w, ", root %d, %d bytes in %s, lost: %v", g.s.Root, o.Size, count(g.s.Chunks, "chunk"), o.Lost)
	case g.s.Chunks > 0:
		fmt.Fprintf(w, ", %s of no bytes, lost: %v", count(g.s.Chunks, "chunk"), o.Lost)
	}
	fmt.Fprintln(w)
	if o.Command != "" {
		fmt.Fprintf(w, "// made by: %s\n", o.Command)
	}
	if g.s.HasMessage() {
		fmt.Fprintf(w, "// message: %db\n", g.length())
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
