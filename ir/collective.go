package ir

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// Collective is a row of the table of collectives. It says how many blocks an operation moves,
// which blocks a rank holds at enter, and which blocks a rank wants at the end. All other code,
// from the readers of files to the runtime, asks the row and never compares names.
//
// If a block has F chunks, block b consists of the chunks b·F … b·F+F-1 (see [Header.BlockChunks]).
// A chunk names one value of the whole operation: it has the same bytes at every rank.
type Collective struct {
	Name   string // the part before the slash in the name of an algorithm, such as "bcast"
	Rooted bool   // Header.Root has a meaning: it is the root or the origin of a message
	Origin bool   // users call Header.Root the origin, not the root

	// Blocks returns the number of blocks among the given number of ranks. It is nil for a
	// collective that moves no bytes. The chunks of such a collective only tell something, and no
	// rank holds them at enter.
	Blocks func(ranks int) int

	// Held returns the blocks that rank holds at enter.
	Held func(ranks, root, rank int) Blocks

	// Wanted returns the blocks that rank has at the end. They may include blocks that it holds.
	Wanted func(ranks, root, rank int) Blocks

	// Inputs returns how many blocks each rank contributes. It is nil for a collective that folds
	// nothing. Block b of the operation is folded from block b mod Inputs of every contribution. In
	// a scan, for example, each rank contributes one block, and all blocks are folded from these.
	Inputs func(ranks int) int

	// Folded returns the number of ranks whose contributions are folded into a block. These are the
	// ranks 0 … Folded-1, each once. Folded is nil if Inputs is nil.
	Folded func(ranks, block int) int

	// Question is the number of blocks that ask the ranks for their contributions: the blocks 0 …
	// Question-1. A rank contributes its answer, so it has no contribution before it has all of
	// these blocks. Question is 0 if ranks contribute what they have at enter.
	Question int

	// Rotated returns the block that a block becomes when every rank r becomes rank r+by, modulo
	// ranks. If rank r holds or wants the old block, rank r+by holds or wants the new one. by is in
	// 0 … ranks-1. Rotated is nil if there is no such block, because the root differs from other
	// ranks or because there are no blocks.
	Rotated func(ranks, by, block int) int

	// Alike says that all ranks contribute to every block, and want all of it. Pieces of a block
	// may then move with the ranks: see [Header.Rotation].
	Alike bool

	// Synchronizes says that no rank leaves before all ranks have entered.
	Synchronizes bool

	// Published says that the root sends whenever it likes. The other ranks take each operation as
	// a message: they make no call of their own for it and need not know the root in advance. So
	// the ranks agree on one algorithm beforehand, for messages of all lengths.
	Published bool

	// Caller names the collective whose calls run a program's own schedule of this collective. It
	// is "" if the collective has calls of its own. Ranks that take a published message make no
	// call, so its schedules run as broadcasts from the origin.
	Caller string
}

// CalledBy returns the name of the collective whose calls run a schedule of c: Caller, or Name if
// Caller is "".
func (c *Collective) CalledBy() string { return cmp.Or(c.Caller, c.Name) }

// RootWord returns the users' word for the root: "root", "origin", or "" if c has no root.
func (c *Collective) RootWord() string {
	switch {
	case !c.Rooted:
		return ""
	case c.Origin:
		return "origin"
	}
	return "root"
}

// Broadcasts reports whether an operation only brings the root's one block to all ranks.
func (c *Collective) Broadcasts() bool {
	if !c.Rooted || c.Blocks(2) != 1 || c.Inputs != nil {
		return false
	}
	root, other := c.Held(2, 0, 0), c.Held(2, 0, 1)
	return root.Count == 1 && other.Count == 0 && c.Wanted(2, 0, 0).Count == 1 && c.Wanted(2, 0, 1).Count == 1
}

// TakesCounts reports whether the blocks may have lengths of their own, as in MPI's v-forms. The
// collective then has several blocks, and if it folds, each rank contributes to several.
func (c *Collective) TakesCounts() bool {
	if c.Inputs != nil {
		return c.Inputs(2) > 1
	}
	return c.Blocks != nil && c.Blocks(2) > 1
}

// Blocks are the Count blocks First, First+Step, First+2·Step …. The zero value is empty.
type Blocks struct {
	First int // number of the first block
	Step  int // distance between two blocks
	Count int // number of blocks
}

// At returns the i-th of the blocks, 0 ≤ i < Count.
func (b Blocks) At(i int) int { return b.First + i*b.Step }

// Index returns the position of block in b, or -1 if b does not contain it.
func (b Blocks) Index(block int) int {
	i := block - b.First
	if b.Count == 0 || i < 0 {
		return -1
	}
	if b.Step != 1 { // avoids the division, which would take most of the time
		if i%b.Step != 0 {
			return -1
		}
		i /= b.Step
	}
	if i < b.Count {
		return i
	}
	return -1
}

