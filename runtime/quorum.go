package runtime

import (
	"fmt"
	"slices"
)

// Majority is a value of Config.Quorum. It wants more than half of the ranks.
func Majority(left []int, of int) bool { return 2*len(left) > of }

// electorate is the ranks that Config.Quorum counts: those of the communicator that Join, New or
// Split has made. Shrink and Dup hand it on.
type electorate struct {
	of    int   // number of ranks of that communicator
	ranks []int // numbers there of this communicator's ranks, by rank
}

// electors returns the electorate of a communicator of some ranks of c.
func (c *Comm) electors(ranks []int) electorate {
	if c.electorate.of == 0 { // c is the first
		return electorate{c.size, ranks}
	}
	e := electorate{of: c.electorate.of}
	for _, rank := range ranks {
		e.ranks = append(e.ranks, c.electorate.ranks[rank])
	}
	return e
}

// checkQuorum returns an error if Config.Quorum forbids the ranks of c to go on without those that
// have gone.
func (c *Comm) checkQuorum(gone []int) error {
	if c.cfg.Quorum == nil {
		return nil
	}
	e := c.electors(c.without(gone))
	if c.cfg.Quorum(slices.Clone(e.ranks), e.of) {
		return nil
	}
	more := ""
	if len(e.ranks) > maxNamed {
		more = " …"
	}
	return fmt.Errorf("%w: %d of %d, which were ranks %v%s at first", ErrQuorum, len(e.ranks), e.of, e.ranks[:min(len(e.ranks), maxNamed)], more)
}
