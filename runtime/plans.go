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
	key     planKey
	spec    *schedule.Spec
	name    string
	program *machine.Plan
	base    uint64 // fingerprint of all but the message's length

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
	root := spec.Program(key.root)
	made := &plan{
		key: key, spec: spec, name: h.Name(), program: program, base: baseprint(&h), multicasts: multicasts(root),
	}
	if made.multicasts {
		made.peers = askWhom(&p, key.root)
		made.acked = tracksReplies(root)
	}
	return made, nil
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
