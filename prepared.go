package schedgen

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/runtime"
)

// Prepared is a collective that can be started any number of times, on the same buffers. Functions
// such as [PrepareAllreduce] make it. The schedule is then compiled, and all ranks have agreed on
// the call. A start looks nothing up, and after the first few starts allocates nothing.
//
// A start counts as one of the collectives that all ranks call in the same order. Fill the buffers
// before a start, and read them when Wait or Do has returned. One goroutine at a time uses a
// Prepared. Nothing must be given back. After the communicator has failed or is closed, also by
// [Comm.Shrink], every start returns its error: prepare anew with the communicator that Shrink has
// made.
type Prepared struct {
	comm  *Comm
	under *runtime.Prepared
	name  string // of the function that has prepared it
}

// Start starts the collective and does not wait for it. The buffers belong to the communicator
// until Wait has returned. A start before that is ErrBusy, even if the collective has ended.
//
// ctx governs the operation, as for [StartBcast]. Starts under one context, or under one that never
// ends, do not allocate.
func (p *Prepared) Start(ctx context.Context) error {
	if err := p.missing("Start"); err != nil {
		return err
	}
	return p.comm.ended(p.name, p.under.Start(ctx))
}

// Wait waits until the last start has ended and returns its error. It returns nil before the first
// start. If ctx ends first, only the waiting ends, as for [Request.Wait].
func (p *Prepared) Wait(ctx context.Context) error {
	if err := p.missing("Wait"); err != nil {
		return err
	}
	return public(p.under.Wait(ctx))
}

// Do starts the collective and waits until it has ended. It is quicker than Start and Wait. If ctx
// ends, the communicator fails at every rank.
func (p *Prepared) Do(ctx context.Context) error {
	if err := p.missing("Do"); err != nil {
		return err
	}
	return p.comm.ended(p.name, p.under.Do(ctx))
}

// Done returns a channel that is closed when the last start has ended, like [Request.Done]. Then
// call Wait, which returns at once.
func (p *Prepared) Done() <-chan struct{} { return p.under.Done() }

// missing returns an error for method fn if there is no prepared collective.
func (p *Prepared) missing(fn string) error {
	if p == nil || p.under == nil {
		return fmt.Errorf("%w: %s: the prepared collective is nil", ErrInput, fn)
	}
	return nil
}

// PrepareBcast prepares a [Bcast]. Every rank must call it, between the same collectives. If ranks
// differ in the collective, or in its root, length, counts, element or operation, all get
// ErrMismatch here, and the communicator has failed. A wrong argument is ErrInput, as for Bcast.
// The same holds for the other functions that prepare a collective.
//
// Preparing takes as long as a barrier, or twice as long with counts that not all ranks know. It
// copies counts. If ctx ends before PrepareBcast returns, the communicator fails at every rank.
func PrepareBcast[T any](ctx context.Context, comm *Comm, buf []T, root int) (*Prepared, error) {
	return whole(ctx, comm, "PrepareBcast", buf, root).prepare()
}

// PrepareScatter prepares a [Scatter]; see [PrepareBcast].
func PrepareScatter[T any](ctx context.Context, comm *Comm, dst, src []T, root int) (*Prepared, error) {
	return blocks(ctx, comm, "PrepareScatter", &scatter, dst, src, root).prepare()
}

// PrepareGather prepares a [Gather]; see [PrepareBcast].
func PrepareGather[T any](ctx context.Context, comm *Comm, dst, src []T, root int) (*Prepared, error) {
	return blocks(ctx, comm, "PrepareGather", &gather, dst, src, root).prepare()
}

// PrepareAllgather prepares an [Allgather]; see [PrepareBcast].
func PrepareAllgather[T any](ctx context.Context, comm *Comm, dst, src []T) (*Prepared, error) {
	return blocks(ctx, comm, "PrepareAllgather", &allgather, dst, src, 0).prepare()
}

// PrepareAlltoall prepares an [Alltoall]; see [PrepareBcast].
func PrepareAlltoall[T any](ctx context.Context, comm *Comm, dst, src []T) (*Prepared, error) {
	return blocks(ctx, comm, "PrepareAlltoall", &alltoall, dst, src, 0).prepare()
}

// PrepareScatterv prepares a [Scatterv]; see [PrepareBcast].
func PrepareScatterv[T any](ctx context.Context, comm *Comm, dst, src []T, counts []int, root int) (*Prepared, error) {
	return counted(ctx, comm, "PrepareScatterv", &scatter, dst, nil, src, counts, root).prepare()
}

