package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Limits of the parameters.
const (
	MaxRanks  = 1 << 20 // ranks of a schedule
	MaxChunks = 1 << 20 // chunks of a block; all blocks have at most ir.MaxChunks
	MaxFan    = 1 << 20 // degree, fan-in and fan-out
)

// Above smallGroup ranks (or hosts) the default degree and fan is largeFan: a
// few more steps for much less traffic (paper 003, §4.3).
const (
	smallGroup = 16
	largeFan   = 6
)

// Params are the parameters of a schedule. A field that is 0 takes its
// default; a field that an algorithm does not take must be 0.
type Params struct {
	Ranks  int // number of ranks, 1 … MaxRanks; no default
	Root   int // root, or origin of an anycast; default 0
	Chunks int // chunks of a block, and of a broadcast's message; default 1, bcast/symmetric: one a destination, bcast/scatter-allgather: one a rank, algorithms that cut a vector into pieces: one a piece, whatever the length
	Degree int // n of the n-ary barriers, 2 … MaxFan; default the group up to 16 members, else 6; k of allreduce/multiplying, default 3
	FanIn  int // fan of the gather tree of barrier/hsb and hsb-mcast, 1 … MaxFan; default the group less one up to 16 members, else 6
	FanOut int // fan of their release tree, likewise
	Hosts  int // blocks of ranks that share a host, 1 … Ranks; 0: flat
}

// ParamError says which parameter is out of its legal range.
type ParamError struct {
	Param  string // spelled as on the command line: ranks, root, fan-in, …
	Value  int
	Reason string // the legal range, or why there is none
}

func (e *ParamError) Error() string {
	return fmt.Sprintf("schedule: %s=%d: %s", e.Param, e.Value, e.Reason)
}

// bound is the legal range of one parameter; zero stands for the default and
// is legal besides.
type bound struct {
	name   string
	value  int
	lo, hi int
}

func (b bound) check() error {
	if b.value >= b.lo && b.value <= b.hi {
		return nil
	}
	return &ParamError{b.name, b.value, fmt.Sprintf("must be in %d..%d", b.lo, b.hi)}
}

// check returns a ParamError for the first parameter that a does not take or
// that is out of range.
func (p Params) check(a *Algorithm) error {
	if err := (bound{"ranks", p.Ranks, 1, MaxRanks}).check(); err != nil {
		return err
	}
	row, maxChunks := a.Row(), MaxChunks
	if a.fixed("chunks") {
		maxChunks = 1
	}
	for _, b := range []bound{
		{cmp.Or(row.RootWord(), "root"), p.Root, 0, p.Ranks - 1},
		{"chunks", p.Chunks, 1, maxChunks},
		{"degree", p.Degree, 2, MaxFan},
		{"fan-in", p.FanIn, 1, MaxFan},
		{"fan-out", p.FanOut, 1, MaxFan},
		{"hosts", p.Hosts, 1, p.Ranks},
	} {
		if b.value == 0 {
			continue
		}
		if !slices.Contains(a.Params, b.name) && !a.fixed(b.name) {
			return &ParamError{b.name, b.value, "not a parameter of " + a.Name}
		}
		if err := b.check(); err != nil {
			return err
		}
	}
	return p.checkBlocks(a)
}

// checkBlocks returns a ParamError if the chunks of all blocks are more than a schedule has.
func (p Params) checkBlocks(a *Algorithm) error {
	row := a.Row()
	if row.Blocks == nil {
		return nil
	}
	switch blocks := row.Blocks(p.Ranks); {
	case blocks > ir.MaxChunks:
		return &ParamError{"ranks", p.Ranks, fmt.Sprintf("%s then has %d blocks, more than %d",
			a.Collective, blocks, ir.MaxChunks)}
	case p.Chunks > ir.MaxChunks/blocks:
		return &ParamError{"chunks", p.Chunks, fmt.Sprintf("%s among %d ranks has %d blocks, of at most %d chunks together",
			a.Collective, p.Ranks, blocks, ir.MaxChunks)}
	}
	return nil
}

// withDefaults fills what is zero; p has been checked.
func (p Params) withDefaults(a *Algorithm) Params {
	group := p.Ranks
	if p.Hosts > 0 {
		group = p.Hosts
	}
	fill := func(name string, field *int, value int) {
		if *field == 0 && (slices.Contains(a.Params, name) || a.fixed(name)) {
			*field = value
		}
	}
	chunks := 1
	if a.chunks != nil {
		chunks = a.chunks(group)
	}
	fill("chunks", &p.Chunks, chunks)
	fill("degree", &p.Degree, cmp.Or(a.degree, max(2, smallOr(group, group))))
	fill("fan-in", &p.FanIn, max(1, smallOr(group, group-1)))
	fill("fan-out", &p.FanOut, max(1, smallOr(group, group-1)))
	return p
}

// smallOr returns small for a group that is small and largeFan for others.
func smallOr(group, small int) int {
	if group <= smallGroup {
		return small
	}
	return largeFan
}
