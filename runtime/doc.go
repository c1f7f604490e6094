// Package runtime executes schedules: broadcasts, barriers and rootless
// messages among the ranks of a communicator.
//
// # Read this first
//
// A context that ends during a collective call, or has ended before it, ends the communicator at
// every rank, for good: this call and all later ones fail everywhere. One rank cannot leave an
// operation alone, since the others wait for what it would have sent. So:
//
//   - Give [Comm.Bcast], [Comm.Barrier], [Comm.Split] and the starts of operations a context that ends
//     only when the job is to end.
//   - To wait for a limited time, start the operation with [Comm.StartBcast] or [Comm.StartBarrier] under
//     such a context, and give the short one to [Request.Wait]. Its end ends the waiting alone.
//   - The contexts of [Comm.Publish], [Comm.Flush], [Comm.Next], [Comm.Messages], [Comm.Agree] and
//     [Comm.Shrink] end the waiting alone, too.
//   - To go on after such an end, all ranks call [Comm.Shrink].
//
// When a process dies, its launcher decides whether the others live on to call Shrink:
//
//	mpirun of Open MPI          ends all ranks; with --enable-recovery (version 4) the others live on
//	mpirun of MPICH             ends all ranks; none of its flags keeps them reliably
//	sh -c './program || true'   under either mpirun: the others live on, since mpirun sees no death
//
// The program examples/survive goes on without a rank that was killed, and its test runs it under both. For other
// launchers see their manuals: srun has --kill-on-bad-exit, and torchrun starts all ranks anew.
//
// # How it works
//
// A schedule (package schedule) has decided everything; the runtime counts
// down and puts. The machine (package runtime/machine) holds the slots and rules
// of one operation. The core (package runtime/core) is all that one rank decides:
// operation numbers, deadlines, repairs, membership and errors. Both are pure.
// A [Comm] has a core, and a driver that has the lock, the contexts and the
// waiting; its clock and its transport are given to it. A transport moves frames
// (package runtime/wire): over memory (runtime/mem), shared memory (runtime/shm),
// TCP (runtime/tcp) or UDP multicast with TCP for what must be reliable
// (runtime/mcast). The environment says which of them to take and where its ranks meet
// (runtime/launch), or the program does.
//
// Config chooses among the algorithms of package schedule; [Comm.Use] takes
// schedules of any origin, read from a file or compiled to Go.
//
// The goroutine inside a call drives everything itself, without handing over
// to another; while no call runs, a background goroutine forwards, answers
// and acknowledges.
//
//	comm, err := runtime.Init(ctx) // as mpirun, srun or torchrun says
//	err = comm.Bcast(ctx, buf, 0)
//	msg, err := comm.BcastBytes(ctx, msg, 0) // only rank 0 knows the length
//	err = comm.Collective(ctx, "allgather", dst, src, 0)
//	err = comm.Do(ctx, runtime.Call{Collective: "gather", …}) // blocks of different lengths, elements
//	err = comm.Barrier(ctx)
//	req, err := comm.StartBcast(ctx, buf, 0) // and req.Wait(ctx), or <-req.Done()
//	err = comm.Publish(ctx, msg)
//	err = comm.Flush(ctx) // until all ranks have what was published
//	for msg, err := range comm.Messages(ctx) { … }
//	half, err := comm.Split(ctx, comm.Rank()%2, comm.Rank())
//	err = half.Barrier(ctx)
//	err = half.Close()
//	err = comm.Close()
//
// [Join] takes a [Config], and in it a transport that the program has made:
//
//	tr, err := tcp.Join(ctx, tcp.Config{Rank: rank, Size: size, Coordinator: "node0:7777"})
//	comm, err := runtime.Join(ctx, runtime.Config{Transport: tr})
//
// # Several communicators
//
// [Comm.Split] and [Comm.Dup] make communicators that share the transport. They are
// apart: operations and rootless messages of one do not wait for those of another, and
// may run at the same time in other goroutines; each multicasts to a group of its own, which other
// ranks do not receive; each fails and is closed by itself, and the transport is closed with the last one.
//
// # Operations at a time
//
// [Comm.StartBcast] and [Comm.StartBarrier] start an operation and return a
// [Request]; [Comm.Bcast] and [Comm.Barrier] start one and wait for it. All ranks
// start the same operations in the same order, which is what matches them. They may
// wait for them in any order, and one rank may wait for each where another starts
// all. Four run at once; more are queued. The context of the start governs
// the operation, that of [Request.Wait] the waiting. While no goroutine is inside a
// call, operations go on in the background, from Config.Waiting.Idle after the last call
// on; a goroutine that waits drives them without delay.
//
// # Flow control
//
// A rank that is late is not overrun. Frames of operations that it has not
// entered stay with their senders, signals of the next few excepted; so
// memory does not grow with how far ranks drift apart, and the caller's buffer
// is the only receive buffer.
//
// # Lifetimes
//
// A buffer is the caller's again when the call that it was given to returns, also
// with an error; what it holds then is undefined if it was to be received into.
// What a communicator keeps for later requests it has copied (Config.Retain).
//
// A call that has waited leaves a registration with its context, so that the
// next one need not make one: the context keeps the communicator in memory until
// a call waits under another context, or until [Comm.Close].
//
// The communicator owns its transport from the call of Join on. Close waits for
// what is still to be sent, as long as some of it is taken every Config.Waiting.Linger; a
// communicator that is never closed keeps its sockets, its memory and a timer.
//
// # Cores
//
// A call that waits polls, and hands its core to other processes between looks. Where there
// are more ranks than cores each process should have one place for Go code, GOMAXPROCS=1:
// else Go moves the goroutine that polls to another thread every 10 ms, for whose turn the
// rank waits.
//
// # Seen from outside
//
// [Comm.State] says where a communicator stands: which operations are open, what they
// lack, and from whom. [Observe] in Config takes a logger, for joins, losses, failures and
// closes, and a hook that is told what operations do. Package runtime/status makes a page,
// JSON and metrics of the one, and package runtime/perfetto a trace of the other.
//
// # Errors
//
// An operation cannot fail at one rank alone: if it cannot be completed, the
// communicator fails, tells all ranks why, and every call returns that error
// from then on. errors.Is gives the same at all ranks, and errors.As with a
// [RankError] the same rank: who is lost, has left, is late, or differs from whom has
// found it out. At those that were told, the error is [ErrAborted] too. Only the
// program's own causes of contexts are told in words alone. A mismatch names two ranks and
// what each has called, in the same words everywhere.
//
// When ranks are lost, the survivors agree on the list of lost ranks before any of their calls
// returns. All get a [LostError] with the same list. It also says whether all survivors have the
// same rootless messages of the lost ranks. [Comm.Shrink] makes a communicator of the survivors, and
// [Comm.Agree] has them agree on flags. A process may be stopped, taken for lost, and go on later: it
// then gets an error about itself, [ErrPeerLost], and cannot agree or shrink.
//
// A call that is refused ([ErrInput], as for a nil context, or [ErrBusy]) does nothing and does not
// count as one of the operations that all ranks call in the same order. If one rank alone is refused
// its call, it can call again, correctly, and nothing is lost. If it does not, the others wait for it.
// After Config.Stall they ask, and the rank then has one second more, or Config.Stall if that is
// longer. After that the communicator fails at every rank: [ErrMismatch], in the words of the refusal,
// such as "rank 2 has refused operation 7: gather: dst has 10 bytes, which are not 3 blocks of one
// length". If Config.Stall is negative nobody asks, and the others wait until the rank calls again or
// closes the communicator. A context that has ended before the call is no refusal: the communicator
// fails.
//
// See the Err variables and [OpError].
//
// The package's name hides the standard one; import that as goruntime.
package runtime
