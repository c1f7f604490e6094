package schedgen

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
)

// Bcast copies buf of rank root to buf of every other rank. buf has the same length at all ranks.
//
// The root may reuse buf when Bcast returns there. The algorithm decides whether the other ranks
// have the elements by then: bcast/mcast-acktree guarantees it. After an error buf is undefined,
// unless the error is an [OpError] with Whole set.
func Bcast[T any](ctx context.Context, comm *Comm, buf []T, root int) error {
	if err := checkCall[T](ctx, comm, "Bcast", root); err != nil {
		return err
	}
	return comm.ended("Bcast", comm.under.BcastElements(ctx, bytesOf(buf), sizeOf[T](), root))
}

// BcastBytes sends a message of rank root to all ranks. Only the root knows its length. At the
// root, buf is the message, and BcastBytes returns it. At other ranks, buf is memory for the
// message, up to its capacity, and may be nil. The result lies in buf if it fits, and else in new
// memory. So a loop that passes the last result does not allocate.
//
// If all ranks know the length, [Bcast] is quicker for more than 504 bytes. A message of more than
// Config.MaxBcast bytes is ErrTooLarge at every rank. The communicator stays intact.
func BcastBytes(ctx context.Context, comm *Comm, buf []byte, root int) ([]byte, error) {
	if err := checkCall[byte](ctx, comm, "BcastBytes", root); err != nil {
		return nil, err
	}
	msg, err := comm.under.BcastBytes(ctx, buf, root)
	return msg, comm.ended("BcastBytes", err)
}

// Scatter gives each rank its block of src of rank root: rank r gets elements r·n … r·n+n-1, where
// n is the length of dst. n is the same at all ranks. At the root src has n elements for every
// rank. At the other ranks it is nil.
func Scatter[T any](ctx context.Context, comm *Comm, dst, src []T, root int) error {
	return blocks(ctx, comm, "Scatter", &scatter, dst, src, root).do()
}

// Gather collects src of every rank in dst of rank root: src of rank r becomes the elements r·n …
// r·n+n-1, where n is the length of src. n is the same at all ranks. At the root dst has n elements
// for every rank. At the other ranks it is nil.
//
// src of the root may be its own block in dst.
func Gather[T any](ctx context.Context, comm *Comm, dst, src []T, root int) error {
	return blocks(ctx, comm, "Gather", &gather, dst, src, root).do()
}

// Allgather collects src of every rank in dst of every rank: src of rank r becomes the elements r·n
// … r·n+n-1, where n is the length of src. n is the same at all ranks, and dst has n elements for
// every rank.
//
// src may be this rank's own block in dst.
func Allgather[T any](ctx context.Context, comm *Comm, dst, src []T) error {
	return blocks(ctx, comm, "Allgather", &allgather, dst, src, 0).do()
}

// Alltoall sends a block of every rank to every rank: block d of src at rank s becomes block s of
// dst at rank d. With P ranks and blocks of n elements, block i is the elements i·n … i·n+n-1, and
// dst and src have P·n elements each. n is the same at all ranks. dst and src must not overlap.
func Alltoall[T any](ctx context.Context, comm *Comm, dst, src []T) error {
	return blocks(ctx, comm, "Alltoall", &alltoall, dst, src, 0).do()
}

// Scatterv is [Scatter] with blocks of different lengths: rank r gets counts[r] elements of src.
// They follow the blocks of the ranks before it. The root passes counts. At the other ranks counts
// is nil, or has the length of dst at their own place.
func Scatterv[T any](ctx context.Context, comm *Comm, dst, src []T, counts []int, root int) error {
	return counted(ctx, comm, "Scatterv", &scatter, dst, nil, src, counts, root).do()
}

// Gatherv is [Gather] with blocks of different lengths: src of rank r has counts[r] elements. In
// dst of the root they follow the blocks of the ranks before it. The root passes counts. At the
// other ranks counts is nil, or has the length of src at their own place.
func Gatherv[T any](ctx context.Context, comm *Comm, dst []T, counts []int, src []T, root int) error {
	return counted(ctx, comm, "Gatherv", &gather, dst, counts, src, nil, root).do()
}

