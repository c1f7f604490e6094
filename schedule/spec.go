package schedule

import (
	"math"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// Spec is an algorithm whose parameters are checked and complete. It is immutable and safe for
// concurrent use.
type Spec struct {
	alg    Algorithm
	params Params
	layout layout
	vector int          // chunks of each rank's contribution, 0 if nothing is folded
	built  *ir.Schedule // of an algorithm of Register
}

// Check reports whether New knows the algorithm and it takes the parameters. It makes no programs.
// The error is a *NameError or a *ParamError.
func Check(name string, p Params) error {
	alg, err := find(name)
	if err != nil {
		return err
	}
	return p.check(&alg)
}

// New returns the algorithm called name, such as "bcast/chain", with parameters p. The error is a
// *NameError, a *ParamError or, for an algorithm of [Register], a *BuildError.
func New(name string, p Params) (*Spec, error) {
	alg, err := find(name)
	if err != nil {
		return nil, err
	}
	return newSpec(alg, p)
}

// Of returns algorithm a with parameters p, as New does for the algorithm's name. A program that calls
// Of and not New carries only the algorithms that it names.
func Of(a Algorithm, p Params) (*Spec, error) { return newSpec(a, p) }

// newSpec returns an algorithm, which need not be in the registry, with parameters p.
func newSpec(alg Algorithm, p Params) (*Spec, error) {
	if err := p.check(&alg); err != nil {
		return nil, err
	}
	p = p.withDefaults(&alg)
	s := &Spec{alg: alg, params: p, layout: newLayout(p)}
	if row := alg.Row(); row.Inputs != nil {
		s.vector = row.Inputs(p.Ranks) * p.Chunks
		if !row.Origin {
			s.layout = newFoldingLayout(p)
		}
	}
	if alg.build != nil {
		var err error
		if s.built, err = alg.makes(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Registered reports whether the algorithm is one of [Register].
func (s *Spec) Registered() bool { return s.built != nil }

// Unverified reports whether communicators may use the schedule without a proof: tests have proved
// the built-in algorithms, and a Definition may say so.
func (s *Spec) Unverified() bool { return s.alg.prove == nil }

// Prove returns the terms under which the schedule folds, or why it is wrong. Unverified must not
// hold.
func (s *Spec) Prove() (verify.Terms, error) { return s.alg.prove(s.Schedule()) }

// Algorithm returns the algorithm's description.
func (s *Spec) Algorithm() Algorithm { return s.alg }

// Params returns the parameters with the defaults filled in.
func (s *Spec) Params() Params { return s.params }

// Header returns the header of the schedule. Its Params are the parameters that change the
// algorithm: degree, or fan-in and fan-out, and hosts unless Params.Hosts is 0.
func (s *Spec) Header() ir.Header {
	h := ir.Header{
		Collective: s.alg.Collective,
		Algorithm:  short(s.alg.Name),
		Ranks:      s.params.Ranks,
		Root:       s.params.Root,
		Chunks:     s.params.Chunks,
		Recovers:   s.alg.recovers,
	}
	if h.HasMessage() {
		h.Chunks *= h.Blocks()
	}
	for _, p := range []ir.Param{
		{Name: "degree", Value: s.params.Degree},
		{Name: "fan-in", Value: s.params.FanIn},
		{Name: "fan-out", Value: s.params.FanOut},
		{Name: "hosts", Value: s.params.Hosts},
	} {
		if p.Value != 0 {
			h.Params = append(h.Params, p)
		}
	}
	return h
}

// Program returns the program of rank, which is in 0 … Ranks-1. For other ranks it returns an empty
// program. It makes at most three allocations, and a fourth if the program's recovery names ranks.
// It takes time and memory in proportion to the program. The programs of an algorithm of [Register]
// were made by New, and callers must not change them.
func (s *Spec) Program(rank int) ir.Program { return s.programIn(&memory{}, rank) }

// Maker returns a function that returns the same programs as Program but overwrites the memory of
// its previous result, which is then no longer valid. It makes no allocation once it has made a
// program as large. Callers must not change the programs, because two programs may share parts.
// Only one goroutine at a time may call the function.
func (s *Spec) Maker() func(rank int) ir.Program {
	m := &memory{}
	if s.alg.write == nil || s.built != nil {
		return func(rank int) ir.Program { return s.programIn(m, rank) }
	}
	return func(rank int) ir.Program {
		if rank < 0 || rank >= s.params.Ranks {
			return ir.Program{Rank: rank}
		}
		if m.acts == nil {
			m.arena(s.sizeOf(s.node(rank))) // the first program may be the largest
		}
		return writeIn(m, s.node(rank), s.alg.write)
	}
}

func (s *Spec) programIn(m *memory, rank int) ir.Program {
	if rank < 0 || rank >= s.params.Ranks {
		return ir.Program{Rank: rank}
	}
	if s.built != nil {
		return s.built.Programs[rank]
	}
	n := s.node(rank)
	a := m.arena(s.sizeOf(n))
	if s.alg.write != nil {
		return write(n, a, s.alg.write)
	}
	if n.isMaster() {
		return s.alg.fill(n, a)
	}
	return s.alg.slaves.fill(n, a)
}

// Schedule returns the programs of all ranks. Callers with untrusted parameters should check Size
// first.
func (s *Spec) Schedule() *ir.Schedule {
	all := &ir.Schedule{Header: s.Header(), Programs: make([]ir.Program, s.params.Ranks)}
	for rank := range all.Programs {
		all.Programs[rank] = s.Program(rank)
	}
	return all
}

// Size returns the numbers of rules and actions of the schedule over all ranks. It does not build
// the schedule, and takes time in proportion to the number of ranks.
func (s *Spec) Size() (rules, actions int64) { return s.SizeUpTo(math.MaxInt64) }

// SizeUpTo is like Size, but stops counting at the first rule or rank with which one of the numbers
// exceeds most. So it takes little time also where a schedule is far too large. It counts rank 0 last,
// whose program is the largest of some algorithms, and costs most.
func (s *Spec) SizeUpTo(most int64) (rules, actions int64) {
	for rank := s.params.Ranks - 1; rank >= 0 && max(rules, actions) <= most; rank-- {
		z := s.sizeUpTo(s.node(rank), most)
		rules += int64(z.rules)
		actions += int64(z.acts)
	}
	return rules, actions
}

// SizeOf returns the numbers of rules and actions of rank's program, 0 ≤ rank < Ranks. If one exceeds
// most, it may return those of a part of the program with which one does.
func (s *Spec) SizeOf(rank int, most int64) (rules, actions int64) {
	z := s.sizeUpTo(s.node(rank), most)
	return int64(z.rules), int64(z.acts)
}

// SizeAbout is like SizeUpTo, but looks at a few ranks only and takes all to have as many rules and
// actions as the shortest of their programs.
func (s *Spec) SizeAbout(most int64) (rules, actions int64) {
	ranks := int64(s.params.Ranks)
	rules, actions = math.MaxInt64, math.MaxInt64
	for _, rank := range []int{0, 1, s.params.Ranks / 3, s.params.Ranks / 2, s.params.Ranks - 1} {
		if rank < s.params.Ranks {
			r, a := s.SizeOf(rank, most/ranks)
			rules, actions = min(rules, r*ranks), min(actions, a*ranks)
		}
	}
	return rules, actions
}

func (s *Spec) sizeOf(n node) size { return s.sizeUpTo(n, math.MaxInt64) }

// sizeUpTo returns the size of a program, or of a part of it that has more rules or actions than
// most.
func (s *Spec) sizeUpTo(n node, most int64) size {
	if s.built != nil {
		return sizeOfProgram(&s.built.Programs[n.rank])
	}
	if s.alg.write != nil {
		return written(n, s.alg.write, most)
	}
	if n.isMaster() {
		return s.alg.size(n)
	}
	return s.alg.slaves.size(n)
}

// Relays reports whether a rank gets a block that it neither holds nor wants, to pass it on, as
// masters of hosts do. It makes programs only if the algorithm or the hosts leave that open, and
// stops at the first such block.
func (s *Spec) Relays() bool {
	if !s.alg.relays && s.layout.flat() {
		return false
	}
	h := s.Header()
	return h.Relays(s.Maker())
}

// RankOrder reports whether contributions are folded in the order of the ranks, so that the
// schedule serves operations that do not commute.
func (s *Spec) RankOrder() bool {
	switch {
	case s.built == nil && s.vector > 0 && s.layout.hosts == 1: // the host's master folds all
		return true
	case s.layout.hosts == 1 || s.alg.ordered == nil:
		return s.alg.RankOrder
	}
	return s.alg.ordered(s.layout.hosts, s.params.Degree)
}

// Tree returns the name of the tree by which every part of a vector is folded, such as
// [TreeOfDoubling], if it is the tree that the algorithm has without hosts. Schedules with the same
// number of ranks and the same tree give the same bits. Tree returns "" if no other algorithm folds
// the tree, or if the hosts do not fit it. The tree of doubling fits one host, and hosts that all
// have the same power of two of ranks. The trees of scans fit only if no ranks share a host.
func (s *Spec) Tree() string {
	each, rest := s.params.Ranks/s.layout.hosts, s.params.Ranks%s.layout.hosts
	fits := s.layout.flat()
	if s.alg.Tree == TreeOfDoubling {
		fits = s.layout.hosts == 1 || rest == 0 && each&(each-1) == 0
	}
	if !fits {
		return ""
	}
	return s.alg.Tree
}

// Overlay returns the channels and the forwarding rule of a rootless algorithm, or nil for other
// algorithms.
func (s *Spec) Overlay() Overlay {
	if s.alg.overlay == nil {
		return nil
	}
	return s.alg.overlay(s.params.Ranks)
}

func (s *Spec) node(rank int) node {
	return node{
		layout: s.layout,
		rank:   rank,
		v:      s.layout.virtual(rank),
		chunks: s.params.Chunks,
		degree: s.params.Degree,
		fanIn:  s.params.FanIn,
		fanOut: s.params.FanOut,
		dest:   s.params.Root,
		vector: s.vector,
	}
}