// PrepareGatherv prepares a [Gatherv]; see [PrepareBcast].
func PrepareGatherv[T any](ctx context.Context, comm *Comm, dst []T, counts []int, src []T, root int) (*Prepared, error) {
	return counted(ctx, comm, "PrepareGatherv", &gather, dst, counts, src, nil, root).prepare()
}

// PrepareAllgatherv prepares an [Allgatherv]; see [PrepareBcast].
func PrepareAllgatherv[T any](ctx context.Context, comm *Comm, dst []T, counts []int, src []T) (*Prepared, error) {
	return counted(ctx, comm, "PrepareAllgatherv", &allgather, dst, counts, src, nil, 0).prepare()
}

// PrepareAlltoallv prepares an [Alltoallv]; see [PrepareBcast].
func PrepareAlltoallv[T any](ctx context.Context, comm *Comm, dst []T, dstCounts []int, src []T, srcCounts []int) (*Prepared, error) {
	return counted(ctx, comm, "PrepareAlltoallv", &alltoall, dst, dstCounts, src, srcCounts, 0).prepare()
}

// PrepareBarrier prepares a [Barrier]; see [PrepareBcast].
func PrepareBarrier(ctx context.Context, comm *Comm) (*Prepared, error) {
	return nothing(ctx, comm, "PrepareBarrier").prepare()
}

// PrepareReduce prepares a [Reduce]; see [PrepareBcast].
func PrepareReduce[T any](ctx context.Context, comm *Comm, buf []T, op Op, root int) (*Prepared, error) {
	return inPlace(ctx, comm, "PrepareReduce", &reduce, buf, op, root).prepare()
}

// PrepareReduceTo prepares a [ReduceTo]; see [PrepareBcast].
func PrepareReduceTo[T any](ctx context.Context, comm *Comm, dst, src []T, op Op, root int) (*Prepared, error) {
	return fromTo(ctx, comm, "PrepareReduceTo", &reduce, dst, src, op, root).prepare()
}

// PrepareAllreduce prepares an [Allreduce]; see [PrepareBcast].
func PrepareAllreduce[T any](ctx context.Context, comm *Comm, buf []T, op Op) (*Prepared, error) {
	return inPlace(ctx, comm, "PrepareAllreduce", &allreduce, buf, op, 0).prepare()
}

// PrepareAllreduceTo prepares an [AllreduceTo]; see [PrepareBcast].
func PrepareAllreduceTo[T any](ctx context.Context, comm *Comm, dst, src []T, op Op) (*Prepared, error) {
	return fromTo(ctx, comm, "PrepareAllreduceTo", &allreduce, dst, src, op, 0).prepare()
}

// PrepareReduceScatter prepares a [ReduceScatter]; see [PrepareBcast].
func PrepareReduceScatter[T any](ctx context.Context, comm *Comm, dst, src []T, op Op) (*Prepared, error) {
	return fromTo(ctx, comm, "PrepareReduceScatter", &reduceScatter, dst, src, op, 0).prepare()
}

// PrepareReduceScatterv prepares a [ReduceScatterv]; see [PrepareBcast].
func PrepareReduceScatterv[T any](ctx context.Context, comm *Comm, dst, src []T, counts []int, op Op) (*Prepared, error) {
	return scattered(ctx, comm, "PrepareReduceScatterv", dst, src, counts, op).prepare()
}

// PrepareScan prepares a [Scan]; see [PrepareBcast].
func PrepareScan[T any](ctx context.Context, comm *Comm, buf []T, op Op) (*Prepared, error) {
	return inPlace(ctx, comm, "PrepareScan", &scan, buf, op, 0).prepare()
}

// PrepareScanTo prepares a [ScanTo]; see [PrepareBcast].
func PrepareScanTo[T any](ctx context.Context, comm *Comm, dst, src []T, op Op) (*Prepared, error) {
	return fromTo(ctx, comm, "PrepareScanTo", &scan, dst, src, op, 0).prepare()
}

// PrepareExscan prepares an [Exscan]; see [PrepareBcast].
func PrepareExscan[T any](ctx context.Context, comm *Comm, buf []T, op Op) (*Prepared, error) {
	return inPlace(ctx, comm, "PrepareExscan", &exscan, buf, op, 0).prepare()
}

// PrepareExscanTo prepares an [ExscanTo]; see [PrepareBcast].
func PrepareExscanTo[T any](ctx context.Context, comm *Comm, dst, src []T, op Op) (*Prepared, error) {
	return fromTo(ctx, comm, "PrepareExscanTo", &exscan, dst, src, op, 0).prepare()
}
