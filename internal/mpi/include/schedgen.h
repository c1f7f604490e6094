/*
 * What schedgen gives to MPI programs beyond MPI: messages and questions that no rank needs to
 * expect, exact sums, and a reproducible allreduce. `schedgen mpi --header DIR` writes this file and
 * the libraries. docs/mpi.md says how to compile and link.
 *
 * Each function returns MPI_SUCCESS or an error class of MPI. It does not call the communicator's
 * error handler. After an error, a line on the standard error names the function, the rank and the
 * cause. Functions are called between MPI_Init and MPI_Finalize.
 */
#ifndef SCHEDGEN_H
#define SCHEDGEN_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens a communicator for the functions up to schedgen_ask. All its ranks call schedgen_open, which
 * may wait for them, and all get the same answer, except a rank whose own argument is at fault. It
 * must not be an inter-communicator. To open it again has no effect. A duplicate is not open.
 *
 * A rank leaves when it frees the communicator or calls MPI_Finalize. MPI_Comm_free does not wait.
 * What the rank has published still reaches the others, what it has not taken is dropped, and it
 * passes on what others publish until all have left. MPI_Finalize waits for that.
 */
int schedgen_open(MPI_Comm comm);

/*
 * Sends a message to all other ranks, which need not expect it. Each takes it exactly once. The
 * messages of one rank arrive in their order. A message has at most 1 MiB, and may have 0 bytes. A
 * rank waits here while another has yet to take 64 of its messages, or 256 KiB of them.
 */
int schedgen_publish(MPI_Comm comm, const void *message, size_t bytes);

/* Waits until all messages that this rank has published are at the ranks that have not left. */
int schedgen_flush(MPI_Comm comm);

/*
 * Waits for a message of another rank, and puts it into a buffer that has room for so many bytes.
 * Sets the rank that has published it, and its length. If there is too little room, the function
 * returns MPI_ERR_TRUNCATE, sets both, and prints nothing; the message stays for the next call. If
 * all other ranks have left, it returns MPI_ERR_OTHER.
 */
int schedgen_next(MPI_Comm comm, void *buffer, size_t room, int *origin, size_t *bytes);

/* Takes a message if there is one, and sets flag to 1, or else to 0. It does not wait. */
int schedgen_try_next(MPI_Comm comm, void *buffer, size_t room, int *origin, size_t *bytes, int *flag);

/*
 * Answers a question: sets the elements of values, which are zero before. It runs in a thread of
 * schedgen, one call at a time for each communicator, until this rank leaves. So it calls MPI only
 * with MPI_THREAD_MULTIPLE, and must not call schedgen_ask on its communicator.
 */
typedef void schedgen_answer_function(int origin, const void *question, size_t bytes, void *values, void *with);

/* Gets the result of a question of any rank, or NULL if it has none. It runs like the answers. */
typedef void schedgen_learn_function(int origin, const void *question, size_t bytes, const void *values, void *with);

/*
 * Makes all ranks answer questions from now on. All call it, once for each communicator, with the
 * same count, type and operation, and it returns when all have called it. An answer has count
 * elements. The type and the operation are predefined ones: integers, MPI_FLOAT, MPI_DOUBLE and
 * complex types, with operations from MPI_MAX to MPI_BXOR that MPI defines for them. learn may be
 * NULL. with is passed on to the functions.
 */
int schedgen_answer(MPI_Comm comm, int count, MPI_Datatype type, MPI_Op op, schedgen_answer_function *answer, schedgen_learn_function *learn, void *with);

/*
 * Asks all ranks a question, which no rank needs to expect, and sets values to the fold of the
 * answers of all ranks, also this one. The order of a fold depends only on the number of ranks and
 * on the rank that asks; if that is rank 0, answers are folded in the order of ranks. If a rank has
 * left, the error is MPI_ERR_OTHER.
 */
int schedgen_ask(MPI_Comm comm, const void *question, size_t bytes, void *values);

/*
 * An operation of MPI_Reduce and MPI_Allreduce on MPI_DOUBLE and MPI_FLOAT, and on the types of
 * Fortran with the same bits. A sum is rounded once, to the nearest number. So it does not depend on
 * the order of the ranks, their number or the MPI. No communicator needs to be open. Other functions
 * refuse the operation with MPI_ERR_OP, or abort the program if they are not schedgen's. The
 * function returns MPI_OP_NULL after an error. The program does not free the operation.
 */
MPI_Op schedgen_exact_sum(void);
#define SCHEDGEN_EXACT_SUM (schedgen_exact_sum())

/*
 * MPI_Allreduce, but element by element the contributions are folded in the order of the ranks,
 * ((x0 op x1) op x2) op ..., as a loop in one process would. So the bits of the result do not depend
 * on the MPI, its settings, the hosts of the ranks, or the engine. in may be MPI_IN_PLACE. Types and
 * operations may be the program's own. No communicator needs to be open.
 */
int schedgen_reproducible_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

#ifdef __cplusplus
}
#endif
#endif
