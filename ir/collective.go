package ir

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// Collective is a row of the table that says what each collective is: how many blocks an operation
// moves, which rank holds which of them at enter, and which rank wants which of them at the end.
// Everything else, from the readers of files to the runtime, asks the row.
//
// With F chunks a block, block b is the chunks b·F … b·F+F-1 (see [Header.BlockChunks]). A chunk
// names one value of the whole operation: wherever it stands, it has the same bytes.
type Collective struct {
	Name   string // what stands before the slash in the name of an algorithm: "bcast"
	Rooted bool   // Header.Root means something: the root, or the origin of a message
	Origin bool   // users call Header.Root the origin, not the root

	// Blocks returns the number of blocks among so many ranks. It is nil for a collective that moves
	// no bytes: if it has chunks, they tell something, and nobody holds them at enter.
	Blocks func(ranks int) int

	// Held returns the blocks that rank holds at enter, among ranks with that root.
	Held func(ranks, root, rank int) Blocks

	// Wanted returns the blocks that rank has at the end, among ranks with that root. Those that it
	// holds may be among them.
	Wanted func(ranks, root, rank int) Blocks

	// Inputs returns how many blocks of its own each rank contributes. It is nil for a collective
	// that folds nothing. Block b of the operation is folded from block b mod Inputs of the
	// contributions: all blocks of a scan are folded from the one block that each rank has.
	Inputs func(ranks int) int

	// Folded returns of how many ranks the contributions are folded into a block: those of the ranks
	// 0 … Folded-1, each once. It is nil if Inputs is.
	Folded func(ranks, block int) int

	// Question is the number of blocks that say what the ranks are to contribute: the blocks
	// 0 … Question-1. What a rank contributes is its answer, so it has no contribution before it has all of
	// them. It is 0 where ranks contribute what they have at enter.
	Question int

	// Rotated returns what a block becomes when every rank r becomes rank r+by, modulo ranks: who
	// holds and wants the one are then who held and wanted the other, each by ranks further. It is
	// nil if there is no such block, because a root is unlike other ranks, or if there are no blocks.
	// by is in 0 … ranks-1.
	Rotated func(ranks, by, block int) int

	// Alike says that all ranks contribute to, and want, all of every block. Pieces of a block may then
	// move with the ranks: see [Header.Rotation].
	Alike bool

	// Synchronizes says that no rank leaves before all ranks have entered.
	Synchronizes bool

	// Published says that the root sends whenever it likes, and that the others take what comes as
	// a message: they make no call of their own for it, and need not know who the root is. One
	// algorithm is therefore agreed on before, and serves messages of all lengths.
	Published bool

	// Caller names the collective whose calls run a schedule of this one that a program was given.
	// "" stands for its own. Published messages have no call at the ranks that take them, so their
	// schedules run as broadcasts from the origin.
	Caller string
}

// CalledBy returns the name of the collective whose calls run a schedule of c: Caller, or its own.
func (c *Collective) CalledBy() string { return cmp.Or(c.Caller, c.Name) }

// RootWord returns what users call the root, "root" or "origin", and "" if c has none.
func (c *Collective) RootWord() string {
	switch {
	case !c.Rooted:
		return ""
	case c.Origin:
		return "origin"
	}
	return "root"
}

// Blocks are the blocks First, First+Step, First+2·Step …, Count of them. The zero value is none.
type Blocks struct{ First, Step, Count int }

// At returns the i-th of the blocks, 0 ≤ i < Count.
func (b Blocks) At(i int) int { return b.First + i*b.Step }

