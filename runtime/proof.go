package runtime

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/verify"
)

// proofs are what this process has found out about schedules. The ranks of a process, and its
// communicators, use the same few.
var proofs = proofCache{by: make(map[uint64]*proof)}

type proofCache struct {
	mu sync.Mutex
	by map[uint64]*proof // by digest
}

// maxProofs bounds the cache. A program that has had more schedules proved has those proved
// again that it uses again.
const maxProofs = 256

// proof is the outcome for one schedule, once it is done.
type proof struct {
	once  sync.Once
	terms verify.Terms
	err   error
}

// proved returns what is known of what s folds, and no error if s is known to hold all checks that apply to it: it is proved here, or its
// generator has proved it.
func proved(s *machine.Schedule) (verify.Terms, error) {
	none := verify.Terms{}
	if s.Source == nil {
		if s.Proved {
			return verify.Terms{RankOrder: s.RankOrder, Position: s.Position, InPlace: s.InPlace}, nil
		}
		return none, fmt.Errorf("%s: it is code of which nothing is proved: have schedgen emit generate it anew, or use UseUnverified", s.Header.Name())
	}
	digest, err := ir.Digest(s.Source)
	if err != nil {
		return none, fmt.Errorf("%s: %w", s.Header.Name(), err)
	}
	if digest != s.Digest || !reflect.DeepEqual(s.Header, s.Source.Header) {
		return none, fmt.Errorf("%s: it was changed after machine.Of", s.Header.Name())
	}
	p := proofs.of(digest)
	p.once.Do(func() { p.terms, p.err = prove(s.Source) })
	return p.terms, p.err
}

func (c *proofCache) of(digest uint64) *proof {
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

// prove runs all checks.
func prove(s *ir.Schedule) (verify.Terms, error) {
	report, err := verify.Run(s)
	if err != nil {
		return verify.Terms{}, err
	}
	var failed []error
	for _, res := range report.Results {
		if res.Err != nil {
			failed = append(failed, res.Err)
		}
	}
	switch len(failed) {
	case 0:
		return report.Terms, nil
	case 1:
		return verify.Terms{}, fmt.Errorf("%s does not verify: %w", s.Name(), failed[0])
	}
	return verify.Terms{}, fmt.Errorf("%s does not verify: %w, and %d other checks fail", s.Name(), failed[0], len(failed)-1)
}
