// Package runtime executes schedules: it runs collective operations, such as broadcasts, barriers
// and allreduces, and carries rootless messages among the ranks of a communicator.
//
// # Read this first
//
// If a context ends before or during a collective call, the communicator fails at every rank, for
// good: this call and all later calls fail everywhere. One rank cannot leave an operation alone,
// since the other ranks wait for its frames. So:
//
//   - Give [Comm.Bcast], [Comm.Barrier], [Comm.Split] and the starts of operations a context that
//     ends only when the job is to end.
//   - To wait for a limited time, start the operation with [Comm.StartBcast] or [Comm.StartBarrier]
//     under such a context, and give [Request.Wait] the short context. If the short context ends,
//     only the wait ends.
//   - The contexts of [Comm.Publish], [Comm.Flush], [Comm.Next], [Comm.Messages], [Comm.Agree] and
//     [Comm.Shrink] also end only the wait.
//   - To go on after a communicator has failed, all ranks call [Comm.Shrink].
//
// When a process dies, its launcher decides whether the others live on to call Shrink:
//
//	mpirun of Open MPI          ends all ranks; with --enable-recovery (version 4) the others live on
//	mpirun of MPICH             ends all ranks; no flag keeps them reliably
//	sh -c './program || true'   under either mpirun: the others live on, since mpirun sees no death
//
// The program examples/survive goes on without a rank that was killed; its test runs it under both
// launchers. For other launchers see their manuals: srun has --kill-on-bad-exit, and torchrun
// starts all ranks anew.
//
// # How it works
//
// A schedule (package schedule) lists every step in advance; the runtime counts arrivals and puts
// chunks. The machine (package runtime/machine) holds the slots and rules of one operation. The
// core (package internal/core) makes all decisions of one rank: operation numbers, deadlines,
// repairs, membership and errors. Both are pure. A [Comm] has a core, and a driver that holds the
// lock, the contexts and the waiting; the driver gets its clock and its transport from outside. A
// transport moves frames (package runtime/wire): over memory (runtime/mem), shared memory
// (runtime/shm), TCP (runtime/tcp), or UDP multicast with TCP for reliable frames (runtime/mcast).
// The program chooses the transport and the place where ranks meet, or the environment does
// (internal/meet/launch).
//
// Package runtime imports internal/core, schedule and verify. Transports are given to it.
//
// Config chooses among the algorithms of package schedule. [Comm.Use] takes any other schedule,
// read from a file or compiled to Go.
//
// The goroutine inside a call drives everything itself and hands over to no other goroutine. While
// no call runs, a background goroutine forwards, answers and acknowledges.
//
//	comm, err := runtime.Init(ctx) // as mpirun, srun or torchrun says
//	err = comm.Bcast(ctx, buf, 0)
//	msg, err := comm.BcastBytes(ctx, msg, 0) // only rank 0 knows the length
//	values, err := comm.AllgatherBytes(ctx, value) // each rank knows the length of its own
//	err = comm.Collective(ctx, "allgather", dst, src, 0)
//	err = comm.Do(ctx, runtime.Call{Collective: "gather", …}) // blocks of different lengths, elements
//	err = comm.Barrier(ctx)
//	req, err := comm.StartBcast(ctx, buf, 0) // and req.Wait(ctx), or <-req.Done()
//	p, err := comm.Prepare(ctx, runtime.Call{Collective: "allreduce", …})
//	err = p.Do(ctx) // or p.Start(ctx) and p.Wait(ctx), any number of times
//	err = comm.Publish(ctx, msg)
//	err = comm.Flush(ctx) // until all ranks have what was published
//	for msg, err := range comm.Messages(ctx) { … }
//	err = comm.Answers(runtime.Answering{Fold: sum, Answer: func(q runtime.Message) []byte { … }})
//	all, err := comm.Ask(ctx, question)           // the answers of all ranks, folded
//	half, err := comm.Split(ctx, comm.Rank()%2, comm.Rank())
//	err = half.Barrier(ctx)
//	err = half.Close()
//	err = comm.Close()
//
// [Join] takes a [Config], which may hold a transport that the program has made:
//
//	tr, err := tcp.Join(ctx, tcp.Config{Rank: rank, Size: size, Coordinator: "node0:7777"})
//	comm, err := runtime.Join(ctx, runtime.Config{Transport: tr})
//
// # Several communicators
//
// [Comm.Split] and [Comm.Dup] make communicators that share the transport. Communicators are
// independent. Operations and rootless messages of one communicator do not wait for those of
// another, and may run at the same time in other goroutines. Each communicator multicasts to a
// group of its own, which ranks outside it do not receive. Each fails and is closed by itself. The
// last communicator closes the transport.
//
// # Operations at a time
//
// [Comm.StartBcast] and [Comm.StartBarrier] start an operation and return a [Request]. [Comm.Bcast]
// and [Comm.Barrier] start an operation and wait for it. All ranks must start the same operations
// in the same order: the order alone matches the operations of different ranks. Ranks may wait in
// any order, and one rank may wait for each operation where another rank starts them all first.
// Four operations run at once; further ones are queued. The context of the start governs the
// operation; the context of [Request.Wait] governs the wait. While no goroutine is inside a call,
// operations go on in the background, from Config.Waiting.Idle after the last call. A goroutine
// that waits drives them without delay.
//
// A call finds its plan, a schedule compiled for this rank, and runs it on its buffers.
// [Comm.Prepare] finds the plan once, and makes sure that all ranks have prepared the same call. A
// start of a [Prepared] then only runs the plan. Config.Prepare names plans to compile when the
// communicator is made.
//
// # Flow control
//
// Ranks do not overrun a late rank. Frames of an operation that the receiver has not entered stay
// with their senders, except signals of the next few operations. So memory does not grow when ranks
// drift apart, and the caller's buffer is the only receive buffer.
//
// # Lifetimes
//
// When a call returns, also with an error, its buffers belong to the caller again. After an error
// the content of a receive buffer is undefined. The communicator copies what it keeps for later
// requests (Config.Retain).
//
// A call that has waited leaves a registration with its context, so that the next call need not
// make one. The context keeps the communicator in memory until a call waits under another context,
// or until [Comm.Close].
//
// The communicator owns its transport from the call of Join on. Close waits until everything has
// been sent, and gives up when the transport takes nothing for Config.Waiting.Linger. A
// communicator that is never closed keeps its sockets, its memory and a timer.
//
// # Cores
//
// A call that waits polls, and hands its core to other processes between polls. Where there are
// more ranks than cores, run each process with GOMAXPROCS=1. Otherwise Go moves the polling
// goroutine to another thread every 10 ms, and the rank waits until that thread runs.
//
// # Seen from outside
//
// [Comm.State] says which operations are open, which slots they lack, and which ranks they wait
// for. [Observe] in Config takes a logger for joins, losses, failures and closes, and a hook that
// gets each event of an operation. Package runtime/status makes a page, JSON and metrics of the
// state. Package runtime/perfetto makes a trace of the events.
//
// # Errors
//
// An operation cannot fail at one rank alone. If an operation cannot be completed, the communicator
// fails and tells all ranks why, and every later call returns that error. errors.Is gives the same
// result at all ranks, and errors.As with a [RankError] gives the same rank: the rank that is lost,
// has left, is late, or has called something other than the rank that noticed it. At the ranks that
// were told, the error is also [ErrAborted]. Only a cause that the program has given to a context
// reaches the other ranks as text alone. A mismatch names two ranks and the call of each, in the
// same words everywhere.
//
// When ranks are lost, the survivors agree on the list of lost ranks before any of their calls
// returns. All get a [LostError] with the same list. It also says whether all survivors have the
// same rootless messages of the lost ranks. [Comm.Shrink] makes a communicator of the survivors,
// and [Comm.Agree] has them agree on flags. A process may be stopped, taken for lost, and go on
// later. Such a process gets an error about itself, [ErrPeerLost], and cannot agree or shrink.
//
// A refused call ([ErrInput], as for a nil context, or [ErrBusy]) does nothing and does not count
// as one of the operations that all ranks call in the same order. If one rank alone is refused its
// call, it can call again, correctly, and nothing is lost. If it does not call again, the others
// wait for it. After Config.Stall they ask it, and the rank then has one second more, or
// Config.Stall if that is longer. After that the communicator fails at every rank with
// [ErrMismatch], in the words of the refusal, such as "rank 2 has refused operation 7: gather: dst
// has 10 bytes, which are not 3 blocks of one length". If the rank calls something else instead,
// [ErrMismatch] names that call and the refused one. If Config.Stall is negative, ranks never ask:
// they wait until the rank calls again or closes the communicator. A context that has ended before
// the call is no refusal: the communicator fails.
//
// See the Err variables and [OpError].
//
// The package's name hides the standard package; import that as goruntime.
package runtime
