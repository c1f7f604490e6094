package runtime

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core"
)

// Collective performs a collective of the table ([ir.Collective]) by its name. src has the blocks
// that this rank holds, dst takes those that it wants, one behind the other in the order of
// [ir.Header.Held] and [ir.Header.Wanted]. All blocks have the same number of bytes at all ranks.
// For example, with P ranks and blocks of n bytes:
//
//	scatter    src: P·n bytes at the root, else nil   dst: n bytes
//	gather     src: n bytes                           dst: P·n bytes at the root, else nil
//	allgather  src: n bytes                           dst: P·n bytes
//	alltoall   src: P·n bytes                         dst: P·n bytes
//	bcast      src: n bytes at the root, else nil     dst: n bytes
//
// Collectives that fold take a [Call] with a Fold; src then has what this rank contributes.
//
// root is 0 for a collective that has none. dst and src must not overlap, except that a rank's
// one block in src may be the very place in dst where that block goes. src is only read.
//
// The ranks must call the same collectives in the same order, with the same root and the same n:
// if they do not, the communicator fails at every rank with ErrMismatch, at the latest in the next
// barrier. Lengths that are no blocks at all, or a root that is no rank, are ErrInput; the call then
// does nothing and does not count. If ctx ends first, or has ended before the call, the communicator
// fails at every rank. After an error what dst holds is undefined.
func (c *Comm) Collective(ctx context.Context, collective string, dst, src []byte, root int) error {
	return c.Do(ctx, Call{Collective: collective, Dst: dst, Src: src, Root: root})
}

// StartCollective starts what [Comm.Collective] does and does not wait for it: dst and src are the
// communicator's until the request has ended. Otherwise it is as [Comm.StartBcast].
func (c *Comm) StartCollective(ctx context.Context, collective string, dst, src []byte, root int) (*Request, error) {
	return c.Start(ctx, Call{Collective: collective, Dst: dst, Src: src, Root: root})
}

// Call is a collective of the table and its arguments.
type Call struct {
	Collective string // its name
	Root       int    // 0 for a collective that has none
	Dst, Src   []byte // the blocks that this rank wants, and those that it holds: see [Comm.Collective]
	Element    int    // bytes of an element, the same at all ranks; 0 is 1

	// Fold is what contributions are folded with, in a collective that folds: [ir.Collective.Inputs]
	// says how many blocks Src then has. For example, with P ranks and blocks of n bytes:
	//
	//	reduce          src: n bytes     dst: n bytes at the root, else nil
	//	allreduce       src: n bytes     dst: n bytes
	//	reduce-scatter  src: P·n bytes   dst: n bytes
	//	scan            src: n bytes     dst: n bytes
	//	exscan          src: n bytes     dst: n bytes, at rank 0 nil
	//	anyreduce       src: n bytes     dst: 2·n bytes: the question and the answer of all
	//
	// The origin of an anyreduce has the question behind its own answer in Src, which has 2·n bytes there.
	//
	// Dst and Src may be the same memory where both have one block. Element is that of Fold then. Nobody
	// may change Fold before the call has ended.
	Fold *Fold

	// Counted says that each block has a length of its own, as in MPI's gatherv and its like. DstCounts
	// are the elements of each block in Dst, SrcCounts those of each block in Src. A buffer that has
	// one block, or none, needs no counts. All ranks must set Counted, or none.
	//
	// So the root of a gather knows all lengths, and other ranks know theirs; every rank of an
	// allgather knows all; and a rank of an alltoall knows what it sends to each rank and gets from
	// each. Ranks that differ in a length fail with ErrMismatch, as those do that differ in another
	// argument, and the error says what each of both has said.
	//
	// Unless every rank knows all lengths, no rank passes a block on that is neither from it nor for
	// it, since it has no place for it. An algorithm of Config.Algorithms and a schedule given to Use
	// in which one does are ErrInput. If Config names none, the rules choose one as for long blocks,
	// and if ranks pass blocks on in that one the first in which none does takes its place. A block is
	// one chunk then, of at most wire.MaxBody bytes, 2 GiB, unless Config.Algorithms asks for more.
	Counted              bool
	DstCounts, SrcCounts []int

	// Ended, if it is not nil, is called once with the outcome of a call that has been started, before
	// Wait or Test tell it, by whichever goroutine finds that it has ended: also inside Start. It must
	// not wait for anything, nor call the communicator. Do does not call it.
	Ended func(error)
}

