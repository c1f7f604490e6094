package runtime

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// proofs are the results of all proofs in this process. The process's ranks and communicators use
// the same few schedules.
var proofs = proofCache{by: make(map[uint64]*proof)}

type proofCache struct {
	mu sync.Mutex
	by map[uint64]*proof // by digest
}

// maxProofs is the greatest size of the cache. When the cache is full, it is cleared, and schedules
// that are used again are proved again.
const maxProofs = 256

// proof is the outcome for one schedule, valid after once.
type proof struct {
	once  sync.Once
	terms verify.Terms
	err   error
}

// proved returns the terms under which s folds. It returns no error if s passes all checks: it
// proves s, or relies on the generator's proof if s is generated code.
func proved(s *machine.Schedule) (verify.Terms, error) {
	none := verify.Terms{}
	if s.Source == nil {
		if s.Proved {
			return verify.Terms{RankOrder: s.RankOrder, Position: s.Position, InPlace: s.InPlace}, nil
		}
		return none, fmt.Errorf("%s: the generated code carries no proof: generate it again with schedgen emit, or call UseUnverified", s.Header.Name())
	}
	digest, err := ir.Digest(s.Source)
	if err != nil {
		return none, fmt.Errorf("%s: %w", s.Header.Name(), err)
	}
	if digest != s.Digest || !reflect.DeepEqual(s.Header, s.Source.Header) {
		return none, fmt.Errorf("%s: it was changed after machine.Of", s.Header.Name())
	}
	p := proofs.entry(digest)
	p.once.Do(func() { p.terms, p.err = verify.Prove(s.Source) })
	return p.terms, p.err
}

// ownTerms returns the terms under which a schedule of a registered algorithm folds, and its
// digest, by which ranks see that they have the same one. It proves the schedule if necessary.
// Schedules of the built-in algorithms need neither.
func ownTerms(spec *schedule.Spec) (terms verify.Terms, digest uint64, err error) {
	if !spec.Registered() {
		return terms, 0, nil
	}
	s := spec.Schedule()
	if digest, err = ir.Digest(s); err != nil {
		return terms, 0, fmt.Errorf("%s: %w", s.Name(), err)
	}
	if spec.Unverified() {
		return terms, digest, nil
	}
	p := proofs.entry(digest)
	p.once.Do(func() { p.terms, p.err = spec.Prove() })
	if p.err == nil && spec.RankOrder() && !p.terms.RankOrder {
		return terms, 0, fmt.Errorf("%s does not fold in the order of the ranks, as it was registered to", s.Name())
	}
	return p.terms, digest, p.err
}

func (c *proofCache) entry(digest uint64) *proof {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.by[digest]
	if p == nil {
		if len(c.by) >= maxProofs {
			clear(c.by)
		}
		p = new(proof)
		c.by[digest] = p
	}
	return p
}