// Index returns the place of a block among b, -1 if it is not among them.
func (b Blocks) Index(block int) int {
	i := block - b.First
	if b.Count == 0 || i < 0 {
		return -1
	}
	if b.Step != 1 { // a division takes longer than all the rest
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
		// Block 0 is what the origin asks, and block 1 is what all answer.
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

// Everywhere reports whether every rank holds or wants every block, among ranks with that root. A rank
// then knows as much of each block as any other.
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

// Relays reports whether a schedule brings a rank a block that it neither holds nor wants, for it to
// pass on, or has it fold one. programs are those of the schedule.
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

// Collectives returns the table. It is a copy.
func Collectives() []Collective { return slices.Clone(collectives) }

// CollectiveNamed returns the row of the given name; ok is false if there is none.
func CollectiveNamed(name string) (row Collective, ok bool) {
	if c := rowOf(name); c != nil {
		return *c, true
	}
	return Collective{}, false
}

// Define adds a row to the table: a collective of a program's own. It is to be called before
// anything else looks at the table, in an init function or in TestMain. It fails if the name is
// taken or is no name, and if a row with Blocks lacks Held or Wanted.
func Define(c Collective) error {
	switch {
	case !isName(c.Name):
		return fmt.Errorf("defining a collective: %.*q is no name", MaxName, c.Name)
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

// collectiveNames returns the names in the table's order.
func collectiveNames() []string {
	var names []string
	for i := range collectives {
		names = append(names, collectives[i].Name)
	}
	return names
}

// Row returns what the collective of h is, nil if there is no collective of that name.
func (h *Header) Row() *Collective { return rowOf(h.Collective) }

// HasMessage reports whether the operation moves blocks of bytes. A barrier moves none: its chunks
// have no bytes. They are what a multicast, or a repair of it, tells, and nobody has them before.
func (h *Header) HasMessage() bool {
	c := h.Row()
	return c != nil && c.Blocks != nil
}

// Rooted reports whether Root means something.
func (h *Header) Rooted() bool {
	c := h.Row()
	return c != nil && c.Rooted
}

// RootWord returns what users call Root: "root" or "origin", and "" if the collective has neither.
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

// BlockChunks returns F, the number of chunks of each block, 0 if there are no blocks.
func (h *Header) BlockChunks() int {
	if n := h.Blocks(); n > 0 {
		return h.Chunks / n
	}
	return 0
}

// InputBlocks returns how many blocks each rank contributes, 0 if the collective folds nothing.
// They stand first in the caller's source buffer, and the blocks that the rank holds follow them.
func (c *Collective) InputBlocks(ranks int) int {
	if c.Inputs == nil {
		return 0
	}
	return c.Inputs(ranks)
}

// SourceBlocks returns how many blocks the source buffer of a rank has: those that it contributes
// and those that it holds at enter.
func (c *Collective) SourceBlocks(ranks, root, rank int) int {
	return c.InputBlocks(ranks) + c.Held(ranks, root, rank).Count
}

// Folds reports whether contributions of ranks are folded into the blocks.
func (h *Header) Folds() bool {
	c := h.Row()
	return c != nil && c.Inputs != nil
}

// InputChunks returns the number of parts, of a chunk each, of every rank's own contribution: the
// slots x0 … x<InputChunks-1>. It is 0 if nothing is folded.
func (h *Header) InputChunks() int {
	if c := h.Row(); c != nil && c.Inputs != nil {
		return c.Inputs(h.Ranks) * h.BlockChunks()
	}
	return 0
}

// InputOf returns the number of the part of each contribution from which chunk k is folded: x<InputOf>
// goes into c<k>.
func (h *Header) InputOf(k int) int { return k % h.InputChunks() }

// FoldedRanks returns of how many ranks the contributions are folded into chunk k, from rank 0 on.
func (h *Header) FoldedRanks(k int) int {
	if c := h.Row(); c != nil && c.Folded != nil {
		return c.Folded(h.Ranks, k/h.BlockChunks())
	}
	return 0
}

// QuestionChunks returns how many chunks a rank must have before it has a contribution: the chunks
// c0 … c<QuestionChunks-1>. See [Collective.Question].
func (h *Header) QuestionChunks() int {
	if c := h.Row(); c != nil {
		return c.Question * h.BlockChunks()
	}
	return 0
}

// Rotation returns how chunks move when every rank r becomes rank r+by, modulo ranks: in groups of per
// chunks, of which the i-th becomes the rotated(ranks, by, i)-th. The groups are blocks or, where all
// ranks are alike, as many pieces of the vector as there are ranks. Contributions x<k> move as the
// chunks c<k> do that are folded from them. rotated is nil if chunks cannot move so.
func (h *Header) Rotation() (per int, rotated func(ranks, by, group int) int) {
	c := h.Row()
	switch {
	case c == nil || c.Blocks == nil || c.Inputs != nil && h.InputChunks() != h.Chunks:
		return 0, nil
	case c.Rotated != nil:
		return h.BlockChunks(), c.Rotated
	case c.Alike && h.Blocks() == 1 && h.Chunks%h.Ranks == 0:
		return h.Chunks / h.Ranks, func(ranks, by, group int) int { return (group + by) % ranks }
	}
	return 0, nil
}

// Held returns the chunks that rank holds at enter.
func (h *Header) Held(rank int) Chunks {
	if c := h.Row(); c != nil && c.Blocks != nil {
		return Chunks{c.Held(h.Ranks, h.Root, rank), h.BlockChunks()}
	}
	return Chunks{}
}

// Wanted returns the chunks that rank has at the end, with those that it holds.
func (h *Header) Wanted(rank int) Chunks {
	if c := h.Row(); c != nil && c.Blocks != nil {
		return Chunks{c.Wanted(h.Ranks, h.Root, rank), h.BlockChunks()}
	}
	return Chunks{}
}

// Holds reports whether rank holds chunk k at enter.
func (h *Header) Holds(rank, k int) bool {
	held := h.Held(rank)
	return held.Has(k)
}

// Chunks are the chunks of some blocks, Per chunks a block.
type Chunks struct {
	Blocks
	Per int
}

// Len returns how many chunks there are.
func (c Chunks) Len() int { return c.Count * c.Per }

// Has reports whether chunk k is among c.
func (c Chunks) Has(k int) bool { return c.Per > 0 && c.Index(k/c.Per) >= 0 }

// Place returns the place of chunk k among c, -1 if it is not among them.
func (c Chunks) Place(k int) int {
	if !c.Has(k) {
		return -1
	}
	return c.Index(k/c.Per)*c.Per + k%c.Per
}

// All returns the numbers of the chunks, ascending.
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
