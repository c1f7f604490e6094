package runtime

import (
	"fmt"
	"sync"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/ir/windows"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule"
)

// plan is a schedule compiled for one rank.
type plan struct {
	*core.Plan
	key     planKey
	relays  func() bool // whether the schedule brings ranks blocks that they neither hold nor want
	weight  int
	ordered bool   // it folds in the order of the ranks
	tree    string // the fixed tree of Reproducible, if it folds along that; "": another tree
	form    form
	forms   []*plan           // the same schedule for calls of other forms
	latency *algorithmLatency // of all plans of the algorithm; nil before the first operation that counts
}

// form is what ranks must agree on about a call that moves blocks, besides the schedule. The zero
// value stands for bytes in blocks of one length.
type form struct {
	element int    // bytes of an element; 0 means 1
	counted bool   // blocks have lengths of their own
	shared  bool   // every rank knows all lengths
	fold    string // name of the fold; "": the call does not fold
	ordered bool   // contributions must be folded in the order of the ranks
	exact   bool   // any order and any brackets give the same bits
	note    string // the call that the operation begins; "": it is the whole call
}

// bare is the form of calls that move bytes in blocks of one length.
var bare form

// local reports whether a rank knows only the lengths of the blocks that it sends and receives.
func (f *form) local() bool { return f.counted && !f.shared }

// maxForms is how many forms of one plan are kept.
const maxForms = 16

// as returns the plan for calls of form f.
func (p *plan) as(f form) *plan {
	if f == p.form {
		return p
	}
	for _, q := range p.forms {
		if q.form == f {
			return q
		}
	}
	q := *p
	q.form, q.forms = f, nil
	if f.element > 0 {
		q.Plan = q.Marked(fmt.Sprintf("elements of %d bytes", f.element))
	}
	if f.fold != "" {
		words := f.fold
		if f.ordered {
			words += ", which does not commute"
		}
		q.Plan = q.Marked(words)
	}
	if f.note != "" {
		q.Plan = q.Marked(f.note)
	}
	if f.counted {
		q.Plan = q.Counted(f.shared)
	}
	if len(p.forms) == maxForms {
		p.forms = p.forms[1:]
	}
	p.forms = append(p.forms, &q)
	return &q
}

// planKey identifies a plan.
type planKey struct {
	algorithm    Algorithm
	root, chunks int
}

// plans compiles each schedule at its first use. It keeps the most recently compiled ones, up to
// maxPlans.
type plans struct {
	rank, size int
	rules      string              // the rules in words that ranks agree on; "": the built-in rules
	reaches    func(rank int) bool // whether flags reach a rank; nil: there are no windows
	together   bool                // one flag can stand for several ranks
	opens      func(rank int)      // connects with a rank; nil: the transport needs no such call
	adaptive   bool                // the root may choose another schedule than that of a plan
	rows       []ir.Collective     // the table of collectives, by kind
	recent     []recent            // see last
	kept       map[planKey]*plan
	order      []planKey // the keys in the order in which they were compiled
	weight     int       // sum of the plans' weights

	source source
}

// last returns the place of the last operation with this kind, block length n and root, unless an
// operation with the same hash has taken it. Most operations repeat one of the last few.
func (ps *plans) last(k kind, n, root int) *recent {
	at := (uint64(n) + uint64(root)<<32) * 0x9E3779B97F4A7C15 >> (64 - recentBits)
	return &ps.recent[int(k)<<recentBits+int(at)]
}

const recentBits = 3 // 8 operations of a kind

// recent is an operation and its plan.
type recent struct {
	bytes, root int
	form        form
	plan        *plan // nil: the place is free
}

func (ps *plans) get(key planKey) (*plan, error) {
	p := ps.kept[key]
	if p == nil {
		var err error
		if p, err = ps.compile(key); err != nil {
			return nil, err
		}
		ps.keep(p)
	}
	return p, nil
}

// keep keeps p and drops the oldest plans while the sum of weights is too great.
func (ps *plans) keep(p *plan) {
	for ps.weight += p.weight; ps.weight > maxPlans && len(ps.order) > 0; ps.order = ps.order[1:] {
		ps.weight -= ps.kept[ps.order[0]].weight
		delete(ps.kept, ps.order[0])
		clear(ps.recent)
	}
	if ps.kept == nil {
		ps.kept = make(map[planKey]*plan)
	}
	ps.kept[p.key] = p
	ps.order = append(ps.order, p.key)
}

// weigh returns the size of a compiled program, in rules, actions and slots.
func weigh(p *ir.Program, chunks int) int {
	n := 1 + chunks + p.Signals
	for i := range p.Rules {
		n += 1 + len(p.Rules[i].When) + len(p.Rules[i].Do)
	}
	return n
}

func (ps *plans) compile(key planKey) (*plan, error) {
	params := key.algorithm.Params
	params.Ranks, params.Root, params.Chunks = ps.size, key.root, key.chunks
	spec, err := ps.source.spec(key.algorithm.Name, params)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	terms, digest, err := ownTerms(spec)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	h, p := spec.Header(), spec.Program(ps.rank)
	program, err := machine.Compile(&h, &p)
	if err != nil {
		return nil, err
	}
	ps.open(&p)
	var root ir.Program
	alg := spec.Algorithm()
	if alg.Multicasts() { // otherwise the root's program is not needed, and it may be long
		root = spec.Program(h.Root)
	}
	compiled := core.NewPlan(&h, program, root, digest)
	compiled.Programs = spec.Program
	if ps.rules != "" {
		compiled = compiled.Marked(ps.rules)
	}
	compiled.InPlace = alg.InPlace || terms.InPlace
	ps.stand(compiled, spec)
	if err := ps.giveOther(compiled, &alg, key); err != nil {
		return nil, err
	}
	return &plan{Plan: compiled, ordered: spec.RankOrder(), tree: spec.Tree(), key: key, relays: sync.OnceValue(spec.Relays), weight: weigh(&p, h.Chunks)}, nil
}

// giveOther gives p the schedule that the root may choose for short messages.
func (ps *plans) giveOther(p *core.Plan, alg *schedule.Algorithm, key planKey) error {
	name, lost := alg.Otherwise()
	if !ps.adaptive || name == "" || key.chunks != 1 {
		return nil
	}
	key.algorithm.Name = name
	other, err := ps.compile(key)
	if err != nil {
		return err
	}
	return p.Otherwise(other.Plan, lost)
}

// open connects this rank with the ranks that p puts to (paper 002, section 6), before an operation
// waits for the connections.
func (ps *plans) open(p *ir.Program) {
	if ps.opens == nil {
		return
	}
	for i := range p.Rules {
		for _, a := range p.Rules[i].Do {
			if a.Op == ir.Put {
				ps.opens(int(a.To))
			}
		}
	}
}

// stand puts p's signals or chunks into windows, if there are any.
func (ps *plans) stand(p *core.Plan, spec *schedule.Spec) {
	switch {
	case ps.reaches == nil:
	case p.Chunks > 0:
		p.Shelve(ps.rank, ps.reaches, spec.Program)
	default:
		if places, ok := windows.Of(ps.rank, ps.size, ps.near(spec.Program)); ok {
			p.Flags(ps.rank, ps.reaches, ps.together, &places)
		}
	}
}

// near returns the programs of the ranks that flags reach, and empty programs for the others.
func (ps *plans) near(programs func(rank int) ir.Program) func(rank int) ir.Program {
	return func(rank int) ir.Program {
		if rank != ps.rank && !ps.reaches(rank) {
			return ir.Program{Rank: rank}
		}
		return programs(rank)
	}
}
