package runtime

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
)

// Collective performs the collective of the table ([ir.Collective]) with that name. src has the
// blocks that this rank holds, and dst takes the blocks that it wants, one behind the other in the
// order of [ir.Header.Held] and [ir.Header.Wanted]. All blocks have the same number of bytes at all
// ranks. For example, with P ranks and blocks of n bytes:
//
//	scatter    src: P·n bytes at the root, else nil   dst: n bytes
//	gather     src: n bytes                           dst: P·n bytes at the root, else nil
//	allgather  src: n bytes                           dst: P·n bytes
//	alltoall   src: P·n bytes                         dst: P·n bytes
//	bcast      src: n bytes at the root, else nil     dst: n bytes
//
// Collectives that fold need a [Call] with a Fold; src then has this rank's contribution.
//
// root is 0 for a collective without a root. dst and src must not overlap, with one exception: if
// src is a single block, it may lie in dst where that block goes. Collective only reads src.
//
// The ranks must call the same collectives in the same order, with the same root and the same n. If
// they differ, the communicator fails at every rank with ErrMismatch, at the latest in the next
// barrier. A length that is no whole number of blocks, or a root outside 0 … Size-1, is ErrInput;
// the call then does nothing and does not count. If ctx ends before or during the call, the
// communicator fails at every rank. After an error the content of dst is undefined.
func (c *Comm) Collective(ctx context.Context, collective string, dst, src []byte, root int) error {
	return c.Do(ctx, Call{Collective: collective, Dst: dst, Src: src, Root: root})
}

// StartCollective starts the collective of [Comm.Collective] and returns without waiting for it.
// The communicator owns dst and src until the request has ended. Otherwise it works like
// [Comm.StartBcast].
func (c *Comm) StartCollective(ctx context.Context, collective string, dst, src []byte, root int) (*Request, error) {
	return c.Start(ctx, Call{Collective: collective, Dst: dst, Src: src, Root: root})
}

// Call is a collective of the table and its arguments.
type Call struct {
	// Name names the call in errors about its arguments. If Name is empty, these errors name
	// Collective.
	Name string

	Collective string // the name of the collective
	Root       int    // 0 for a collective that has none
	Dst, Src   []byte // the blocks that this rank wants, and the blocks that it holds: see [Comm.Collective]
	Element    int    // bytes of an element, the same at all ranks; 0 means 1

	// Fold folds the contributions, in a collective that folds. [ir.Collective.Inputs] says how
	// many blocks Src has. For example, with P ranks and blocks of n bytes:
	//
	//	reduce          src: n bytes     dst: n bytes at the root, else nil
	//	allreduce       src: n bytes     dst: n bytes
	//	reduce-scatter  src: P·n bytes   dst: n bytes
	//	scan            src: n bytes     dst: n bytes
	//	exscan          src: n bytes     dst: n bytes, at rank 0 nil
	//	anyreduce       src: n bytes     dst: 2·n bytes: the question and the answer of all
	//
	// At the origin of an anyreduce, Src has 2·n bytes: its own answer, then the question.
	//
	// Dst and Src may be the same memory if both have one block. Fold's Element replaces Element.
	// Do not change Fold before the call has ended.
	Fold *Fold

	// Counted says that each block has a length of its own, as in MPI's gatherv. DstCounts are the
	// elements of each block in Dst; SrcCounts are the elements of each block in Src. A buffer with
	// at most one block needs no counts. Either all ranks set Counted or no rank does.
	//
	// The root of a gather thus knows all lengths, and the other ranks know their own. Every rank
	// of an allgather knows all lengths. A rank of an alltoall knows the lengths of the blocks that
	// it sends and receives. If ranks give different lengths for a block, they fail with
	// ErrMismatch, as for any other argument, and the error names both lengths.
	//
	// Unless every rank knows all lengths, a rank has no place for blocks of others, so it must not
	// relay them. An algorithm of Config.Algorithms or a schedule given to Use that relays blocks
	// is ErrInput. If Config names no algorithm, the rules choose one as for long blocks; if that
	// one relays blocks, the first algorithm that does not replaces it. Each block is then one
	// chunk of at most wire.MaxBody bytes, 2 GiB, unless Config.Algorithms asks for more chunks.
	Counted              bool  // blocks have lengths of their own
	DstCounts, SrcCounts []int // lengths of the blocks of Dst and Src in elements, by block

	// Ended, if it is not nil, is called once with the outcome of a started call, before Wait or
	// Test return it. The goroutine that finds that the call has ended calls it, perhaps inside
	// Start. Ended must not block and must not call the communicator. Do does not call Ended.
	Ended func(error)
}

// Do performs a collective, like [Comm.Collective], also for elements of several bytes and for
// blocks with different lengths. Do only reads the counts; the caller may reuse them when it
// returns.
func (c *Comm) Do(ctx context.Context, call Call) error {
	var mem core.Buffers
	var f form
	k, err := c.blocksOf(ctx, &call, &mem, &f)
	if err != nil {
		return err
	}
	return c.startAndWait(ctx, k, &mem, call.Root, &f, &call)
}