// Do performs a collective. It is [Comm.Collective] for elements of several bytes, and for blocks
// that have different lengths. The counts are only read, and are the caller's again when it returns.
func (c *Comm) Do(ctx context.Context, call Call) error {
	k, mem, f, err := c.blocksOf(ctx, &call)
	if err != nil {
		return err
	}
	if !f.counted {
		return c.run(ctx, k, &mem, call.Root, f)
	}
	if !c.occupy() {
		return ErrBusy
	}
	c.blocking.count(&mem, &call, f.shared)
	err = c.operate(ctx, k, &mem, call.Root, f)
	c.vacate()
	return err
}

// Start starts what [Comm.Do] does and does not wait for it: the buffers and the counts are the
// communicator's until the request has ended. Otherwise it is as [Comm.StartBcast].
func (c *Comm) Start(ctx context.Context, call Call) (*Request, error) {
	k, mem, f, err := c.blocksOf(ctx, &call)
	if err != nil {
		return nil, err
	}
	r := &Request{comm: c, tell: call.Ended}
	if f.counted {
		r.count(&mem, &call, f.shared)
	}
	return c.startRequest(r, ctx, k, mem, call.Root, f)
}

// elements returns the form of calls that move elements of so many bytes in blocks of one length.
func elements(bytes int) form {
	if bytes == 1 {
		bytes = 0
	}
	return form{element: bytes}
}

// blocksOf checks the arguments of a call.
func (c *Comm) blocksOf(ctx context.Context, call *Call) (kind, core.Buffers, form, error) {
	none := core.Buffers{}
	if ctx == nil {
		return 0, none, form{}, c.refuse(noContext(call.Collective))
	}
	k := c.plans.kindOf(call.Collective)
	if k < 0 {
		return 0, none, form{}, c.refuse(fmt.Errorf("%w: no collective %q", ErrInput, call.Collective))
	}
	row := c.plans.row(k)
	bytes, err := c.checkCall(call, row)
	if err != nil {
		name := row.Name
		if call.Counted {
			name += "v"
		}
		c.Refuse(fmt.Sprintf("%s: %v", name, err))
		return 0, none, form{}, fmt.Errorf("%w: %s: rank %d: %w", ErrInput, name, c.rank, err)
	}
	if row.Blocks == nil {
		return k, none, form{}, nil
	}
	if call.Fold != nil {
		f := elements(call.Fold.Element)
		f.fold, f.ordered = call.Fold.Name, !call.Fold.Commutes
		f.counted, f.shared = call.Counted, call.Counted // every rank contributes to all blocks
		return k, core.Buffers{In: call.Src, Out: call.Dst, Block: bytes, Fold: call.Fold}, f, nil
	}
	f := elements(max(1, call.Element))
	if f.counted = call.Counted; f.counted {
		f.shared = row.Everywhere(c.size, call.Root)
	}
	return k, core.Buffers{In: call.Src, Out: call.Dst, Block: bytes}, f, nil
}

