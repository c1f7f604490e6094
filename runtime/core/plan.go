package core

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
)

// Plan is a schedule as one rank runs it. The operations of one core alone use
// it.
type Plan struct {
	Name   string
	Chunks int // of a message; 0 for a barrier

	program    machine.Program
	base       uint64                     // fingerprint of all but the message's length
	multicasts bool                       // the root multicasts
	recovers   bool                       // the schedule says how to recover from losses
	yields     bool                       // its puts of chunks yield to the multicast
	recovery   ir.Recovery                // this rank's part in that
	engines    [Remembered]machine.Engine // of a program that is no machine's, one for each operation that may be remembered
}

// NewPlan returns the plan of a rank's program of a schedule with header h. root
// is what the root sends and waits for. digest tells schedules with the same
// header apart; it is 0 for those that the header says all of.
func NewPlan(h *ir.Header, program machine.Program, root ir.Program, digest uint64) *Plan {
	return &Plan{
		Name: h.Name(), Chunks: h.Chunks, program: program, base: baseprint(h) ^ digest,
		multicasts: multicasts(root), recovers: h.Recovers, yields: root.Yields(), recovery: program.Recovery(),
	}
}

// Marked returns a plan whose operations are not taken for p's: at all ranks the
// same mark is added to what they agree on.
func (p *Plan) Marked(mark uint64) *Plan {
	q := *p
	q.base ^= mark
	q.engines = [Remembered]machine.Engine{} // each is of one operation
	return &q
}

// engine returns the engine for o, with nothing set.
func (p *Plan) engine(o *op) machine.Engine {
	if interpreted, ok := p.program.(*machine.Plan); ok {
		o.own.Reset(interpreted)
		return &o.own
	}
	e := &p.engines[o.seq%Remembered]
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
func (p *Plan) print(n int) uint32 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	h := p.base
	for _, x := range b {
		h = (h ^ uint64(x)) * 1099511628211 // FNV-1a
	}
	return uint32(h>>32) | 1
}
