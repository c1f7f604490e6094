package runtime

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/core"
)

// Fold folds the contributions of ranks, in a collective that folds. Its Kernel computes dst[i]
// from a[i] and b[i], in this order; dst may be a or b, or share no memory with either. If the
// kernel is not associative, results depend on the algorithm; all ranks get the same bits in any
// case.
type Fold = core.Fold

// Kernel is the function of a [Fold].
type Kernel = core.Kernel

// foldAtOnce is the greatest length in bytes of a fold that runs in one piece. A longer fold lets
// frames arrive every 10 µs or so.
const foldAtOnce = 128 << 10

func (c *Comm) folds(collective string) bool {
	row := c.plans.row(c.plans.kindOf(collective))
	return row.Inputs != nil
}

// servesFold returns an error if p does not fold as a call, or Config, demands.
func (c *Comm) servesFold(k kind, p *plan, f form) error {
	name := c.plans.row(k).Name
	if f.ordered && !p.ordered {
		return fmt.Errorf("%w: %s: %s does not commute, and %s does not fold in the order of the ranks", ErrInput, name, f.fold, p.Name)
	}
	if want := c.cfg.source.tree(name); c.cfg.Reproducible && p.tree != want {
		return fmt.Errorf("%w: %s: Config.Reproducible demands the tree %q, and %s folds by another one", ErrInput, name, want, p.Name)
	}
	return nil
}