// Allgatherv is [Allgather] with blocks of different lengths: src of rank r has counts[r] elements.
// In dst they follow the blocks of the ranks before it. All ranks pass the same counts.
func Allgatherv[T any](ctx context.Context, comm *Comm, dst []T, counts []int, src []T) error {
	return counted(ctx, comm, "Allgatherv", &allgather, dst, counts, src, nil, 0).do()
}

// Alltoallv is [Alltoall] with blocks of different lengths: this rank sends srcCounts[r] elements
// of src to rank r and gets dstCounts[r] elements from it. Blocks lie in the order of ranks,
// without gaps. srcCounts[d] of rank s must be dstCounts[s] of rank d.
func Alltoallv[T any](ctx context.Context, comm *Comm, dst []T, dstCounts []int, src []T, srcCounts []int) error {
	return counted(ctx, comm, "Alltoallv", &alltoall, dst, dstCounts, src, srcCounts, 0).do()
}

// Barrier returns when every rank has called it.
func Barrier(ctx context.Context, comm *Comm) error {
	if err := checkCall[byte](ctx, comm, "Barrier", 0); err != nil {
		return err
	}
	return comm.ended("Barrier", comm.under.Barrier(ctx))
}

// These are the rows of the collectives that fold nothing.
var (
	bcast     = rowOf("bcast")
	scatter   = rowOf("scatter")
	gather    = rowOf("gather")
	allgather = rowOf("allgather")
	alltoall  = rowOf("alltoall")
	barrier   = rowOf("barrier")
)

func rowOf(name string) ir.Collective {
	row, _ := ir.CollectiveNamed(name)
	return row
}

// call is a call of a collective whose arguments are checked.
type call struct {
	ctx  context.Context
	comm *Comm
	of   runtime.Call
	err  error // why the arguments are refused
}

// do performs the collective.
func (c call) do() error {
	if c.err != nil {
		return c.err
	}
	return c.comm.ended(c.of.Name, c.comm.under.Do(c.ctx, c.of))
}

// start starts the collective.
func (c call) start() (*Request, error) {
	if c.err != nil {
		return nil, c.err
	}
	under, err := c.comm.under.Start(c.ctx, c.of)
	if err != nil {
		return nil, c.comm.ended(c.of.Name, err)
	}
	return &Request{under}, nil
}

// prepare prepares the collective.
func (c call) prepare() (*Prepared, error) {
	if c.err != nil {
		return nil, c.err
	}
	under, err := c.comm.under.Prepare(c.ctx, c.of)
	if err != nil {
		return nil, c.comm.ended(c.of.Name, err)
	}
	return &Prepared{c.comm, under, c.of.Name}, nil
}

// nothing returns the call of a barrier. fn is the name of the calling function, here and below.
func nothing(ctx context.Context, comm *Comm, fn string) call {
	if err := checkCall[byte](ctx, comm, fn, 0); err != nil {
		return call{err: err}
	}
	return call{ctx: ctx, comm: comm, of: callOf[byte](fn, &barrier, nil, nil, 0)}
}

// whole returns the call of a broadcast.
func whole[T any](ctx context.Context, comm *Comm, fn string, buf []T, root int) call {
	if err := checkCall[T](ctx, comm, fn, root); err != nil {
		return call{err: err}
	}
	of := callOf(fn, &bcast, buf, nil, root)
	if comm.under.Rank() == root {
		of.Src = of.Dst
	}
	return call{ctx: ctx, comm: comm, of: of}
}

// blocks returns the call of a row with blocks of one length.
func blocks[T any](ctx context.Context, comm *Comm, fn string, row *ir.Collective, dst, src []T, root int) call {
	if err := checkBlocks(ctx, comm, fn, row, dst, src, root); err != nil {
		return call{err: err}
	}
	return call{ctx: ctx, comm: comm, of: callOf(fn, row, dst, src, root)}
}