// checkCall returns the bytes of a block, of the longest if they have lengths of their own.
func (c *Comm) checkCall(call *Call, row *ir.Collective) (bytes int, err error) {
	switch {
	case row.Rooted && (call.Root < 0 || call.Root >= c.size):
		return 0, fmt.Errorf("root %d outside 0 … %d", call.Root, c.size-1)
	case !row.Rooted && call.Root != 0:
		return 0, fmt.Errorf("root %d, but it has no root: 0 is written", call.Root)
	case row.Blocks == nil && len(call.Dst)+len(call.Src) > 0:
		return 0, fmt.Errorf("it moves no bytes, but dst has %d and src %d", len(call.Dst), len(call.Src))
	case call.Element < 0:
		return 0, fmt.Errorf("elements of %d bytes", call.Element)
	case (call.Fold != nil) != (row.Inputs != nil) && row.Inputs != nil:
		return 0, errors.New("it folds contributions, but the call has no Fold")
	case (call.Fold != nil) != (row.Inputs != nil):
		return 0, errors.New("it folds nothing, but the call has a Fold")
	case call.Fold != nil && (call.Fold.Kernel == nil || call.Fold.Element < 1 || call.Fold.Name == ""):
		return 0, fmt.Errorf("the Fold has the name %q, elements of %d bytes and a kernel that is nil: %t", call.Fold.Name, call.Fold.Element, call.Fold.Kernel == nil)
	case call.Fold != nil && call.Element != 0 && call.Element != call.Fold.Element:
		return 0, fmt.Errorf("elements of %d bytes, but those of the Fold have %d", call.Element, call.Fold.Element)
	case call.Fold != nil && call.Counted && row.Inputs(2) < 2:
		return 0, errors.New("it takes no counts: each rank contributes one block")
	case call.Counted && (row.Blocks == nil || row.Blocks(2) < 2):
		return 0, errors.New("it takes no counts: it does not move several blocks")
	case row.Blocks == nil:
		return 0, nil
	}
	element := max(1, call.Element)
	if call.Fold != nil {
		element = call.Fold.Element
	}
	if len(call.Dst)%element != 0 || len(call.Src)%element != 0 {
		return 0, fmt.Errorf("dst has %d bytes and src %d, which are not whole elements of %d", len(call.Dst), len(call.Src), element)
	}
	held, wanted := row.Held(c.size, call.Root, c.rank), row.Wanted(c.size, call.Root, c.rank)
	if call.Fold != nil && call.Counted {
		held = ir.Blocks{Step: 1, Count: row.Inputs(c.size)}
	} else if call.Fold != nil {
		return c.checkFolded(call, row, wanted)
	}
	if call.Counted {
		n, err := checkCounts(call, element, wanted, held)
		return n * element, err
	}
	n, err := blockBytes(len(call.Dst), len(call.Src), wanted.Count, held.Count)
	if err != nil {
		return 0, err
	}
	return n, checkOverlap(call.Dst, call.Src, n*wanted.Index(held.First), wanted, held)
}

// checkFolded returns the bytes of a block of a call that folds.
func (c *Comm) checkFolded(call *Call, row *ir.Collective, wanted ir.Blocks) (bytes int, err error) {
	inputs := row.SourceBlocks(c.size, call.Root, c.rank)
	if bytes, err = blockBytes(len(call.Dst), len(call.Src), wanted.Count, inputs); err != nil {
		return 0, err
	}
	if inputs == 1 && wanted.Count == 1 && len(call.Dst) > 0 && &call.Dst[0] == &call.Src[0] {
		return bytes, nil
	}
	return bytes, checkOverlap(call.Dst, call.Src, 0, ir.Blocks{}, ir.Blocks{})
}

// blockBytes returns the bytes of a block where dst has those of so many wanted blocks and src those
// of so many held ones.
func blockBytes(dst, src, wanted, held int) (int, error) {
	switch {
	case wanted == 0 && dst > 0:
		return 0, fmt.Errorf("dst has %d bytes, but this rank gets no block", dst)
	case held == 0 && src > 0:
		return 0, fmt.Errorf("src has %d bytes, but this rank sends no block of its own", src)
	case wanted > 0 && dst%wanted != 0:
		return 0, fmt.Errorf("dst has %d bytes, which are not %d blocks of one length", dst, wanted)
	case held > 0 && src%held != 0:
		return 0, fmt.Errorf("src has %d bytes, which are not %d blocks of one length", src, held)
	case wanted > 0 && held > 0 && dst/wanted != src/held:
		return 0, fmt.Errorf("dst has %d bytes for %d blocks, src %d for %d: a block would have %d bytes here and %d there",
			dst, wanted, src, held, dst/wanted, src/held)
	case wanted > 0:
		return dst / wanted, nil
	case held > 0:
		return src / held, nil
	}
	return 0, nil
}

// checkOverlap returns an error if dst and src share memory, unless src is the one block that the rank
// holds, in its place in dst, at byte own.
func checkOverlap(dst, src []byte, own int, wanted, held ir.Blocks) error {
	if len(dst) == 0 || len(src) == 0 {
		return nil
	}
	d, s := reflect.ValueOf(&dst[0]).Pointer(), reflect.ValueOf(&src[0]).Pointer()
	if d+uintptr(len(dst)) <= s || s+uintptr(len(src)) <= d {
		return nil
	}
	if held.Count == 1 && wanted.Index(held.First) >= 0 && s == d+uintptr(own) {
		return nil
	}
	return fmt.Errorf("dst, of %d bytes, and src, of %d, overlap", len(dst), len(src))
}
