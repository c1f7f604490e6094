package dag

import "github.com/schedgen/schedgen/ir"

// Waits represents a graph as signals: each receive from another rank is a signal of the receiving
// rank.
type Waits struct {
	Recvs [][]int // by rank and signal: the number of the receive

	g      *Graph
	index  Index
	mates  []int
	slot   []int32   // by operation: the signal of a receive from another rank, else -1
	waited [][]int32 // by operation: the signals of its rank that are set when it ends, ascending
	size   int       // total length of the lists in waited
}

// maxWaited bounds the total length of the lists of signals that operations wait for.
const maxWaited = 1 << 25

// NewWaits returns the signals of g. x, mates and order are the results of [NewIndex], [Match] and
// [Order] for g. The error is [ErrTooLarge] if the operations wait for too many signals in all.
func NewWaits(g *Graph, x Index, mates, order []int) (*Waits, error) {
	w := &Waits{
		Recvs: make([][]int, len(g.Ranks)), g: g, index: x, mates: mates,
		slot: make([]int32, x.Len()), waited: make([][]int32, x.Len()),
	}
	for id := range w.slot {
		w.slot[id] = -1
		if ref, op := w.op(id); op.Kind == Recv && op.Peer != ref.Rank {
			w.slot[id] = int32(len(w.Recvs[ref.Rank]))
			w.Recvs[ref.Rank] = append(w.Recvs[ref.Rank], id)
		}
	}
	for _, id := range order {
		if w.size > maxWaited {
			return nil, ErrTooLarge
		}
		w.collect(id)
	}
	return w, nil
}

// collect computes waited[id]. The lists of all operations before id must be there already.
func (w *Waits) collect(id int) {
	ref, op := w.op(id)
	var all []int32
	for _, a := range op.After {
		all = w.join(all, w.waited[w.index.Of(ref.Rank, int(a))])
	}
	if op.Kind == Recv && op.Peer == ref.Rank {
		all = w.join(all, w.waited[w.mates[id]])
	}
	if s := w.slot[id]; s >= 0 {
		all = w.join(all, []int32{s})
	}
	w.waited[id] = all
}

// join returns the union of two ascending lists. If both are the same list, or one is empty, it
// returns a list as it is, without a copy.
func (w *Waits) join(a, b []int32) []int32 {
	switch {
	case len(b) == 0 || sameList(a, b):
		return a
	case len(a) == 0:
		return b
	}
	out := make([]int32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	out = append(append(out, a...), b...)
	w.size += len(out)
	return out
}

// sameList reports whether a and b are one list in memory.
func sameList(a, b []int32) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Schedule returns the graph as a schedule of signals with header h. A rank enters when it starts.
// It is done when all its receives have ended.
func (w *Waits) Schedule(h ir.Header) *ir.Schedule {
	s := &ir.Schedule{Header: h}
	for rank := range w.g.Ranks {
		p := ir.Program{Rank: rank, Signals: len(w.Recvs[rank]), Done: []ir.Slot{ir.Enter}}
		for j := range p.Signals {
			p.Done = append(p.Done, ir.Signal(j))
		}
		w.addRules(&p)
		s.Programs = append(s.Programs, p)
	}
	return s
}

// addRules adds one rule for each run of sends that wait for the same signals.
func (w *Waits) addRules(p *ir.Program) {
	var last []int32
	for i := range w.g.Ranks[p.Rank] {
		op := &w.g.Ranks[p.Rank][i]
		if op.Kind != Send || op.Peer == p.Rank {
			continue
		}
		id := w.index.Of(p.Rank, i)
		if waited := w.waited[id]; len(p.Rules) == 0 || !sameList(last, waited) {
			last = waited
			p.Rules = append(p.Rules, ir.Rule{When: slotsOf(waited)})
		}
		rule := &p.Rules[len(p.Rules)-1]
		rule.Do = append(rule.Do, ir.PutTo(ir.Signal(int(w.slot[w.mates[id]])), op.Peer))
	}
}

func slotsOf(signals []int32) []ir.Slot {
	slots := []ir.Slot{ir.Enter}
	for _, s := range signals {
		slots = append(slots, ir.Signal(int(s)))
	}
	return slots
}

// op returns the operation with number id and its place.
func (w *Waits) op(id int) (Ref, *Op) {
	ref := w.index.Ref(id)
	return ref, &w.g.Ranks[ref.Rank][ref.I]
}