// counted returns the call of a row with blocks of different lengths.
func counted[T any](ctx context.Context, comm *Comm, fn string, row *ir.Collective, dst []T, dstCounts []int, src []T, srcCounts []int, root int) call {
	if err := checkCall[T](ctx, comm, fn, root); err != nil {
		return call{err: err}
	}
	if row.Rooted && comm.under.Rank() != root {
		counts, own := dstCounts, len(src)
		if counts == nil {
			counts, own = srcCounts, len(dst)
		}
		if rank, size := comm.under.Rank(), comm.under.Size(); counts != nil && (len(counts) != size || counts[rank] != own) {
			return call{err: comm.wrong(fn, "counts is %v, want %d of them with %d, the length of this rank's block, at place %d, or nil: only the root, rank %d, needs them",
				counts[:min(len(counts), maxNamed)], size, own, rank, root)}
		}
		dstCounts, srcCounts = nil, nil
	}
	of := callOf(fn, row, dst, src, root)
	of.Counted, of.DstCounts, of.SrcCounts = true, dstCounts, srcCounts
	return call{ctx: ctx, comm: comm, of: of}
}

// maxNamed is the largest number of counts that an error names.
const maxNamed = 8

// callOf returns the call of a row with blocks of one length. fn is the name of the calling
// function.
func callOf[T any](fn string, row *ir.Collective, dst, src []T, root int) runtime.Call {
	return runtime.Call{Name: fn, Collective: row.Name, Root: root, Dst: bytesOf(dst), Src: bytesOf(src), Element: sizeOf[T]()}
}

// checkCall checks the arguments of all functions: the context, the communicator, the root and the
// type of elements.
func checkCall[T any](ctx context.Context, comm *Comm, fn string, root int) error {
	if comm.missing() {
		return comm.wrong(fn, "the communicator is nil")
	}
	if ctx == nil {
		return comm.wrong(fn, "the context is nil")
	}
	if err := checkElement[T](); err != nil {
		return comm.wrong(fn, "%v", err)
	}
	if size := comm.under.Size(); root < 0 || root >= size {
		return comm.wrong(fn, "root %d outside 0 … %d", root, size-1)
	}
	return nil
}

// checkBlocks checks the arguments of a collective that has two buffers.
func checkBlocks[T any](ctx context.Context, comm *Comm, fn string, row *ir.Collective, dst, src []T, root int) error {
	if err := checkCall[T](ctx, comm, fn, root); err != nil {
		return err
	}
	size, rank := comm.under.Size(), comm.under.Rank()
	held, wanted := row.Held(size, root, rank), row.Wanted(size, root, rank)
	if why := lengths(len(dst), len(src), wanted.Count, held.Count, root); why != "" {
		return comm.wrong(fn, "%s", why)
	}
	if shares, at, inside := overlap(dst, src); shares && !(inside && held.Count == 1 && at == wanted.Index(held.First)*len(src)) {
		return comm.wrong(fn, "dst, of %d elements, and src, of %d, overlap", len(dst), len(src))
	}
	return nil
}

// lengths explains why the lengths of dst and src do not fit. dst and src are numbers of elements,
// and wanted and held are numbers of blocks of this rank. The result is "" if all blocks have one
// length.
func lengths(dst, src, wanted, held, root int) string {
	switch {
	case wanted == 0 && dst > 0:
		return fmt.Sprintf("dst has %d elements, want none: only the root, rank %d, gets blocks", dst, root)
	case held == 0 && src > 0:
		return fmt.Sprintf("src has %d elements, want none: only the root, rank %d, sends blocks", src, root)
	case wanted == 0 || held == 0 || dst*held == src*wanted && dst%wanted == 0:
		return ""
	case held == 1:
		return fmt.Sprintf("dst has %d elements and src %d, want %d in dst: one block of src's length for each of %d ranks", dst, src, src*wanted, wanted)
	case wanted == 1:
		return fmt.Sprintf("src has %d elements and dst %d, want %d in src: one block of dst's length for each of %d ranks", src, dst, dst*held, held)
	case dst*held != src*wanted:
		return fmt.Sprintf("dst has %d elements in %d blocks and src %d in %d, want blocks of one length", dst, wanted, src, held)
	default:
		return fmt.Sprintf("dst and src have %d elements each, want a multiple of %d: a block for each rank", dst, wanted)
	}
}

// Request is a collective that has been started. It goes on even if no goroutine waits for it.
type Request struct {
	under *runtime.Request
}

