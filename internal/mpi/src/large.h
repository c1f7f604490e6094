/*
 * Functions with counts of type MPI_Count, of 64 bits. If its counts fit into an int, an operation is
 * the one without _c. If a count does not, MPI gets the operation at all ranks: an operation of more
 * than 2 GiB, or of so many elements to fold, is left to MPI by those with fitting counts, too. It is
 * then one more operation on its communicator. Of the functions with a count for each rank, those are
 * taken over in which all ranks know all counts. For the others, only the two ends of a message know
 * whether its count fits; an agreement about that before each operation would cost more than a short
 * operation.
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

/* Returns counts as ints, or NULL if one does not fit or there is no memory. The result is freed by the caller. */
static int *as_ints(const count_64 *counts, int n)
{
    int *all = counts && n > 0 ? malloc((size_t)n * sizeof *all) : NULL, i;
    for (i = 0; all && i < n; i++) {
        all[i] = (int)counts[i];
        if (!FITS(counts[i])) {
            free(all);
            all = NULL;
        }
    }
    return all;
}

/* The number of ranks that have a count in an operation, or 0 if the library leaves it to MPI. */
static int counting_ranks(handle comm)
{
    int inter = 1, size = 0;
    if (resolve_once() || P_Comm_test_inter(comm, &inter) || inter || P_Comm_size(comm, &size))
        return 0;
    return size;
}

EXPORT MPI_Reduce_scatter_c(const void *in, void *out, const count_64 *counts, handle type, handle op, handle comm)
{
    int *ints = as_ints(counts, counting_ranks(whole(comm))), err;
    if (ints) {
        err = MPI_Reduce_scatter(in, out, ints, type, op, comm);
        free(ints);
        return err;
    }
    if (enter(REDUCE_SCATTER, whole(comm)))
        note_passed(REDUCE_SCATTER, TOO_LONG);
    PASS(Reduce_scatter_c, (const void *, void *, const count_64 *, handle, handle, handle), (in, out, counts, type, op, comm));
}

/* Copies elements by MPI. */
static int copy_elements(const void *from, void *to, int count, handle type)
{
    return P_Sendrecv(from, count, type, 0, 0, to, count, type, 0, 0, mpi.comm_self, mpi.status_ignore);
}

/*
 * An allgatherv whose counts fit, but whose blocks are too far apart at this rank. Other ranks do not
 * know that. So the blocks are gathered side by side and then copied.
 */
static int gather_far(const void *in, count_64 in_count, handle in_type, void *out, const int *counts, const intptr_t *displacements, handle type, int ranks,
                      int rank, handle comm)
{
    struct rows r = {.type = type};
    int *places = malloc((size_t)ranks * sizeof *places), all = 0, i, err;
    char *rows = NULL;
    if ((err = layout_of(type, &r.layout)))
        return err;
    for (i = 0; places && i < ranks; i++) {
        places[i] = all;
        all += counts[i];
    }
    if (!places || !(rows = new_rows(&r, all))) {
        free(places);
        return mpi.err_no_mem;
    }
    if (in == mpi.in_place)
        err = copy_elements((char *)out + displacements[rank] * r.layout.extent, rows + places[rank] * r.layout.extent, counts[rank], type);
    if (!err)
        err = MPI_Allgatherv(in, (int)in_count, in_type, rows, counts, places, type, comm);
    for (i = 0; !err && i < ranks; i++)
        if (counts[i])
            err = copy_elements(rows + places[i] * r.layout.extent, (char *)out + displacements[i] * r.layout.extent, counts[i], type);
    free_rows(&r, rows);
    free(places);
    return err;
}

