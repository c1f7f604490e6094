package schedgen

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
)

// Reduce folds buf of all ranks with op, element by element, and puts the result into buf of rank
// root. The other ranks' buf is only read. buf has the same length at all ranks.
func Reduce[T any](ctx context.Context, comm *Comm, buf []T, op Op, root int) error {
	return inPlace(ctx, comm, "Reduce", &reduce, buf, op, root).do()
}

// ReduceTo is [Reduce] with the result in dst of the root. dst has the length of src. At other
// ranks dst is nil.
func ReduceTo[T any](ctx context.Context, comm *Comm, dst, src []T, op Op, root int) error {
	return fromTo(ctx, comm, "ReduceTo", &reduce, dst, src, op, root).do()
}

// Allreduce folds buf of all ranks with op, element by element, and puts the result into buf of
// every rank. buf has the same length at all ranks. All ranks get the same bits.
func Allreduce[T any](ctx context.Context, comm *Comm, buf []T, op Op) error {
	return inPlace(ctx, comm, "Allreduce", &allreduce, buf, op, 0).do()
}

// AllreduceTo is [Allreduce] with the result in dst, which has the length of src. If dst and src
// are the same slice, it is Allreduce.
func AllreduceTo[T any](ctx context.Context, comm *Comm, dst, src []T, op Op) error {
	return fromTo(ctx, comm, "AllreduceTo", &allreduce, dst, src, op, 0).do()
}

// ReduceScatter folds src of all ranks with op, element by element, and gives every rank its block
// of the result: rank r gets elements r·n … r·n+n-1 in dst, where n is the length of dst. With P
// ranks src has P·n elements. n is the same at all ranks.
func ReduceScatter[T any](ctx context.Context, comm *Comm, dst, src []T, op Op) error {
	return fromTo(ctx, comm, "ReduceScatter", &reduceScatter, dst, src, op, 0).do()
}

// ReduceScatterv is [ReduceScatter] with blocks of different lengths: rank r gets counts[r]
// elements of the result. They follow the blocks of the ranks before it. All ranks pass the same
// counts.
func ReduceScatterv[T any](ctx context.Context, comm *Comm, dst, src []T, counts []int, op Op) error {
	return scattered(ctx, comm, "ReduceScatterv", dst, src, counts, op).do()
}

// Scan folds buf of the ranks 0 … r with op, element by element, and puts the result into buf of
// rank r, for every r. buf has the same length at all ranks.
func Scan[T any](ctx context.Context, comm *Comm, buf []T, op Op) error {
	return inPlace(ctx, comm, "Scan", &scan, buf, op, 0).do()
}

// ScanTo is [Scan] with the result in dst, which has the length of src.
func ScanTo[T any](ctx context.Context, comm *Comm, dst, src []T, op Op) error {
	return fromTo(ctx, comm, "ScanTo", &scan, dst, src, op, 0).do()
}

// Exscan folds buf of the ranks 0 … r-1 with op, element by element, and puts the result into buf
// of rank r, for every r but 0. Rank 0 keeps its buf. buf has the same length at all ranks.
func Exscan[T any](ctx context.Context, comm *Comm, buf []T, op Op) error {
	return inPlace(ctx, comm, "Exscan", &exscan, buf, op, 0).do()
}

// ExscanTo is [Exscan] with the result in dst, which has the length of src. Rank 0 keeps its dst.
func ExscanTo[T any](ctx context.Context, comm *Comm, dst, src []T, op Op) error {
	return fromTo(ctx, comm, "ExscanTo", &exscan, dst, src, op, 0).do()
}

// StartReduce starts a [Reduce]; see [StartBcast].
func StartReduce[T any](ctx context.Context, comm *Comm, buf []T, op Op, root int) (*Request, error) {
	return inPlace(ctx, comm, "StartReduce", &reduce, buf, op, root).start()
}

// StartReduceTo starts a [ReduceTo]; see [StartBcast].
func StartReduceTo[T any](ctx context.Context, comm *Comm, dst, src []T, op Op, root int) (*Request, error) {
	return fromTo(ctx, comm, "StartReduceTo", &reduce, dst, src, op, root).start()
}

// StartAllreduce starts an [Allreduce]; see [StartBcast].
func StartAllreduce[T any](ctx context.Context, comm *Comm, buf []T, op Op) (*Request, error) {
	return inPlace(ctx, comm, "StartAllreduce", &allreduce, buf, op, 0).start()
}

// StartAllreduceTo starts an [AllreduceTo]; see [StartBcast].
func StartAllreduceTo[T any](ctx context.Context, comm *Comm, dst, src []T, op Op) (*Request, error) {
	return fromTo(ctx, comm, "StartAllreduceTo", &allreduce, dst, src, op, 0).start()
}

// StartReduceScatter starts a [ReduceScatter]; see [StartBcast].
func StartReduceScatter[T any](ctx context.Context, comm *Comm, dst, src []T, op Op) (*Request, error) {
	return fromTo(ctx, comm, "StartReduceScatter", &reduceScatter, dst, src, op, 0).start()
}

// StartReduceScatterv starts a [ReduceScatterv]; see [StartBcast]. counts belongs to the
// communicator, too.
func StartReduceScatterv[T any](ctx context.Context, comm *Comm, dst, src []T, counts []int, op Op) (*Request, error) {
	return scattered(ctx, comm, "StartReduceScatterv", dst, src, counts, op).start()
}

