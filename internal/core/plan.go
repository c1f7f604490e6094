package core

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/schedgen/schedgen/internal/core/lines"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
)

// Plan is a schedule as one rank runs it. Only the operations of one core use it.
type Plan struct {
	InPlace bool // results may overwrite the contributions: see openFolds
	Name    string
	Chunks  int // of a message; 0 for a barrier

	// Programs returns the program of a rank. When the core waits for long, it uses the programs to
	// find the ranks that it waits for. nil: the core does not look.
	Programs func(rank int) ir.Program

	header     ir.Header
	digest     uint64 // of a schedule that the header does not fully describe; else 0
	note       string // for a marked plan: what its operations are a part of, or what has chosen it
	program    *machine.Plan
	base       uint64              // fingerprint of everything except the message's length
	multicasts bool                // the root multicasts
	manyCast   bool                // several ranks multicast the blocks that they hold
	recovers   bool                // the schedule says how to recover lost chunks
	yields     bool                // its puts of chunks yield to the multicast
	recovery   ir.Recovery         // this rank's part in recovery
	lines      lines.Layout        // where signals and chunks lie in windows
	steps      [lines.Turns][]Step // the steps of the quick path, by turn; nil: there is none
	printed    printed
	other      *Plan // another schedule, which the root may choose instead; nil: there is none
	lost       int   // the share of losses, in parts of missedAll, above which the root does so
	places     places
	counted    bool  // blocks have lengths of their own: see counts.go
	shared     bool  // every rank knows all lengths
	answers    []int // ranks that may ask this rank for chunks of a barrier
}

// NewPlan returns the plan of a rank's program of a schedule with header h. root is the program of
// the root; if no rank multicasts, it may be empty. digest distinguishes schedules with the same
// header; it is 0 if the header describes the schedule fully.
func NewPlan(h *ir.Header, program *machine.Plan, root ir.Program, digest uint64) *Plan {
	outline := program.Outline()
	p := &Plan{
		places: placesOf(h, program),
		Name:   h.Name(), Chunks: h.Chunks, header: *h, digest: digest, program: program, base: baseprint(h) ^ digest,
		multicasts: root.Multicasts(), manyCast: manyHold(h), answers: answersOf(h, outline),
	}
	if !p.manyCast {
		p.recovers, p.yields, p.recovery = h.Recovers, root.Yields(), program.Recovery()
	}
	return p
}

// manyHold reports whether ranks other than the root hold blocks from the start.
func manyHold(h *ir.Header) bool {
	return h.Ranks > 1 && h.Held((h.Root+1)%h.Ranks).Count > 0
}

// Marked returns a plan whose operations never match operations of p. note names the larger
// operation that they belong to, or the rule that chose the plan. All ranks must give the same
// note.
func (p *Plan) Marked(note string) *Plan {
	f := fnv.New64a()
	_, _ = f.Write([]byte(note)) // a hash never fails
	q := *p
	q.base ^= f.Sum64()
	q.printed = printed{}
	if q.note = note; p.note != "" {
		q.note = p.note + "; " + note
	}
	return &q
}

// Counted returns a plan for operations whose blocks have lengths of their own. They never match
// operations of p. shared says that every rank knows all lengths. Otherwise every rank that p
// brings a block must want or hold the block. The blocks go by frames, because a frame says its
// length. A line of a window has the length that its reader expects.
func (p *Plan) Counted(shared bool) *Plan {
	q := p.Marked("counts")
	q.note, q.counted, q.shared, q.lines, q.steps, q.other = p.note, true, shared, lines.Layout{}, [lines.Turns][]Step{}, nil
	return q
}

// baseprint hashes everything that all ranks must agree on, except the message's length.
func baseprint(h *ir.Header) uint64 {
	f := fnv.New64a()
	fmt.Fprintf(f, "%s ranks=%d root=%d chunks=%d %v", h.Name(), h.Ranks, h.Root, h.Chunks, h.Params)
	return f.Sum64()
}

// Collective returns the name of the collective that p's operations carry out.
func (p *Plan) Collective() string { return p.header.Collective }

// Root returns the root of p's operations, or -1 if they have none.
func (p *Plan) Root() int {
	if !p.header.Rooted() {
		return -1
	}
	return p.header.Root
}

// Words describes an operation. n is the bytes of its blocks, or the key of their lengths.
func (p *Plan) Words(n int) string {
	switch {
	case p.counted && p.shared:
		return p.wordsOf(fmt.Sprintf(" of blocks of lengths %016x", uint64(n))) // no rank remembers the lengths
	case p.counted:
		return p.wordsOf(" of blocks of different lengths")
	case p.places.blocks == 1:
		return p.wordsOf(fmt.Sprintf(" of %d bytes", n))
	case p.places.blocks > 1:
		return p.wordsOf(fmt.Sprintf(" of blocks of %d bytes", n))
	}
	return p.wordsOf("")
}

// Describe describes an operation with the given buffers, and everything that ranks must agree on.
func (p *Plan) Describe(b *Buffers) string {
	c := b.Counts
	if c == nil || !c.Shared {
		return p.Words(b.Block)
	}
	var blocks items
	blocks.space(c.all(), c.Element)
	return p.wordsOf(" of blocks of " + lengthWords(blocks.at, max(1, c.Element)))
}

// wordsOf is Words with a given description of the lengths.
func (p *Plan) wordsOf(lengths string) string {
	var b strings.Builder
	h := &p.header
	b.WriteString(h.Collective)
	b.WriteString(lengths)
	if h.Rooted() {
		fmt.Fprintf(&b, " from root %d", h.Root)
	}
	fmt.Fprintf(&b, " by %s", h.Name())
	for _, param := range h.Params {
		fmt.Fprintf(&b, " %s=%d", param.Name, param.Value)
	}
	if h.Chunks > 0 {
		fmt.Fprintf(&b, " chunks=%d", h.Chunks)
	}
	if p.digest != 0 {
		fmt.Fprintf(&b, " (schedule %016x)", p.digest)
	}
	if p.note != "" {
		fmt.Fprintf(&b, " (%s)", p.note)
	}
	return b.String()
}

// printed caches the last fingerprint of a plan.
type printed struct {
	n     int    // 0: the cache is empty
	print uint32 // 0: none
}

// print returns the fingerprint of an operation with blocks of n bytes, without earlier operations.
// It is never 0.
func (p *Plan) print(n int) uint32 {
	if p.printed.print == 0 || p.printed.n != n {
		p.printed = printed{n, p.hash(n)}
	}
	return p.printed.print
}

func (p *Plan) hash(n int) uint32 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	h := p.base
	for _, x := range b {
		h = (h ^ uint64(x)) * 1099511628211 // FNV-1a
	}
	return uint32(h>>32) | 1
}
