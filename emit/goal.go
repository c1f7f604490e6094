package emit

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/fixpoint"
)

// writeGOAL prints what happens under the losses of o as GOAL text, the input of the simulator
// LogGOPSim (grammar: package ir/goal).
func writeGOAL(w io.Writer, s *ir.Schedule, o Options) error {
	if o.Size < 0 {
		return fmt.Errorf("a message of %d bytes: must not be negative", o.Size)
	}
	if o.Fold < 0 {
		return fmt.Errorf("folds of %d ps a byte: must not be negative", o.Fold)
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

// goal holds the lines of all ranks. They are found by visiting the rules in the order in which
// they fire, so everything that an operation requires is above it.
type goal struct {
	s       *ir.Schedule
	size    int
	fold    int // picoseconds a byte
	lost    Loss
	layout  *fixpoint.Layout
	lines   [][]string
	first   []string       // by slot number: the label of the receive or the fold that sets it
	part    []int32        // by slot number of a partial result: the chunk of a block to which it belongs
	copies  map[copyOf]int // number of messages so far with this first slot from one rank to another
	joins   []int          // by rank: calcs so far
	folds   []int          // by rank: folds so far
	width   int            // number of tags of one copy
	signals int            // the largest number of signals of a rank
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
		s: s, size: o.Size, fold: o.Fold, lost: o.Lost, layout: fix.Layout(), part: make([]int32, fix.Layout().Slots()),
		lines: make([][]string, s.Ranks), first: make([]string, fix.Layout().Slots()),
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
	for rank := range g.lines {
		if len(g.lines[rank]) == 0 {
			g.addLine(rank, "idle", "calc 0", nil) // the simulator crashes on a rank without operations
		}
	}
	return g, nil
}

// fire prints the sends of a rule and their receives.
func (g *goal) fire(rank int, r *ir.Rule) {
	needs := g.labels(rank, r.When)
	if len(needs) > 1 && g.sends(rank, r) > 1 {
		join := fmt.Sprintf("j%d", g.joins[rank])
		g.joins[rank]++
		g.addLine(rank, join, "calc 0", needs)
		needs = []string{join}
	}
	for message := range messages(r.Do) {
		if message[0].Op == ir.Fold {
			g.foldOf(rank, message, needs)
			continue
		}
		own := needs
		for _, a := range message {
			if a.Slot.Kind() == ir.KindChunk && !slices.Contains(r.When, a.Slot) {
				own = append(own[:len(own):len(own)], g.labels(rank, []ir.Slot{a.Slot})...)
			}
		}
		g.act(rank, message, own)
	}
}

// labels returns the labels of the receives and folds that set the slots. Slots that a rank has
// from the beginning have no label.
func (g *goal) labels(rank int, slots []ir.Slot) []string {
	var out []string
	for _, s := range slots {
		if label := g.first[g.layout.Slot(rank, s)]; label != "" {
			out = append(out, label)
		}
	}
	return out
}

// sends returns the number of messages and folds of the rule. A multicast counts once for each
// other rank.
func (g *goal) sends(rank int, r *ir.Rule) int {
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

// foldOf prints a fold as the time that it takes.
func (g *goal) foldOf(rank int, do []ir.Action, needs []string) {
	label := fmt.Sprintf("fold%d_%v", g.folds[rank], do[0].As)
	g.folds[rank]++
	part := g.partOf(rank, do[0].Slot)
	bytes := g.chunkBytes(part) * max(len(do)-1, 1)
	g.addLine(rank, label, fmt.Sprintf("calc %d", (int64(bytes)*int64(g.fold)+999)/1000), needs)
	g.sets(rank, do[0].As, label, part)
}

// partOf returns the chunk of a block to which the contents of a slot belong.
func (g *goal) partOf(rank int, s ir.Slot) int {
	switch s.Kind() {
	case ir.KindChunk, ir.KindInput:
		return s.Index() % max(g.s.BlockChunks(), 1)
	case ir.KindValue:
		return int(g.part[g.layout.Slot(rank, s)])
	}
	return 0
}

// sets records the operation that brings a slot to a rank, if no earlier one has brought it.
func (g *goal) sets(rank int, s ir.Slot, label string, part int) {
	held := s.Kind() == ir.KindChunk && g.s.Holds(rank, s.Index())
	if id := g.layout.Slot(rank, s); id >= 0 && g.first[id] == "" && !held {
		g.first[id], g.part[id] = label, int32(part)
	}
}

// chunkBytes returns the length of a chunk of a block, at least 1: LogGOPSim crashes on messages
// without bytes.
func (g *goal) chunkBytes(part int) int {
	lo, hi := ir.ChunkBounds(g.size, max(g.s.BlockChunks(), 1), part)
	return max(hi-lo, 1)
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

// message prints one send and its receive. Its tag and its name come from its first slot at the
// destination.
func (g *goal) message(from, to int, message []ir.Action, needs []string) {
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
	label := fmt.Sprintf("%s_from_%d%s", name, from, suffix)
	for _, a := range message {
		bytes += g.bytes(from, a.Slot)
		g.sets(to, a.Sets(), label, g.partOf(from, a.Slot))
	}
	g.addLine(from, fmt.Sprintf("%s_to_%d%s", name, to, suffix), fmt.Sprintf("send %db to %d tag %d", bytes, to, tag), needs)
	g.addLine(to, label, fmt.Sprintf("recv %db from %d tag %d", bytes, from, tag), nil)
}

// bytes returns the number of bytes that a slot of a rank adds to its message. A signal or a
// barrier's chunk has no data but counts as one byte, because LogGOPSim crashes on messages without
// bytes.
func (g *goal) bytes(rank int, slot ir.Slot) int {
	if slot.Kind() == ir.KindSignal || !g.s.HasMessage() {
		return 1
	}
	return g.chunkBytes(g.partOf(rank, slot))
}

// length returns the sum of the lengths of a block's chunks, as they are sent.
func (g *goal) length() int {
	sum := 0
	for k := range g.s.BlockChunks() {
		sum += g.bytes(0, ir.Chunk(k))
	}
	return sum
}

func (g *goal) tag(slot ir.Slot) int {
	switch slot.Kind() {
	case ir.KindChunk:
		return slot.Index()
	case ir.KindValue:
		return g.s.Chunks + g.signals + slot.Index()
	}
	return g.s.Chunks + slot.Index()
}

// addLine adds an operation and its requirements.
func (g *goal) addLine(rank int, label, op string, needs []string) {
	g.lines[rank] = append(g.lines[rank], label+": "+op)
	for i, n := range needs {
		if !slices.Contains(needs[:i], n) {
			g.lines[rank] = append(g.lines[rank], label+" requires "+n)
		}
	}
}

// header writes what the file is.
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
	notes := []string{"A signal, like a chunk of no bytes, is one byte."}
	if castsOrRepairs(g.s) {
		notes = slices.Concat(goalLossNotes, notes)
	}
	if g.s.Folds() {
		notes = slices.Concat(notes, goalFoldNotes)
	}
	for _, line := range notes {
		fmt.Fprintln(w, "// "+line)
	}
	if g.s.Folds() {
		fmt.Fprintf(w, "// Folds take %v ns a byte.\n", float64(g.fold)/1000)
	}
	fmt.Fprintf(w, "num_ranks %d\n", g.s.Ranks)
}

// castsOrRepairs reports whether a rule multicasts or is a repair.
func castsOrRepairs(s *ir.Schedule) bool {
	for i := range s.Programs {
		for j := range s.Programs[i].Rules {
			r := &s.Programs[i].Rules[j]
			if r.IsRepair() || slices.ContainsFunc(r.Do, func(a ir.Action) bool { return a.Op == ir.Mcast }) {
				return true
			}
		}
	}
	return false
}

var goalLossNotes = []string{
	"GOAL has no multicast, so a multicast is one send to each rank that gets it.",
	"Repairs that these losses make necessary are sends like others; the time until",
	"a rank asks for one is not modelled.",
}

var goalFoldNotes = []string{
	"A fold is a calc: GOAL says how long it takes, and not of what it is made. So this",
	"file shows when data comes where, and neither that every contribution is in a",
	"result once nor in which order: schedgen verify proves that of the schedule itself.",
}