// Wait waits until the operation has ended and returns its error. Several goroutines may wait for
// one request, and may wait again. If ctx ends first, only the waiting ends: the operation goes on,
// and the buffers still belong to the communicator. The error then names a rank that is late, as a
// [RankError], if the operation has lasted for longer than Config.Stall.
func (r *Request) Wait(ctx context.Context) error {
	if r == nil || r.under == nil {
		return fmt.Errorf("%w: Wait: the request is nil", ErrInput)
	}
	return public(r.under.Wait(ctx))
}

// Done returns a channel that is closed when the operation has ended. Wait then returns at once.
// While no goroutine is inside a call of the communicator, its background completes the operation,
// though not before Config.Waiting.Idle has passed.
func (r *Request) Done() <-chan struct{} { return r.under.Done() }

// StartBcast starts a [Bcast] and does not wait for it. buf belongs to the communicator until the
// request has ended. The same holds for the other functions that start a collective.
//
// Every rank must start or call the same collectives in the same order. It may wait for requests in
// any order. One rank may start an operation that another rank calls. A few operations run at once.
// Others are queued and begin in their order.
//
// ctx governs the operation, even if no goroutine waits for it: if it ends first, the communicator
// fails at every rank. The context of [Request.Wait] ends only the waiting.
func StartBcast[T any](ctx context.Context, comm *Comm, buf []T, root int) (*Request, error) {
	return whole(ctx, comm, "StartBcast", buf, root).start()
}

// StartScatter starts a [Scatter]; see [StartBcast].
func StartScatter[T any](ctx context.Context, comm *Comm, dst, src []T, root int) (*Request, error) {
	return blocks(ctx, comm, "StartScatter", &scatter, dst, src, root).start()
}

// StartGather starts a [Gather]; see [StartBcast].
func StartGather[T any](ctx context.Context, comm *Comm, dst, src []T, root int) (*Request, error) {
	return blocks(ctx, comm, "StartGather", &gather, dst, src, root).start()
}

// StartAllgather starts an [Allgather]; see [StartBcast].
func StartAllgather[T any](ctx context.Context, comm *Comm, dst, src []T) (*Request, error) {
	return blocks(ctx, comm, "StartAllgather", &allgather, dst, src, 0).start()
}

// StartAlltoall starts an [Alltoall]; see [StartBcast].
func StartAlltoall[T any](ctx context.Context, comm *Comm, dst, src []T) (*Request, error) {
	return blocks(ctx, comm, "StartAlltoall", &alltoall, dst, src, 0).start()
}

// StartScatterv starts a [Scatterv]; see [StartBcast]. counts belongs to the communicator, too.
func StartScatterv[T any](ctx context.Context, comm *Comm, dst, src []T, counts []int, root int) (*Request, error) {
	return counted(ctx, comm, "StartScatterv", &scatter, dst, nil, src, counts, root).start()
}

// StartGatherv starts a [Gatherv]; see [StartBcast]. counts belongs to the communicator, too.
func StartGatherv[T any](ctx context.Context, comm *Comm, dst []T, counts []int, src []T, root int) (*Request, error) {
	return counted(ctx, comm, "StartGatherv", &gather, dst, counts, src, nil, root).start()
}

// StartAllgatherv starts an [Allgatherv]; see [StartBcast]. counts belongs to the communicator,
// too.
func StartAllgatherv[T any](ctx context.Context, comm *Comm, dst []T, counts []int, src []T) (*Request, error) {
	return counted(ctx, comm, "StartAllgatherv", &allgather, dst, counts, src, nil, 0).start()
}

// StartAlltoallv starts an [Alltoallv]; see [StartBcast]. The counts belong to the communicator,
// too.
func StartAlltoallv[T any](ctx context.Context, comm *Comm, dst []T, dstCounts []int, src []T, srcCounts []int) (*Request, error) {
	return counted(ctx, comm, "StartAlltoallv", &alltoall, dst, dstCounts, src, srcCounts, 0).start()
}

// StartBarrier starts a [Barrier]; see [StartBcast]. The request ends when every rank has started
// or called the barrier.
func StartBarrier(ctx context.Context, comm *Comm) (*Request, error) {
	return nothing(ctx, comm, "StartBarrier").start()
}