EXPORT MPI_Allgatherv_c(const void *in, count_64 in_count, handle in_type, void *out, const count_64 *counts, const intptr_t *displacements, handle out_type,
                        handle comm)
{
    const int ranks = counting_ranks(whole(comm));
    int *ints = displacements ? as_ints(counts, ranks) : NULL, *places = NULL, i, rank = 0, far = 0, err;
    long long all = ints ? sum_of(ints, ranks) : -1;
    if (all >= 0 && all <= INT_MAX && (places = malloc((size_t)ranks * sizeof *places))) {
        for (i = 0; i < ranks; i++) {
            places[i] = (int)displacements[i];
            far |= counts[i] && !FITS(displacements[i]);
        }
        P_Comm_rank(whole(comm), &rank);
        err = far ? gather_far(in, in_count, in_type, out, ints, displacements, whole(out_type), ranks, rank, comm)
                  : MPI_Allgatherv(in, (int)in_count, in_type, out, ints, places, out_type, comm);
        free(places);
        free(ints);
        return err;
    }
    free(ints);
    if (enter(ALLGATHERV, whole(comm)))
        note_passed(ALLGATHERV, TOO_LONG);
    PASS(Allgatherv_c, (const void *, count_64, handle, void *, const count_64 *, const intptr_t *, handle, handle),
         (in, in_count, in_type, out, counts, displacements, out_type, comm));
}

/* The others are left to MPI, and are in the report. */
#define LEFT_LARGE(name, operation, before, values) PASSED(name##_c, operation, 0, (UNPACKED before, handle comm), (UNPACKED values, comm))
#define LEFT_LARGE_I(name, operation, before, values) \
    PASSED(name##_c, NONBLOCKING + operation, 0, (UNPACKED before, handle comm, void *q), (UNPACKED values, comm, q))
#define LEFT_LARGE_PAIR(name, iname, operation, before, values) \
    LEFT_LARGE(name, operation, before, values) LEFT_LARGE_I(iname, operation, before, values)
#define LARGE_ONE_EACH (const void *in, count_64 n, handle t, void *out, count_64 m, handle s)
#define LARGE_TO_V (const void *in, count_64 n, handle t, void *out, const count_64 *m, const intptr_t *d, handle s)
#define LARGE_V (const void *in, const count_64 *n, const intptr_t *d, handle t, void *out, const count_64 *m, const intptr_t *e, handle s)
#define LARGE_W (const void *in, const count_64 *n, const intptr_t *d, const void *t, void *out, const count_64 *m, const intptr_t *e, const void *s)
LEFT_LARGE_PAIR(Gatherv, Igatherv, GATHERV, (const void *in, count_64 n, handle t, void *out, const count_64 *m, const intptr_t *d, handle s, int root),
                (in, n, t, out, m, d, s, root))
LEFT_LARGE_PAIR(Scatterv, Iscatterv, SCATTERV, (const void *in, const count_64 *n, const intptr_t *d, handle t, void *out, count_64 m, handle s, int root),
                (in, n, d, t, out, m, s, root))
LEFT_LARGE_PAIR(Alltoallv, Ialltoallv, ALLTOALLV, LARGE_V, (in, n, d, t, out, m, e, s))
LEFT_LARGE_PAIR(Alltoallw, Ialltoallw, ALLTOALLW, LARGE_W, (in, n, d, t, out, m, e, s))
LEFT_LARGE_I(Iallgatherv, ALLGATHERV, LARGE_TO_V, (in, n, t, out, m, d, s))
LEFT_LARGE_I(Ireduce_scatter, REDUCE_SCATTER, (const void *in, void *out, const count_64 *n, handle t, handle op), (in, out, n, t, op))
LEFT_LARGE_PAIR(Neighbor_allgather, Ineighbor_allgather, NEIGHBOR_ALLGATHER, LARGE_ONE_EACH, (in, n, t, out, m, s))
LEFT_LARGE_PAIR(Neighbor_alltoall, Ineighbor_alltoall, NEIGHBOR_ALLTOALL, LARGE_ONE_EACH, (in, n, t, out, m, s))
LEFT_LARGE_PAIR(Neighbor_allgatherv, Ineighbor_allgatherv, NEIGHBOR_ALLGATHERV, LARGE_TO_V, (in, n, t, out, m, d, s))
LEFT_LARGE_PAIR(Neighbor_alltoallv, Ineighbor_alltoallv, NEIGHBOR_ALLTOALLV, LARGE_V, (in, n, d, t, out, m, e, s))
LEFT_LARGE_PAIR(Neighbor_alltoallw, Ineighbor_alltoallw, NEIGHBOR_ALLTOALLW, LARGE_W, (in, n, d, t, out, m, e, s))
