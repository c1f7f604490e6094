package runtime

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule"
)

// plan is a schedule as one rank runs it.
type plan struct {
	key      planKey
	name     string
	chunks   int // of a message; 0 for a barrier
	program  machine.Program
	programs func(rank int) ir.Program // what the ranks send and wait for, for error messages
	base     uint64                    // fingerprint of all but the message's length

	engines [window]machine.Engine // of a program that is no machine's, one for each place of an operation

	multicasts bool  // the root multicasts
	acked      bool  // some ranks ask for what the multicast does not bring them
	peers      []int // whom this rank asks for chunks that the multicast has not brought; nil: nobody
}

type planKey struct {
	algorithm    *Algorithm
	root, chunks int
}

// plans compiles schedules at their first use and keeps a bounded number, the
// oldest making room.
type plans struct {
	rank, size int
	kept       []*plan
	next       int
}

func (ps *plans) get(key planKey) (*plan, error) {
	for _, p := range ps.kept {
		if p.key == key {
			return p, nil
		}
	}
	p, err := ps.compile(key)
	if err != nil {
		return nil, err
	}
	if len(ps.kept) < maxPlans {
		ps.kept = append(ps.kept, p)
	} else {
		ps.kept[ps.next] = p
		ps.next = (ps.next + 1) % maxPlans
	}
	return p, nil
}

func (ps *plans) compile(key planKey) (*plan, error) {
	params := key.algorithm.Params
	params.Ranks, params.Root, params.Chunks = ps.size, key.root, key.chunks
	spec, err := schedule.New(key.algorithm.Name, params)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	h, p := spec.Header(), spec.Program(ps.rank)
	program, err := machine.Compile(&h, &p)
	if err != nil {
		return nil, err
	}
	made := newPlan(&h, program, spec.Program)
	made.key = key
	return made, nil
}

// newPlan returns the plan of a rank's program of a schedule with header h.
// programs are those of all ranks; their rules need not say what they wait for.
func newPlan(h *ir.Header, program machine.Program, programs func(rank int) ir.Program) *plan {
	p, root := program.Outline(), programs(h.Root)
	made := &plan{
		name: h.Name(), chunks: h.Chunks, program: program, programs: programs, base: baseprint(h),
		multicasts: multicasts(root),
	}
	if made.multicasts {
		made.peers = askWhom(&p, h.Root)
		made.acked = tracksReplies(root)
	}
	return made
}

// engine returns the engine for o, with nothing set.
func (p *plan) engine(o *op) machine.Engine {
	if interpreted, ok := p.program.(*machine.Plan); ok {
		o.own.Reset(interpreted)
		return &o.own
	}
	e := &p.engines[o.seq%window]
	if *e == nil {
		*e = p.program.Engine()
	} else {
		(*e).Clear()
	}
	return *e
}

func multicasts(p ir.Program) bool {
	for i := range p.Rules {
		for _, a := range p.Rules[i].Do {
			if a.Op == ir.Mcast {
				return true
			}
		}
	}
	return false
}

// baseprint hashes what all ranks must agree on before the message's length.
func baseprint(h *ir.Header) uint64 {
	f := fnv.New64a()
	fmt.Fprintf(f, "%s ranks=%d root=%d chunks=%d %v", h.Name(), h.Ranks, h.Root, h.Chunks, h.Params)
	return f.Sum64()
}

// print is the fingerprint of an operation on n bytes; it is never 0.
func (p *plan) print(n int) uint32 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	h := p.base
	for _, x := range b {
		h = (h ^ uint64(x)) * 1099511628211 // FNV-1a
	}
	return uint32(h>>32) | 1
}