// StartScan starts a [Scan]; see [StartBcast].
func StartScan[T any](ctx context.Context, comm *Comm, buf []T, op Op) (*Request, error) {
	return inPlace(ctx, comm, "StartScan", &scan, buf, op, 0).start()
}

// StartScanTo starts a [ScanTo]; see [StartBcast].
func StartScanTo[T any](ctx context.Context, comm *Comm, dst, src []T, op Op) (*Request, error) {
	return fromTo(ctx, comm, "StartScanTo", &scan, dst, src, op, 0).start()
}

// StartExscan starts an [Exscan]; see [StartBcast].
func StartExscan[T any](ctx context.Context, comm *Comm, buf []T, op Op) (*Request, error) {
	return inPlace(ctx, comm, "StartExscan", &exscan, buf, op, 0).start()
}

// StartExscanTo starts an [ExscanTo]; see [StartBcast].
func StartExscanTo[T any](ctx context.Context, comm *Comm, dst, src []T, op Op) (*Request, error) {
	return fromTo(ctx, comm, "StartExscanTo", &exscan, dst, src, op, 0).start()
}

// These are the rows of the collectives that fold.
var (
	reduce        = rowOf("reduce")
	allreduce     = rowOf("allreduce")
	reduceScatter = rowOf("reduce-scatter")
	scan          = rowOf("scan")
	exscan        = rowOf("exscan")
)

// inPlace returns the call of a row with one block, which holds this rank's contribution, and its
// result if it gets one. fn is the name of the calling function, here and below.
func inPlace[T any](ctx context.Context, comm *Comm, fn string, row *ir.Collective, buf []T, op Op, root int) call {
	c := folding[T](ctx, comm, fn, row, op, root)
	if c.err != nil {
		return c
	}
	c.of.Src = bytesOf(buf)
	if row.Wanted(comm.under.Size(), root, comm.under.Rank()).Count > 0 {
		c.of.Dst = c.of.Src
	}
	return c
}

// fromTo returns the call of a row with two buffers.
func fromTo[T any](ctx context.Context, comm *Comm, fn string, row *ir.Collective, dst, src []T, op Op, root int) call {
	c := folding[T](ctx, comm, fn, row, op, root)
	if c.err != nil {
		return c
	}
	size := comm.under.Size()
	wanted, inputs := row.Wanted(size, root, comm.under.Rank()).Count, row.Inputs(size)
	why := ""
	switch {
	case wanted == 0 && row.Rooted && len(dst) > 0:
		why = fmt.Sprintf("dst has %d elements, want none: only the root, rank %d, gets the result", len(dst), root)
	case wanted == 0 && !row.Rooted && len(dst) != len(src), wanted > 0 && inputs == 1 && len(dst) != len(src):
		why = fmt.Sprintf("dst has %d elements and src %d, want as many in dst", len(dst), len(src))
	case wanted > 0 && len(dst)*inputs != len(src):
		why = fmt.Sprintf("src has %d elements and dst %d, want %d in src: one block of dst's length for each of %d ranks", len(src), len(dst), len(dst)*inputs, inputs)
	}
	if shares, at, _ := overlap(dst, src); why == "" && shares && !(inputs == 1 && at == 0) {
		why = fmt.Sprintf("dst, of %d elements, and src, of %d, overlap", len(dst), len(src))
	}
	if why != "" {
		return call{err: comm.wrong(fn, "%s", why)}
	}
	c.of.Src = bytesOf(src)
	if wanted > 0 {
		c.of.Dst = bytesOf(dst)
	}
	return c
}

// scattered returns the call of a reduce-scatter with blocks of different lengths.
func scattered[T any](ctx context.Context, comm *Comm, fn string, dst, src []T, counts []int, op Op) call {
	c := folding[T](ctx, comm, fn, &reduceScatter, op, 0)
	if c.err != nil {
		return c
	}
	rank, size := comm.under.Rank(), comm.under.Size()
	if len(counts) != size || counts[rank] != len(dst) {
		return call{err: comm.wrong(fn, "counts is %v, want %d of them with %d, the length of dst, at place %d",
			counts[:min(len(counts), maxNamed)], size, len(dst), rank)}
	}
	if shares, _, _ := overlap(dst, src); shares {
		return call{err: comm.wrong(fn, "dst, of %d elements, and src, of %d, overlap", len(dst), len(src))}
	}
	c.of.Dst, c.of.Src, c.of.Counted, c.of.SrcCounts = bytesOf(dst), bytesOf(src), true, counts
	return c
}

// folding checks what all calls that fold have, and returns a call without buffers.
func folding[T any](ctx context.Context, comm *Comm, fn string, row *ir.Collective, op Op, root int) call {
	if err := checkCall[T](ctx, comm, fn, root); err != nil {
		return call{err: err}
	}
	f, err := foldFor[T](comm, op)
	if err != nil {
		return call{err: comm.wrong(fn, "%v", err)}
	}
	return call{ctx: ctx, comm: comm, of: runtime.Call{Name: fn, Collective: row.Name, Root: root, Fold: f}}
}
