// Package schedgen moves data among the processes of a parallel program and folds it. It has
// broadcasts, gathers, transposes, sums, scans and barriers, of values of any type without
// pointers.
//
// The processes of a program are its ranks, 0 … P-1. All of them run the same code:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/schedgen/schedgen"
//	)
//
//	func main() {
//		ctx := context.Background()
//		comm, err := schedgen.Init(ctx)
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer comm.Close()
//
//		params := make([]float64, 1000)
//		if comm.Rank() == 0 {
//			params[0] = 0.5
//		}
//		if err := schedgen.Bcast(ctx, comm, params, 0); err != nil {
//			log.Fatal(err) // without an error all ranks have rank 0's params
//		}
//
//		mine := []float64{params[0] * float64(comm.Rank())}
//		all := make([]float64, comm.Size())
//		if err := schedgen.Allgather(ctx, comm, all, mine); err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(comm.Rank(), "of", comm.Size(), "has", all)
//	}
//
// A launcher starts the ranks, and Init finds them:
//
//	mpirun -n 4 ./program
//	srun -n 4 ./program
//	SCHEDGEN_RANK=0 SCHEDGEN_SIZE=2 SCHEDGEN_COORDINATOR=host:7000 ./program
//
// Without any of these, a program is rank 0 of 1.
//
// # Collectives
//
// The functions are collectives. Every rank calls the same ones in the same order, with the same
// type, root and lengths. P is the number of ranks, and n is the number of elements of a block:
//
//	                                    src has                     dst gets
//	Bcast(ctx, comm, buf, root)         buf of the root             buf of every other rank
//	Scatter(ctx, comm, dst, src, root)  P·n at the root, else nil   n: the block of this rank
//	Gather(ctx, comm, dst, src, root)   n                           P·n at the root, else nil
//	Allgather(ctx, comm, dst, src)      n                           P·n
//	Alltoall(ctx, comm, dst, src)       P·n                         P·n: block i is from rank i
//	Barrier(ctx, comm)                  nothing                     nothing
//
// Blocks lie in the order of ranks: block i of a Gather's dst is rank i's src. Lengths are numbers
// of elements and may be 0.
//
// Values whose length only the sender knows, such as encoded objects, go as bytes. Each has at most
// Config.MaxBcast bytes. The results have the values by rank:
//
//	BcastBytes(ctx, comm, buf, root)        buf of the root, at every rank
//	GatherBytes(ctx, comm, value, root)     the values of all ranks, at the root
//	AllgatherBytes(ctx, comm, value)        the values of all ranks
//	AlltoallBytes(ctx, comm, values)        values[r] goes to rank r
//	ScatterBytes(ctx, comm, values, root)   values[r] of the root goes to rank r
//
// There is no Send and no Recv, because a schedule says in advance who sends to whom: use
// AlltoallBytes where all ranks take part, [Bcast] in a communicator of two ranks that [Comm.Split]
// has made, or [Comm.Publish] where nobody expects the message.
//
// Four of them have a second form, for blocks of different lengths. counts has the length of each
// rank's block. Blocks lie in the order of ranks, without gaps:
//
//	Scatterv(ctx, comm, dst, src, counts, root)             src and counts at the root, else nil
//	Gatherv(ctx, comm, dst, counts, src, root)              dst and counts at the root, else nil
//	Allgatherv(ctx, comm, dst, counts, src)                 the same counts at all ranks
//	Alltoallv(ctx, comm, dst, dstCounts, src, srcCounts)    what this rank gets from each, and sends to each
//
// If two ranks differ in the length of a block, or in the operation that folds it, all ranks fail
// with [ErrMismatch]. The error says what each of the two ranks has passed. Where elements only
// move, ranks compare the size of an element, and not its type.
//
// dst and src must not overlap, with one exception. If src is one block, it may be its own block in
// dst, as in Allgather(ctx, comm, all, all[rank*n:][:n]). So dst and src may be the same slice
// where both are one block, as in AllreduceTo(ctx, comm, buf, buf, op).
//
// An element may be a number, a bool, an array or a struct of these. It may have any type that has
// no pointers, and so no strings, slices, maps or interfaces. Elements travel as they lie in
// memory. So all ranks must be built for the same architecture.
//
// # Folding
//
// Five functions fold the contributions of all ranks, element by element, with an operation such as
// [Sum]:
//
//	                                        the result
//	Reduce(ctx, comm, buf, op, root)        in buf of the root; the others keep theirs
//	Allreduce(ctx, comm, buf, op)           in buf of every rank
//	ReduceScatter(ctx, comm, dst, src, op)  block r of n elements in dst of rank r; src has P·n
//	Scan(ctx, comm, buf, op)                in buf of rank r: that of ranks 0 … r
//	Exscan(ctx, comm, buf, op)              in buf of rank r: that of ranks 0 … r-1; rank 0 keeps its buf
//
// [ReduceScatterv] is ReduceScatter for blocks of different lengths: rank r gets counts[r] elements
// of the result. All ranks pass the same counts.
//
// Functions with buf work in place. [ReduceTo], [AllreduceTo], [ScanTo] and [ExscanTo] take dst and
// src of one length, and leave src as it is, unless dst is src. For ReduceTo, only the root has a
// dst. It is nil at the other ranks.
//
//	Sum, Prod        numbers
//	Min, Max         numbers that have an order: not complex ones
//	And, Or, Xor     bools, and integers bit by bit
//	LAnd, LOr, LXor  bools, and integers, where 0 is false and all else true
//	MinLoc, MaxLoc   Loc: a value, and the index of where it is
//
// [Func] makes an operation from a function, for elements of any other type:
//
//	type span struct{ First, Last float64 }
//
//	var join = schedgen.Func("join", true, func(dst, src []span) {
//		for i, s := range src { // dst[i] is the left operand, and then the result
//			dst[i] = span{min(dst[i].First, s.First), max(dst[i].Last, s.Last)}
//		}
//	})
//
// The function must be associative: (a·b)·c is a·(b·c). If it also commutes, a·b is b·a, say true:
// more algorithms then fit. Otherwise contributions are folded in the order of ranks, except by
// [Ask]. Make an operation once, as a variable of the package: a communicator keeps its
// preparations for it.
//
// Floating-point numbers are rounded, so a sum depends on its brackets. All ranks get the same
// bits, and a second run of the same program gets them again: the schedule fixes the brackets,
// never the order in which messages arrive. The length, the number of ranks and their hosts may
// change the schedule. With [Config.Reproducible] only the number of ranks changes the brackets.
// See docs/reproducible.md.
//
// Exact sums are rounded once. So nothing changes their bits, not even the number of ranks:
//
//	sum, err := schedgen.ExactSum(ctx, comm, x)    one number: of all elements of all ranks
//	dot, err := schedgen.ExactDot(ctx, comm, x, y) likewise, of the products
//	err := schedgen.AllreduceExact(ctx, comm, buf) each element, as Allreduce with Sum
//
// An [Exact] is such a sum before it is rounded. A program adds to it, and Sum folds it in all of
// the functions above.
//
// # Several operations at a time
//
// [StartBcast], [StartAllreduce] and so on start an operation and return a [Request]. The buffers
// belong to the communicator until the request has ended. Meanwhile the program may compute or
// start further operations. Then it calls [Request.Wait].
//
// [Comm.Split] and [Comm.Dup] make communicators with independent operations.
//
// # The same operation many times
//
// [PrepareBcast], [PrepareAllreduce] and so on check a call once, compare it at all ranks, and
// compile its schedule. The result is a [Prepared]. Each start runs the operation on the same
// buffers, looks nothing up and allocates nothing:
//
//	sum, err := schedgen.PrepareAllreduce(ctx, comm, buf, schedgen.Sum) // at all ranks
//	for range steps {
//		compute(buf)
//		err = sum.Do(ctx) // or sum.Start(ctx), other work, sum.Wait(ctx)
//	}
//
// If ranks differ in the call, all get [ErrMismatch] where they prepare it. [Config.Prepare] names
// operations to compile when the communicator is made, so that their first call is as quick as
// later ones.
//
// # Messages that nobody expects
//
// Any rank may send a message to all others at any time with [Comm.Publish]. They receive it with
// [Comm.Next] or in a loop over [Comm.Messages]:
//
//	for msg, err := range comm.Messages(ctx) { … }
//
// # Questions that nobody expects
//
// Any rank may ask all ranks a question at any time with [Ask]. Each rank says once, with [Answer],
// how it answers. The answers are folded on their way back, and all ranks may learn the result:
//
//	err := schedgen.Answer(comm, schedgen.And, func(q schedgen.Message) []bool { return []bool{ready()} })
//	err = schedgen.Barrier(ctx, comm)                        // all ranks answer now
//	all, err := schedgen.Ask[bool](ctx, comm, []byte("go?")) // any rank, at any time
//
// Ranks vote with And, count with Sum, and find the one with the least load with MinLoc. If a rank
// cannot answer, has left or dies, the error is an [AskError] that names it and says whose answers
// are in.
//
// # Contexts
//
// A rank cannot leave a collective alone, because others wait for its messages. So if the context
// of a collective or of its Start function ends, the communicator fails at every rank, for good.
// Give collectives a context that ends only when the job is to end. To wait for a limited time,
// start the operation with such a context, and give the short one to Request.Wait. There it ends
// only the waiting. The contexts of Publish, Next, Messages, Flush, Ask, Agree and Shrink also end
// only the waiting.
//
// # Errors
//
// Errors wrap one of the Err variables. A call that is refused, with [ErrInput] or [ErrBusy], has
// done nothing at this rank and does not count as one of the collectives that all ranks call. Any
// other failure of a collective is a failure of the communicator: all ranks get an error that says
// the same, and every later call returns it again. For the Err variables and the types of errors,
// [errors.Is] and [errors.As] give the same at all ranks, with one exception. [ErrAborted] says
// that this rank has heard of the failure from another rank, so it differs between ranks. Do not
// branch on it.
//
// If ranks are lost, the survivors get a [LostError] with the same list of ranks. They may continue
// with the communicator that [Comm.Shrink] makes:
//
//	var lost *schedgen.LostError
//	if errors.As(err, &lost) {
//		next, err := comm.Shrink(ctx) // of the ranks that are left
//		if err != nil {
//			return err // comm is still there: if ctx has ended, Shrink can be called again
//		}
//		comm = next
//	}
//
// If a network is cut, each part may go on in this way. With [Config.Quorum] only one does.
//
// A rank that panics runs its deferred functions first. If one of them closes the communicator, the
// others see a rank that leaves: they get [ErrPeerLeft], not a LostError. To recover from both,
// test for both. Shrink then makes a communicator without the ranks that have left or are lost:
//
//	if errors.Is(err, schedgen.ErrPeerLost) || errors.Is(err, schedgen.ErrPeerLeft) {
//		next, err := comm.Shrink(ctx)
//		…
//	}
//
// # Tests
//
// Package local runs ranks as goroutines of a test, without a launcher. Messages between them may
// be lost and delayed, and ranks may die:
//
//	err := local.Run(t.Context(), 5, func(ctx context.Context, comm *schedgen.Comm) error {
//		return step(ctx, comm)
//	})
//
// # Below
//
// Package schedgen imports schedule, which has the algorithms, and runtime, which moves bytes by
// them. [Config] chooses transports and algorithms for [Join]. [Comm.Runtime] and [Wrap] convert
// between communicators of the two packages. The errors of this package wrap those of package
// runtime, and [errors.As] finds the types of both.
package schedgen
