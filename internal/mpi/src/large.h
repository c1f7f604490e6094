/*
 * Functions with counts of type MPI_Count, of 64 bits. If its counts fit into an int, an operation is
 * the one without _c. If a count does not, MPI gets the operation at all ranks: an operation of more
 * than 2 GiB, or of so many elements to fold, is left to MPI by those with fitting counts, too. It is
 * then one more operation on its communicator. Functions with a count for each rank are MPI's.
 */
typedef long long count_64;

#define FITS(n) ((n) == (int)(n))

/* arguments and values of the function, its operation, whether counts fit, and the call if they do. */
#define LARGE(name, operation, arguments, values, fits, call) \
    EXPORT MPI_##name arguments \
    { \
        if (fits) \
            return call; \
        if (enter(operation, whole(comm))) \
            note_passed(operation, TOO_LONG); \
        PASS(name, arguments, values); \
    }
#define LARGE_NONBLOCKING(name, arguments, values, fits, call) \
    EXPORT MPI_##name arguments \
    { \
        if (fits) \
            return call; \
        PASS(name, arguments, values); \
    }

LARGE(Bcast_c, BCAST, (void *b, count_64 n, handle t, int root, handle comm), (b, n, t, root, comm), FITS(n), MPI_Bcast(b, (int)n, t, root, comm))
LARGE(Reduce_c, REDUCE, (const void *in, void *out, count_64 n, handle t, handle op, int root, handle comm), (in, out, n, t, op, root, comm), FITS(n),
      MPI_Reduce(in, out, (int)n, t, op, root, comm))
LARGE_NONBLOCKING(Ibcast_c, (void *b, count_64 n, handle t, int root, handle comm, void *q), (b, n, t, root, comm, q), FITS(n),
                  MPI_Ibcast(b, (int)n, t, root, comm, q))
LARGE_NONBLOCKING(Ireduce_c, (const void *in, void *out, count_64 n, handle t, handle op, int root, handle comm, void *q),
                  (in, out, n, t, op, root, comm, q), FITS(n), MPI_Ireduce(in, out, (int)n, t, op, root, comm, q))

#define LARGE_FOLD(name, operation) \
    LARGE(name##_c, operation, (const void *in, void *out, count_64 n, handle t, handle op, handle comm), (in, out, n, t, op, comm), FITS(n), \
          MPI_##name(in, out, (int)n, t, op, comm))
#define LARGE_IFOLD(name) \
    LARGE_NONBLOCKING(name##_c, (const void *in, void *out, count_64 n, handle t, handle op, handle comm, void *q), (in, out, n, t, op, comm, q), FITS(n), \
                      MPI_##name(in, out, (int)n, t, op, comm, q))
LARGE_FOLD(Allreduce, ALLREDUCE)
LARGE_FOLD(Scan, SCAN)
LARGE_FOLD(Exscan, EXSCAN)
LARGE_FOLD(Reduce_scatter_block, REDUCE_SCATTER)
LARGE_IFOLD(Iallreduce)
LARGE_IFOLD(Iscan)
LARGE_IFOLD(Iexscan)
LARGE_IFOLD(Ireduce_scatter_block)

#define LARGE_MOVE(name, operation) \
    LARGE(name##_c, operation, (const void *in, count_64 n, handle t, void *out, count_64 m, handle s, handle comm), (in, n, t, out, m, s, comm), \
          FITS(n) && FITS(m), MPI_##name(in, (int)n, t, out, (int)m, s, comm))
#define LARGE_IMOVE(name) \
    LARGE_NONBLOCKING(name##_c, (const void *in, count_64 n, handle t, void *out, count_64 m, handle s, handle comm, void *q), \
                      (in, n, t, out, m, s, comm, q), FITS(n) && FITS(m), MPI_##name(in, (int)n, t, out, (int)m, s, comm, q))
LARGE_MOVE(Allgather, ALLGATHER)
LARGE_MOVE(Alltoall, ALLTOALL)
LARGE_IMOVE(Iallgather)
LARGE_IMOVE(Ialltoall)

/* Only the root's counts of the side of the root matter. */
#define LARGE_ROOTED(name, operation) \
    LARGE(name##_c, operation, (const void *in, count_64 n, handle t, void *out, count_64 m, handle s, int root, handle comm), \
          (in, n, t, out, m, s, root, comm), fits_rooted(operation, n, m, in, out, root, comm), MPI_##name(in, (int)n, t, out, (int)m, s, root, comm))
#define LARGE_IROOTED(name, operation) \
    LARGE_NONBLOCKING(name##_c, (const void *in, count_64 n, handle t, void *out, count_64 m, handle s, int root, handle comm, void *q), \
                      (in, n, t, out, m, s, root, comm, q), fits_rooted(operation, n, m, in, out, root, comm), \
                      MPI_##name(in, (int)n, t, out, (int)m, s, root, comm, q))
static int fits_rooted(enum operation operation, count_64 n, count_64 m, const void *in, const void *out, int root, handle comm)
{
    int rank = root;
    if (!resolve_once())
        P_Comm_rank(whole(comm), &rank);
    if (operation == GATHER)
        return (FITS(n) || in == mpi.in_place) && (rank != root || FITS(m));
    return (FITS(m) || out == mpi.in_place) && (rank != root || FITS(n));
}
LARGE_ROOTED(Gather, GATHER)
LARGE_ROOTED(Scatter, SCATTER)
LARGE_IROOTED(Igather, GATHER)
LARGE_IROOTED(Iscatter, SCATTER)
