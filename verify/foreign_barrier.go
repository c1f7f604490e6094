package verify

import (
	"errors"
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/dag"
)

// foreignBarrier are the checks of the schedule that a graph is turned into.
var foreignBarrier = []string{barrier.Name, reuse.Name}

// runBarrier turns the graph into a schedule of signals, one for each receive,
// and adds what is found out about that. Not after a check that has failed.
func (f *foreign) runBarrier(report *Report, failed string) {
	if failed != "" {
		for _, name := range foreignBarrier {
			report.Results = append(report.Results, notRun(name, failed))
		}
		return
	}
	sig, err := f.signals()
	if err == nil {
		var sub *Report
		if sub, err = Run(sig.schedule(report.Header), foreignBarrier...); err == nil {
			for _, res := range sub.Results {
				res.Err = sig.named(res.Err)
				if res.Check == barrier.Name && res.Err == nil {
					res.Note = "assumed: a rank enters before its first operation and leaves after its last"
				}
				report.Results = append(report.Results, res)
			}
			return
		}
	}
	report.Results = append(report.Results, Result{Check: barrier.Name, Applies: true, Err: named(barrier.Name, err)})
}

// signals is the graph seen as signals: each receive from another rank is a
// slot of its rank.
type signals struct {
	*foreign
	slot   []int32   // by operation: of a receive from another rank its signal, else -1
	recvs  [][]int   // by rank and signal: the operation
	waited [][]int32 // by operation: the signals of its rank that are set when it ends, ascending
	size   int       // of waited
}

// maxWaited bounds the lists of signals that operations wait for.
const maxWaited = 1 << 25

func (f *foreign) signals() (*signals, error) {
	sig := &signals{foreign: f, slot: make([]int32, f.index.Len()), recvs: make([][]int, len(f.Ranks)), waited: make([][]int32, f.index.Len())}
	for id := range sig.slot {
		sig.slot[id] = -1
		if ref, op := f.op(id); op.Kind == dag.Recv && op.Peer != ref.Rank {
			sig.slot[id] = int32(len(sig.recvs[ref.Rank]))
			sig.recvs[ref.Rank] = append(sig.recvs[ref.Rank], id)
		}
	}
	for _, id := range f.order {
		if sig.size > maxWaited {
			return nil, dag.ErrTooLarge
		}
		sig.collect(id)
	}
	return sig, nil
}

// collect finds what the operation waits for, given that of all before it.
func (sig *signals) collect(id int) {
	ref, op := sig.op(id)
	var all []int32
	for _, a := range op.After {
		all = sig.join(all, sig.waited[sig.index.Of(ref.Rank, int(a))])
	}
	if op.Kind == dag.Recv && op.Peer == ref.Rank {
		all = sig.join(all, sig.waited[sig.mates[id]])
	}
	if s := sig.slot[id]; s >= 0 {
		all = sig.join(all, []int32{s})
	}
	sig.waited[id] = all
}

// join returns the union of two ascending lists, one of them itself if it holds
// the other.
func (sig *signals) join(a, b []int32) []int32 {
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
	sig.size += len(out)
	return out
}

// sameList reports whether both are the very same list.
func sameList(a, b []int32) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// schedule returns the schedule of signals: a rank enters when it starts and is
// done when all its receives are.
func (sig *signals) schedule(h ir.Header) *ir.Schedule {
	s := &ir.Schedule{Header: h}
	for rank := range sig.Ranks {
		p := ir.Program{Rank: rank, Signals: len(sig.recvs[rank]), Done: []ir.Slot{ir.Enter}}
		for j := range p.Signals {
			p.Done = append(p.Done, ir.Signal(j))
		}
		sig.addRules(&p)
		s.Programs = append(s.Programs, p)
	}
	return s
}

// addRules adds a rule for each send, or run of sends that wait for the same.
func (sig *signals) addRules(p *ir.Program) {
	var last []int32
	for i := range sig.Ranks[p.Rank] {
		op := &sig.Ranks[p.Rank][i]
		if op.Kind != dag.Send || op.Peer == p.Rank {
			continue
		}
		id := sig.index.Of(p.Rank, i)
		if waited := sig.waited[id]; len(p.Rules) == 0 || !sameList(last, waited) {
			last = waited
			p.Rules = append(p.Rules, ir.Rule{When: slotsOf(waited)})
		}
		rule := &p.Rules[len(p.Rules)-1]
		rule.Do = append(rule.Do, ir.PutTo(ir.Signal(int(sig.slot[sig.mates[id]])), op.Peer))
	}
}

func slotsOf(signals []int32) []ir.Slot {
	slots := []ir.Slot{ir.Enter}
	for _, s := range signals {
		slots = append(slots, ir.Signal(int(s)))
	}
	return slots
}

// named adds to a failure which operations of the file its signals are.
func (sig *signals) named(err error) error {
	var f *Failure
	if !errors.As(err, &f) {
		return err
	}
	var names []string
	seen := make(map[Place]bool)
	name := func(p Place) {
		if p.Slot.Kind() == ir.KindSignal && !seen[p] && len(names) < maxNamed {
			ref, _ := sig.op(sig.recvs[p.Rank][p.Slot.Index()])
			names = append(names, fmt.Sprintf("%v is %s", p.Slot, sig.Tell(ref)))
			seen[p] = true
		}
	}
	for _, p := range f.Places {
		name(p)
	}
	for _, st := range f.Path {
		name(st.Place)
	}
	if len(names) > 0 {
		f.Text += "; " + strings.Join(names, ", ")
	}
	return err
}
