package runtime

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule"
)

// plan is a schedule as one rank runs it.
type plan struct {
	*core.Plan
	key      planKey
	programs func(rank int) ir.Program // what the ranks send and wait for, for error messages
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
	return &plan{core.NewPlan(&h, program, spec.Program(h.Root), 0), key, spec.Program}, nil
}