// Start starts the collective of [Comm.Do] and returns without waiting for it. The communicator
// owns the buffers and the counts until the request has ended. Otherwise it works like
// [Comm.StartBcast].
func (c *Comm) Start(ctx context.Context, call Call) (*Request, error) {
	var mem core.Buffers
	var f form
	k, err := c.blocksOf(ctx, &call, &mem, &f)
	if err != nil {
		return nil, err
	}
	r := &Request{comm: c, tell: call.Ended}
	if f.counted {
		r.lengths.set(&mem, &call, f.shared)
	}
	return c.startRequest(r, ctx, k, &mem, call.Root, f)
}

// elements returns the form of calls with blocks of one length, in elements of the given number of
// bytes.
func elements(bytes int) form {
	if bytes == 1 {
		bytes = 0
	}
	return form{element: bytes}
}

// blocksOf checks the arguments of a call, and sets mem and f, which are empty, to what the core takes.
func (c *Comm) blocksOf(ctx context.Context, call *Call, mem *core.Buffers, f *form) (kind, error) {
	if ctx == nil {
		return 0, c.refuse(noContext(call.Collective))
	}
	k := c.plans.kindOf(call.Collective)
	if k < 0 {
		return 0, c.refuse(fmt.Errorf("%w: no collective %q", ErrInput, call.Collective))
	}
	row := c.plans.row(k)
	bytes, err := c.checkCall(call, row)
	if err != nil {
		name := call.Name
		if name == "" && call.Counted {
			name = row.Name + "v"
		} else if name == "" {
			name = row.Name
		}
		c.Refuse(fmt.Sprintf("%s: %v", name, err))
		return 0, fmt.Errorf("%w: %s: rank %d of %d: %w", ErrInput, name, c.rank, c.size, err)
	}
	if row.Blocks == nil {
		return k, nil
	}
	mem.In, mem.Out, mem.Block, mem.Fold = call.Src, call.Dst, bytes, call.Fold
	if call.Fold != nil {
		f.element = elements(call.Fold.Element).element
		f.fold, f.ordered, f.exact = call.Fold.Name, !call.Fold.Commutes, call.Fold.Exact
		f.counted, f.shared = call.Counted, call.Counted // every rank contributes to all blocks
		return k, nil
	}
	f.element = elements(max(1, call.Element)).element
	if f.counted = call.Counted; f.counted {
		f.shared = row.Everywhere(c.size, call.Root)
	}
	return k, nil
}

// checkCall returns the bytes of a block, or of the longest block if they have lengths of their
// own.
func (c *Comm) checkCall(call *Call, row *ir.Collective) (bytes int, err error) {
	switch {
	case row.Rooted && (call.Root < 0 || call.Root >= c.size):
		return 0, fmt.Errorf("root %d outside 0 … %d", call.Root, c.size-1)
	case !row.Rooted && call.Root != 0:
		return 0, fmt.Errorf("root is %d, but the collective has no root: pass 0", call.Root)
	case row.Blocks == nil && len(call.Dst)+len(call.Src) > 0:
		return 0, fmt.Errorf("it moves no bytes, but dst has %d and src %d", len(call.Dst), len(call.Src))
	case call.Element < 0:
		return 0, fmt.Errorf("elements of %d bytes: must not be negative", call.Element)
	case (call.Fold != nil) != (row.Inputs != nil) && row.Inputs != nil:
		return 0, errors.New("it folds contributions, but the call has no Fold")
	case (call.Fold != nil) != (row.Inputs != nil):
		return 0, errors.New("it folds nothing, but the call has a Fold")
	case call.Fold != nil && (call.Fold.Kernel == nil || call.Fold.Element < 1 || call.Fold.Name == ""):
		return 0, fmt.Errorf("the Fold needs a name, elements of at least 1 byte and a kernel: its name is %q, its elements have %d bytes, and its kernel is nil: %t", call.Fold.Name, call.Fold.Element, call.Fold.Kernel == nil)
	case call.Fold != nil && call.Element != 0 && call.Element != call.Fold.Element:
		return 0, fmt.Errorf("elements of %d bytes, but those of the Fold have %d", call.Element, call.Fold.Element)
	case call.Fold != nil && call.Counted && !row.TakesCounts():
		return 0, errors.New("it takes no counts: each rank contributes one block")
	case call.Counted && !row.TakesCounts():
		return 0, errors.New("it takes no counts: it does not move several blocks")
	case row.Blocks == nil:
		return 0, nil
	}
	element := max(1, call.Element)
	if call.Fold != nil {
		element = call.Fold.Element
	}
	if len(call.Dst)%element != 0 || len(call.Src)%element != 0 {
		return 0, fmt.Errorf("dst has %d bytes and src %d, which are not whole elements of %d bytes", len(call.Dst), len(call.Src), element)
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

// blockBytes returns the bytes of a block, if dst bytes are wanted blocks and src bytes are held
// blocks.
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
		return 0, fmt.Errorf("dst has %d bytes for %d blocks and src %d for %d: a block would have %d bytes in dst and %d in src",
			dst, wanted, src, held, dst/wanted, src/held)
	case wanted > 0:
		return dst / wanted, nil
	case held > 0:
		return src / held, nil
	}
	return 0, nil
}

// checkOverlap returns an error if dst and src share memory, unless src is the rank's single block
// at its place in dst, which begins at byte own.
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
