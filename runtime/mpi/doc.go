// Package mpi takes over the collective operations of MPI programs, without a change to the program or
// to MPI.
//
// The library is C without mpi.h: one binary serves Open MPI, MPICH and MPIs with the standard ABI of
// MPI 5. It stands before the MPI (LD_PRELOAD), and executes schedules by the interpreter of package
// engine over the MPI's own messages. [Build] compiles it with the machine's C compiler, and [Tables]
// makes the schedules.
//
// # Where the schedules come from
//
// A library in C cannot compute schedules, and a program may split communicators into any number of
// ranks. So there is a file of tables for each number of ranks, in a folder of the user's cache. The
// first collective operation on a communicator gets its tables: rank 0 reads the file and broadcasts it,
// unless all ranks have it from another communicator. If there is no file, rank 0 runs schedgen, which
// writes it. If that fails too, all ranks of the communicator leave its operations to the MPI. So
// nothing limits the number of ranks, no rank but rank 0 needs files, and no file is made that nobody
// needs.
//
// All tables have root 0. For another root, ranks are counted from the root on; so the library folds in
// the order of the ranks only if the root is 0.
//
// # What is taken over
//
// An operation is taken over, or left to the MPI, for reasons that all its ranks know: the size of the
// communicator, the length of a block, whether the operation commutes. [Choices] lists which schedule
// serves which length. Operations that do not block are taken over by the engine in Go alone, which goes on
// with them in the background: see requests.h. Arguments that are not valid go to the MPI, which says so.
package mpi
