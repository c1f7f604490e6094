// Package mpi performs the collective operations of MPI programs in place of the MPI, without a
// change to the program or to the MPI.
//
// The library is C without mpi.h, so one binary serves Open MPI, MPICH and MPIs with the standard
// ABI of MPI 5. It is loaded before the MPI (LD_PRELOAD), and executes schedules with the
// interpreter of package internal/engine over the MPI's own messages. [Build] compiles the library
// with the machine's C compiler, and [Tables] makes the schedules.
//
// # Where the schedules come from
//
// A library in C cannot compute schedules, and a program may split communicators into any number of
// ranks. So there is a file of tables for each number of ranks, in a folder of the user's cache. A
// communicator gets its tables after some operations: rank 0 reads the file and broadcasts it,
// unless all ranks have the tables from another communicator. If there is no file, rank 0 runs
// schedgen, which writes it. If that fails too, all ranks of the communicator leave its operations
// to the MPI. So only MaxRanks limits the number of ranks, only rank 0 needs files, and schedgen
// makes a file only when it is needed.
//
// All tables have root 0. For another root, the library counts ranks from the root on; so it folds
// in the order of the ranks only if the root is 0.
//
// # Which operations the library performs
//
// Whether the library performs an operation or leaves it to the MPI depends on facts that all its
// ranks know: the size of the communicator, the length of a block, whether the operation commutes.
// [Choices] lists the schedules and the lengths that they serve. If the engine in Go learns, it
// decides by sums of times that all ranks have: see turns.h. Only the engine in Go performs
// nonblocking operations; it continues them in the background: see requests.h. The MPI gets calls
// with invalid arguments, and reports the error.
package mpi