func one(int) int { return 1 }

// collectives is the table.
var collectives = []Collective{
	{
		Name: "bcast", Rooted: true, Blocks: one,
		Held:   heldByRoot,
		Wanted: func(_, _, _ int) Blocks { return Blocks{0, 1, 1} },
	},
	{Name: "barrier", Synchronizes: true},
	{
		Name: "anycast", Rooted: true, Origin: true, Published: true, Caller: "bcast", Blocks: one,
		Held:   heldByRoot,
		Wanted: func(_, _, _ int) Blocks { return Blocks{0, 1, 1} },
	},
	{
		Name: "scatter", Rooted: true, Blocks: blockPerRank,
		Held: func(ranks, root, rank int) Blocks {
			if rank != root {
				return Blocks{}
			}
			return Blocks{0, 1, ranks}
		},
		Wanted: func(_, _, rank int) Blocks { return Blocks{rank, 1, 1} },
	},
	{
		Name: "gather", Rooted: true, Blocks: blockPerRank,
		Held: func(_, _, rank int) Blocks { return Blocks{rank, 1, 1} },
		Wanted: func(ranks, root, rank int) Blocks {
			if rank != root {
				return Blocks{}
			}
			return Blocks{0, 1, ranks}
		},
	},
	{
		Name: "allgather", Blocks: blockPerRank,
		Held:    func(_, _, rank int) Blocks { return Blocks{rank, 1, 1} },
		Wanted:  func(ranks, _, _ int) Blocks { return Blocks{0, 1, ranks} },
		Rotated: func(ranks, by, block int) int { return (block + by) % ranks },
	},
	{
		Name: "alltoall", Blocks: func(ranks int) int { return ranks * ranks },
		Held:   func(ranks, _, rank int) Blocks { return Blocks{rank * ranks, 1, ranks} },
		Wanted: func(ranks, _, rank int) Blocks { return Blocks{rank, ranks, ranks} },
		Rotated: func(ranks, by, block int) int {
			from, to := block/ranks, block%ranks
			return (from+by)%ranks*ranks + (to+by)%ranks
		},
	},
	{
		Name: "reduce", Rooted: true, Blocks: one, Inputs: one, Folded: ofAllRanks,
		Held: nothing,
		Wanted: func(_, root, rank int) Blocks {
			if rank != root {
				return Blocks{}
			}
			return Blocks{0, 1, 1}
		},
	},
	{
		Name: "allreduce", Blocks: one, Inputs: one, Folded: ofAllRanks, Alike: true,
		Held:   nothing,
		Wanted: func(_, _, _ int) Blocks { return Blocks{0, 1, 1} },
	},
	{
		Name: "reduce-scatter", Blocks: blockPerRank, Inputs: blockPerRank, Folded: ofAllRanks,
		Held:    nothing,
		Wanted:  func(_, _, rank int) Blocks { return Blocks{rank, 1, 1} },
		Rotated: func(ranks, by, block int) int { return (block + by) % ranks },
	},
	{
		Name: "scan", Blocks: blockPerRank, Inputs: one,
		Folded: func(_, block int) int { return block + 1 },
		Held:   nothing,
		Wanted: func(_, _, rank int) Blocks { return Blocks{rank, 1, 1} },
	},
	{
		Name: "exscan", Blocks: blockPerRank, Inputs: one,
		Folded: func(_, block int) int { return block },
		Held:   nothing,
		Wanted: func(_, _, rank int) Blocks {
			if rank == 0 {
				return Blocks{}
			}
			return Blocks{rank, 1, 1}
		},
	},
	{
		// Block 0 is the origin's question. Block 1 is the answer, to which all ranks contribute.
		Name: "anyreduce", Rooted: true, Origin: true, Question: 1, Inputs: one,
		Blocks: func(int) int { return 2 },
		Folded: func(ranks, block int) int { return ranks * block },
		Held:   heldByRoot,
		Wanted: func(_, _, _ int) Blocks { return Blocks{0, 1, 2} },
	},
}

func blockPerRank(ranks int) int { return ranks }

func nothing(_, _, _ int) Blocks { return Blocks{} }

func ofAllRanks(ranks, _ int) int { return ranks }

func heldByRoot(_, root, rank int) Blocks {
	if rank != root {
		return Blocks{}
	}
	return Blocks{0, 1, 1}
}

// Everywhere reports whether every rank holds or wants every block. Then all ranks have the same
// knowledge of each block.
func (c *Collective) Everywhere(ranks, root int) bool {
	if c.Blocks == nil {
		return false
	}
	all := c.Blocks(ranks)
	for rank := range ranks {
		if c.Wanted(ranks, root, rank).Count < all && c.Held(ranks, root, rank).Count < all {
			return false
		}
	}
	return true
}

