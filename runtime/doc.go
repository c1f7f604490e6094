// Package runtime executes schedules: broadcasts, barriers and rootless
// messages among the ranks of a communicator.
//
// A schedule (package schedule) has decided everything; the runtime counts
// down and puts. The machine (package runtime/machine) holds the slots and rules
// of one operation. The core (package runtime/core) is all that one rank decides:
// operation numbers, deadlines, repairs, membership and errors. Both are pure.
// A [Comm] has a core, and a driver that has the lock, the contexts and the
// waiting; its clock and its transport are given to it. A transport moves frames
// (package runtime/wire): over memory (runtime/mem), shared memory (runtime/shm),
// TCP (runtime/tcp) or UDP multicast with TCP for what must be reliable
// (runtime/mcast).
//
// Config chooses among the algorithms of package schedule; [Comm.Use] takes
// schedules of any origin, read from a file or compiled to Go.
//
// The goroutine inside a call drives everything itself, without handing over
// to another; while no call runs, a background goroutine forwards, answers
// and acknowledges.
//
//	tr, err := tcp.Join(ctx, tcp.Config{Rank: rank, Size: size, Coordinator: "node0:7777"})
//	comm, err := runtime.Join(ctx, runtime.Config{Transport: tr})
//	err = comm.Bcast(ctx, buf, 0)
//	err = comm.Barrier(ctx)
//	err = comm.Publish(ctx, msg)
//	for msg, err := range comm.Messages(ctx) { … }
//	err = comm.Close()
//
// # Flow control
//
// A rank that is late is not overrun. Frames of operations that it has not
// entered stay with their senders, signals of the next few excepted; so
// memory does not grow with how far ranks drift apart, and the caller's buffer
// is the only receive buffer.
//
// # Errors
//
// An operation cannot fail at one rank alone: if it cannot be completed, the
// communicator fails, tells all ranks why, and every call returns that error
// from then on. See the Err variables, [OpError] and [RankError].
//
// The package's name hides the standard one; import that as goruntime.
package runtime
