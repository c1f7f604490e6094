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
	MaxChunks = 1 << 20 // chunks of a block; all blocks together have at most ir.MaxChunks
	MaxFan    = 1 << 20 // degree, fan-in and fan-out
)

// Above smallGroup ranks (or hosts) the default degree and fan is largeFan, which takes a few more
// steps and much less traffic (paper 003, §4.3).
const (
	smallGroup = 16
	largeFan   = 6
)

// Params are the parameters of a schedule. A field that is 0 has its default. A field that the
// algorithm does not take must be 0.
type Params struct {
	Ranks int // number of ranks, 1 … MaxRanks; no default
	Root  int // the root, or the origin of a rootless operation; default 0
	// Chunks is the number of chunks of each block, such as the message of a broadcast. The default
	// is 1, with these exceptions: one chunk a destination in bcast/symmetric, one a rank in
	// bcast/scatter-allgather, and one a piece in algorithms that cut a vector into pieces. The
	// default does not depend on the length.
	Chunks int
	// Degree is n of the n-ary barriers, 2 … MaxFan. The default is the size of the group up to 16
	// members, and 6 above. In allreduce/multiplying it is k, with default 3.
	Degree int
	// FanIn is the fan of the gather tree of barrier/hsb and barrier/hsb-mcast, 1 … MaxFan. The
	// default is the size of the group less one up to 16 members, and 6 above.
	FanIn  int
	FanOut int // fan of the release tree of these; range and default as FanIn
	Hosts  int // blocks of ranks that share a host, 1 … Ranks; 0: flat
}

// ParamError says which parameter is out of its legal range.
type ParamError struct {
	Param  string // spelled as on the command line: ranks, root, fan-in …
	Value  int    // the value that was given
	Reason string // the legal range, or why there is none
}

// Error states the parameter, its value and the legal range in one line.
func (e *ParamError) Error() string {
	return fmt.Sprintf("schedule: %s=%d: %s", e.Param, e.Value, e.Reason)
}

// bound is the legal range of one parameter. Zero is always legal and means the default.
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

// check returns a ParamError for the first parameter that a does not take or that is out of range.
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

// checkBlocks returns a ParamError if all blocks together have more chunks than a schedule can
// have.
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

// withDefaults fills in the fields that are zero. p has been checked.
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

// smallOr returns small for a small group and largeFan for others.
func smallOr(group, small int) int {
	if group <= smallGroup {
		return small
	}
	return largeFan
}