// Relays reports whether a schedule gives a rank a block that the rank neither holds nor wants,
// either to pass it on or by folding it there. programs returns the schedule's program of a rank.
func (h *Header) Relays(programs func(rank int) Program) bool {
	if h.BlockChunks() == 0 || h.Row().Everywhere(h.Ranks, h.Root) {
		return false
	}
	for rank := range h.Ranks {
		p := programs(rank)
		for i := range p.Rules {
			for _, a := range p.Rules[i].Do {
				set, to := a.Sets(), int(a.To)
				if set.Kind() != KindChunk {
					continue
				}
				if a.Op == Fold {
					to = rank
				}
				if held, wanted := h.Held(to), h.Wanted(to); a.Op == Mcast || !held.Has(set.Index()) && !wanted.Has(set.Index()) {
					return true
				}
			}
		}
	}
	return false
}

// Collectives returns a copy of the table.
func Collectives() []Collective { return slices.Clone(collectives) }

// CollectiveNamed returns the row with the given name. ok is false if there is none.
func CollectiveNamed(name string) (row Collective, ok bool) {
	if c := rowOf(name); c != nil {
		return *c, true
	}
	return Collective{}, false
}

// Define adds a collective of the program's own to the table. Call it from an init function or
// TestMain, before other code reads the table. It fails if c.Name is taken or is not a name, or if
// the row lacks functions that its other fields require, such as Held and Wanted beside Blocks.
func Define(c Collective) error {
	switch {
	case !isName(c.Name):
		return fmt.Errorf("defining a collective: %.*q is not a name", MaxName, c.Name)
	case rowOf(c.Name) != nil:
		return fmt.Errorf("defining a collective: there is a %s already", c.Name)
	case c.Blocks != nil && (c.Held == nil || c.Wanted == nil):
		return fmt.Errorf("defining a collective: %s has blocks, so it needs Held and Wanted", c.Name)
	case (c.Inputs == nil) != (c.Folded == nil) || c.Inputs != nil && c.Blocks == nil:
		return fmt.Errorf("defining a collective: %s needs Blocks, Inputs and Folded to fold", c.Name)
	case c.Question != 0 && c.Inputs == nil:
		return fmt.Errorf("defining a collective: %s has a question, but no rank contributes an answer", c.Name)
	case c.Blocks == nil && c.Rooted:
		return fmt.Errorf("defining a collective: %s has a root, but no blocks", c.Name)
	}
	collectives = append(collectives, c)
	return nil
}

func rowOf(name string) *Collective {
	for i := range collectives {
		if collectives[i].Name == name {
			return &collectives[i]
		}
	}
	return nil
}

func isCollective(name string) bool { return rowOf(name) != nil }

// collectiveNames returns the names in the order of the table.
func collectiveNames() []string {
	var names []string
	for i := range collectives {
		names = append(names, collectives[i].Name)
	}
	return names
}

// Row returns the row of h.Collective, or nil if there is none.
func (h *Header) Row() *Collective { return rowOf(h.Collective) }

// HasMessage reports whether the operation moves blocks of bytes. A barrier moves none. Its chunks
// have no bytes: a rank has one when a multicast, or the repair of a multicast, has reached it.
func (h *Header) HasMessage() bool {
	c := h.Row()
	return c != nil && c.Blocks != nil
}

// Rooted reports whether Root has a meaning.
func (h *Header) Rooted() bool {
	c := h.Row()
	return c != nil && c.Rooted
}

// RootWord returns the users' word for Root: "root", "origin", or "" if the collective has no root.
func (h *Header) RootWord() string {
	if c := h.Row(); c != nil {
		return c.RootWord()
	}
	return ""
}

// Synchronizes reports whether the collective keeps every rank until all ranks have entered, as a
// barrier does.
func (h *Header) Synchronizes() bool {
	c := h.Row()
	return c != nil && c.Synchronizes
}

// Blocks returns the number of blocks of the operation, 0 if it moves none.
func (h *Header) Blocks() int {
	if c := h.Row(); c != nil && c.Blocks != nil {
		return c.Blocks(h.Ranks)
	}
	return 0
}

// BlockChunks returns F, the number of chunks of each block, or 0 if there are no blocks.
func (h *Header) BlockChunks() int { return h.blockChunks(h.Row()) }

// blockChunks is BlockChunks for a caller that has the row.
func (h *Header) blockChunks(c *Collective) int {
	if c == nil || c.Blocks == nil {
		return 0
	}
	if n := c.Blocks(h.Ranks); n > 0 {
		return h.Chunks / n
	}
	return 0
}

