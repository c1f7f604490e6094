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
	once sync.Once
	err  error
}

// proved returns nil if s is known to hold all checks that apply to it: it is proved here, or its
// generator has proved it.
func proved(s *machine.Schedule) error {
	if s.Source == nil {
		if s.Proved {
			return nil
		}
		return fmt.Errorf("%s: it is code of which nothing is proved: have schedgen emit generate it anew, or use UseUnverified", s.Header.Name())
	}
	digest, err := ir.Digest(s.Source)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Header.Name(), err)
	}
	if digest != s.Digest || !reflect.DeepEqual(s.Header, s.Source.Header) {
		return fmt.Errorf("%s: it was changed after machine.Of", s.Header.Name())
	}
	p := proofs.of(digest)
	p.once.Do(func() { p.err = prove(s.Source) })
	return p.err
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
func prove(s *ir.Schedule) error {
	report, err := verify.Run(s)
	if err != nil {
		return err
	}
	var failed []error
	for _, res := range report.Results {
		if res.Err != nil {
			failed = append(failed, res.Err)
		}
	}
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s does not verify: %w", s.Name(), failed[0])
	}
	return fmt.Errorf("%s does not verify: %w, and %d other checks fail", s.Name(), failed[0], len(failed)-1)
}