// InputBlocks returns how many blocks each rank contributes, 0 if the collective folds nothing. In
// the caller's source buffer they come first, and the blocks that the rank holds come after them.
func (c *Collective) InputBlocks(ranks int) int {
	if c.Inputs == nil {
		return 0
	}
	return c.Inputs(ranks)
}

// SourceBlocks returns how many blocks the source buffer of a rank has: the blocks that the rank
// contributes and the blocks that it holds at enter. The collective must have blocks.
func (c *Collective) SourceBlocks(ranks, root, rank int) int {
	return c.InputBlocks(ranks) + c.Held(ranks, root, rank).Count
}

// Folds reports whether the collective folds contributions of ranks.
func (h *Header) Folds() bool {
	c := h.Row()
	return c != nil && c.Inputs != nil
}

// InputChunks returns the number of parts of every rank's contribution, each as long as a chunk.
// The parts are the slots x0 … x<InputChunks-1>. It is 0 if the collective folds nothing.
func (h *Header) InputChunks() int {
	if c := h.Row(); c != nil && c.Inputs != nil {
		return c.Inputs(h.Ranks) * h.blockChunks(c)
	}
	return 0
}

// InputOf returns the index of the part of each contribution that is folded into chunk k:
// x<InputOf(k)> goes into c<k>. The collective must fold contributions.
func (h *Header) InputOf(k int) int { return k % h.InputChunks() }

// FoldedRanks returns the number of ranks whose contributions are folded into chunk k. These are
// the ranks from 0 on. It is 0 if no contributions are folded into the chunk.
func (h *Header) FoldedRanks(k int) int {
	if c := h.Row(); c != nil && c.Folded != nil {
		return c.Folded(h.Ranks, k/h.blockChunks(c))
	}
	return 0
}

// QuestionChunks returns how many chunks a rank must have before it has a contribution. They are
// the chunks c0 … c<QuestionChunks-1>. See [Collective.Question].
func (h *Header) QuestionChunks() int {
	if c := h.Row(); c != nil {
		return c.Question * h.blockChunks(c)
	}
	return 0
}

// Rotation says how chunks move when every rank r becomes rank r+by, modulo ranks. Chunks move in
// groups of per chunks, and group i becomes group rotated(ranks, by, i). A group is a block. If all
// ranks are alike, the vector has one group for each rank instead. Contribution x<k> moves like the
// chunks that are folded from it. If all ranks are alike and the vector has no such groups, it is one
// group that stays. rotated is nil if the chunks cannot move.
func (h *Header) Rotation() (per int, rotated func(ranks, by, group int) int) {
	c := h.Row()
	switch {
	case c == nil || c.Blocks == nil || c.Inputs != nil && h.InputChunks() != h.Chunks:
		return 0, nil
	case c.Rotated != nil:
		return h.BlockChunks(), c.Rotated
	case c.Alike && h.Blocks() == 1 && h.Chunks%h.Ranks == 0:
		return h.Chunks / h.Ranks, func(ranks, by, group int) int { return (group + by) % ranks }
	case c.Alike && h.Blocks() == 1:
		return h.Chunks, func(_, _, group int) int { return group }
	}
	return 0, nil
}

// Held returns the chunks that rank holds at enter.
func (h *Header) Held(rank int) Chunks {
	if c := h.Row(); c != nil && c.Blocks != nil {
		return Chunks{c.Held(h.Ranks, h.Root, rank), h.blockChunks(c)}
	}
	return Chunks{}
}

// Wanted returns the chunks that rank has at the end. They may include chunks that it holds.
func (h *Header) Wanted(rank int) Chunks {
	if c := h.Row(); c != nil && c.Blocks != nil {
		return Chunks{c.Wanted(h.Ranks, h.Root, rank), h.blockChunks(c)}
	}
	return Chunks{}
}

// Holds reports whether rank holds chunk k at enter.
func (h *Header) Holds(rank, k int) bool {
	held := h.Held(rank)
	return held.Has(k)
}

// Chunks are the chunks of some blocks. Each block has Per chunks.
type Chunks struct {
	Blocks
	Per int // chunks of a block
}

// Len returns the number of chunks.
func (c Chunks) Len() int { return c.Count * c.Per }

// Has reports whether c contains chunk k.
func (c Chunks) Has(k int) bool { return c.Per > 0 && c.Index(k/c.Per) >= 0 }

// Place returns the position of chunk k in c, or -1 if c does not contain it.
func (c Chunks) Place(k int) int {
	if !c.Has(k) {
		return -1
	}
	return c.Index(k/c.Per)*c.Per + k%c.Per
}

// All yields the numbers of the chunks in ascending order.
func (c Chunks) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range c.Count {
			first := c.At(i) * c.Per
			for f := range c.Per {
				if !yield(first + f) {
					return
				}
			}
		}
	}
}
