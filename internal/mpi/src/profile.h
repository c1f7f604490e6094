/*
 * The time that a program spends in collective operations. If SCHEDGEN_MPI_PROFILE is set, every
 * operation is timed, whichever library performs it, and rank 0 prints a table in MPI_Finalize. If
 * the variable names a file, with a slash in the name, rank 0 writes JSON there.
 *
 * Operations are grouped by length: those of a class share a line. The length
 * counts the bytes of the message, of a rank's contribution, or of one block; for operations with
 * blocks of different lengths, it counts the bytes that this rank sends, or, in a scatterv,
 * receives. It is 0 for an alltoallw, for some among neighbors, and where that side is in place. Times are summed over the
 * ranks.
 */
static struct profile {
    struct tally of[FORMS][LENGTHS], setup;
    unsigned long long wall; /* nanoseconds since the process began */
} profile;

static void profile_add(int form, long long bytes, unsigned long long time)
{
    add_to(&profile.of[form][length_class(bytes)], 1, bytes, time);
}

/* The number of bytes of elements, or 0 if it cannot be determined; MPI then reports the error. */
static long long profiled_bytes(long long count, handle type)
{
    int size = 0;
    type = whole(type);
    if (count <= 0 || !is_type(type) || P_Type_size(type, &size))
        return 0;
    return count * size;
}

static long long profiled_sum(const int *counts, handle comm)
{
    long long all = 0;
    int size = 0, i;
    if (!counts || P_Comm_size(whole(comm), &size))
        return 0;
    for (i = 0; i < size; i++)
        all += counts[i];
    return all;
}

/* Begins to time an operation. The result says whether the operation counts. */
static int begin_operation(unsigned long long *begin)
{
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE) && !inside)
        start();
    if (!resolved || current.depth > 0 || inside)
        return 0;
    current.depth++;
    current.setup = 0;
    taken_by(NULL, -1);
    *begin = nanoseconds();
    return 1;
}

/* Adds an operation to the report and to the profile. length is that of the profile; -1: it has none. */
static void end_operation(int form, unsigned long long time, long long length)
{
    time -= current.setup;
    current.depth--;
    if (!current.taker)
        note_passed(form, OTHER);
    add_to(current.by ? &current.by->of[length_class(length)] : current.taker, 1, current.bytes < 0 ? length : current.bytes, time);
    if (profile_file && length >= 0)
        profile_add(form, length, time);
}

/* Sums over all ranks to rank 0, by a binomial tree. */
static int profile_sum(handle comm, int rank, int size)
{
    static struct profile theirs;
    int bit, i, k, err;
    for (bit = 1; bit < size; bit *= 2) {
        if (rank & bit)
            return P_Send(&profile, sizeof profile, mpi.type_byte, rank - bit, 1, comm);
        if (rank + bit >= size)
            continue;
        if ((err = P_Recv(&theirs, sizeof theirs, mpi.type_byte, rank + bit, 1, comm, mpi.status_ignore)))
            return err;
        profile.wall += theirs.wall;
        sum_tally(&profile.setup, &theirs.setup);
        for (i = 0; i < FORMS; i++)
            for (k = 0; k < LENGTHS; k++)
                sum_tally(&profile.of[i][k], &theirs.of[i][k]);
    }
    return 0;
}

/* own is the profile of rank 0. */
static void profile_json(FILE *f, int ranks, const struct profile *own)
{
    const char *comma = "";
    char name[32];
    int i, k;
    fprintf(f, "{\"ranks\": %d, \"seconds\": %.6f, \"set_up\": {\"calls\": %llu, \"seconds\": %.9f, \"rank_0_seconds\": %.9f}, \"operations\": [", ranks,
            (double)profile.wall * 1e-9 / ranks, profile.setup.calls, (double)profile.setup.nanoseconds * 1e-9, (double)own->setup.nanoseconds * 1e-9);
    for (i = 0; i < FORMS; i++)
        for (k = 0; k < LENGTHS; k++)
            if (profile.of[i][k].calls) {
                const struct tally *t = &profile.of[i][k];
                fprintf(f, "%s\n  {\"operation\": \"%s\", \"from_bytes\": %llu, \"calls\": %llu, \"bytes\": %llu, \"seconds\": %.9f, "
                        "\"rank_0_seconds\": %.9f}", comma, form_name(i, name, sizeof name), k ? 1ull << (k - 1) : 0, t->calls, t->bytes,
                        (double)t->nanoseconds * 1e-9, (double)own->of[i][k].nanoseconds * 1e-9);
                comma = ",";
            }
    fprintf(f, "\n]}\n");
}

/* A line of the table: calls and times of one rank on average. */
static void profile_print(const char *name, const char *length, const struct tally *line, int ranks)
{
    double seconds = (double)line->nanoseconds * 1e-9;
    fprintf(stderr, "%-22s %10s %12.1f %12.6f %10.2f %7.2f %%\n", name, length, (double)line->calls / ranks, seconds / ranks,
            line->calls ? seconds * 1e6 / (double)line->calls : 0, profile.wall ? 100 * (double)line->nanoseconds / (double)profile.wall : 0);
}

static void profile_table(int ranks)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    struct tally all = {0, 0, 0};
    char name[32], length[32];
    int i, k;
    fprintf(stderr, "schedgen: %d ranks, %.3f s from their start to MPI_Finalize; calls and seconds are of one rank in the mean\n", ranks,
            (double)profile.wall * 1e-9 / ranks);
    fprintf(stderr, "%-22s %10s %12s %12s %10s %9s\n", "operation", "from", "calls", "seconds", "us a call", "share");
    for (i = 0; i < FORMS; i++)
        for (k = 0; k < LENGTHS; k++) {
            const struct tally *line = &profile.of[i][k];
            if (!line->calls)
                continue;
            sum_tally(&all, line);
            if (k == 0)
                snprintf(length, sizeof length, "0 B");
            else
                snprintf(length, sizeof length, "%d %s", 1 << (k - 1) % 10, units[(k - 1) / 10]);
            profile_print(form_name(i, name, sizeof name), length, line, ranks);
        }
    profile_print("all", "", &all, ranks);
    if (profile.setup.nanoseconds)
        profile_print("set-up", "", &profile.setup, ranks);
}

/* All ranks call this function before MPI ends. */
static void profile_end(void)
{
    static struct profile own;
    int rank, size, err, i;
    handle comm = 0;
    FILE *f;
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
        start();
    if (!resolved)
        return;
    profile.wall = nanoseconds() - process_start;
    for (i = 0; i < SETUPS; i++)
        sum_tally(&profile.setup, &setups[i]);
    own = profile;
    inside++;
    if (!P_Comm_rank(mpi.comm_world, &rank) && !P_Comm_size(mpi.comm_world, &size) && !split(mpi.comm_world, rank, &comm)) {
        err = profile_sum(comm, rank, size);
        P_Comm_free(&comm);
        if (err) {
            fprintf(stderr, "schedgen: rank %d: the profile is lost: error %d of MPI\n", rank, err);
        } else if (rank == 0 && !strchr(profile_file, '/')) {
            profile_table(size);
        } else if (rank == 0 && (f = fopen(profile_file, "w"))) {
            profile_json(f, size, &own);
            if (fclose(f))
                fprintf(stderr, "schedgen: %s: %s\n", profile_file, strerror(errno));
        } else if (rank == 0) {
            fprintf(stderr, "schedgen: %s: %s\n", profile_file, strerror(errno));
        }
    }
    inside--;
}

/* A function of MPI that calls take_ and times the call, also for the engine go; see turns.h. bytes is the length of the operation. */
#define PROFILE(name, operation, bytes, arguments, values) \
    __attribute__((visibility("default"))) int MPI_##name arguments \
    { \
        unsigned long long begin, end; \
        const int counts = timed && begin_operation(&begin); \
        const int err = take_##name values; \
        if (counts || turn.go) { \
            end = nanoseconds(); \
            if (counts) \
                end_operation(operation, end - begin, (bytes)); \
            if (turn.go) \
                end_turn(end); \
        } \
        return err; \
    }

#define ARGUMENTS_MOVE (const void *in, int n, handle t, void *out, int m, handle s, handle comm)
#define ARGUMENTS_ROOTED (const void *in, int n, handle t, void *out, int m, handle s, int root, handle comm)
#define ARGUMENTS_FOLD (const void *in, void *out, int n, handle t, handle op, handle comm)
#define BLOCK(root_block) (in == mpi.in_place ? profiled_bytes(m, s) : root_block)

PROFILE(Barrier, BARRIER, 0, (handle comm), (comm))
PROFILE(Bcast, BCAST, profiled_bytes(n, t), (void *b, int n, handle t, int root, handle comm), (b, n, t, root, comm))
PROFILE(Reduce, REDUCE, profiled_bytes(n, t), (const void *in, void *out, int n, handle t, handle op, int root, handle comm), (in, out, n, t, op, root, comm))
PROFILE(Allreduce, ALLREDUCE, profiled_bytes(n, t), ARGUMENTS_FOLD, (in, out, n, t, op, comm))
PROFILE(Scan, SCAN, profiled_bytes(n, t), ARGUMENTS_FOLD, (in, out, n, t, op, comm))
PROFILE(Exscan, EXSCAN, profiled_bytes(n, t), ARGUMENTS_FOLD, (in, out, n, t, op, comm))
PROFILE(Reduce_scatter_block, REDUCE_SCATTER, profiled_bytes(n, t), ARGUMENTS_FOLD, (in, out, n, t, op, comm))
PROFILE(Reduce_scatter, REDUCE_SCATTER, profiled_bytes(profiled_sum(n, comm), t), (const void *in, void *out, const int *n, handle t, handle op, handle comm),
        (in, out, n, t, op, comm))
PROFILE(Allgather, ALLGATHER, BLOCK(profiled_bytes(n, t)), ARGUMENTS_MOVE, (in, n, t, out, m, s, comm))
PROFILE(Alltoall, ALLTOALL, BLOCK(profiled_bytes(n, t)), ARGUMENTS_MOVE, (in, n, t, out, m, s, comm))
PROFILE(Gather, GATHER, BLOCK(profiled_bytes(n, t)), ARGUMENTS_ROOTED, (in, n, t, out, m, s, root, comm))
PROFILE(Scatter, SCATTER, out == mpi.in_place ? profiled_bytes(n, t) : profiled_bytes(m, s), ARGUMENTS_ROOTED, (in, n, t, out, m, s, root, comm))
PROFILE(Allgatherv, ALLGATHERV, in == mpi.in_place ? 0 : profiled_bytes(n, t),
        (const void *in, int n, handle t, void *out, const int *m, const int *d, handle s, handle comm), (in, n, t, out, m, d, s, comm))
PROFILE(Gatherv, GATHERV, in == mpi.in_place ? 0 : profiled_bytes(n, t),
        (const void *in, int n, handle t, void *out, const int *m, const int *d, handle s, int root, handle comm), (in, n, t, out, m, d, s, root, comm))
PROFILE(Scatterv, SCATTERV, out == mpi.in_place ? 0 : profiled_bytes(m, s),
        (const void *in, const int *n, const int *d, handle t, void *out, int m, handle s, int root, handle comm), (in, n, d, t, out, m, s, root, comm))
PROFILE(Alltoallv, ALLTOALLV, in == mpi.in_place ? 0 : profiled_bytes(profiled_sum(n, comm), t),
        (const void *in, const int *n, const int *d, handle t, void *out, const int *m, const int *e, handle s, handle comm), (in, n, d, t, out, m, e, s, comm))

/* Operations that the library never performs. */
#define PASSED(name, operation, bytes, arguments, values) \
    static int take_##name arguments { PASS(name, arguments, values); } \
    PROFILE(name, operation, bytes, arguments, values)
#define STARTED(name, operation, bytes, arguments, values) PROFILE(name, NONBLOCKING + operation, bytes, arguments, values)

/* Functions that prepare an operation are in the report only. */
#define PREPARED(name, operation, arguments, values) PROFILE(name, PERSISTENT + operation, -1, arguments, values)

PROFILE(Alltoallw, ALLTOALLW, 0,
        (const void *in, const int *n, const int *d, const void *t, void *out, const int *m, const int *e, const void *s, handle comm),
        (in, n, d, t, out, m, e, s, comm))
STARTED(Ialltoallw, ALLTOALLW, 0,
       (const void *in, const int *n, const int *d, const void *t, void *out, const int *m, const int *e, const void *s, handle comm, void *q),
       (in, n, d, t, out, m, e, s, comm, q))
#define NEIGHBORS(name, operation, bytes, before, values) \
    PASSED(Neighbor_##name, operation, bytes, (UNPACKED before, handle comm), (UNPACKED values, comm)) \
    PASSED(Ineighbor_##name, NONBLOCKING + operation, bytes, (UNPACKED before, handle comm, void *q), (UNPACKED values, comm, q))
#define UNPACKED(...) __VA_ARGS__
NEIGHBORS(allgather, NEIGHBOR_ALLGATHER, profiled_bytes(n, t), (const void *in, int n, handle t, void *out, int m, handle s), (in, n, t, out, m, s))
NEIGHBORS(alltoall, NEIGHBOR_ALLTOALL, profiled_bytes(n, t), (const void *in, int n, handle t, void *out, int m, handle s), (in, n, t, out, m, s))
NEIGHBORS(allgatherv, NEIGHBOR_ALLGATHERV, profiled_bytes(n, t),
          (const void *in, int n, handle t, void *out, const int *m, const int *d, handle s), (in, n, t, out, m, d, s))
NEIGHBORS(alltoallv, NEIGHBOR_ALLTOALLV, 0,
          (const void *in, const int *n, const int *d, handle t, void *out, const int *m, const int *e, handle s), (in, n, d, t, out, m, e, s))
NEIGHBORS(alltoallw, NEIGHBOR_ALLTOALLW, 0,
          (const void *in, const int *n, const intptr_t *d, const void *t, void *out, const int *m, const intptr_t *e, const void *s),
          (in, n, d, t, out, m, e, s))
STARTED(Ibarrier, BARRIER, 0, (handle comm, void *q), (comm, q))
STARTED(Ibcast, BCAST, profiled_bytes(n, t), (void *b, int n, handle t, int root, handle comm, void *q), (b, n, t, root, comm, q))
STARTED(Ireduce, REDUCE, profiled_bytes(n, t), (const void *in, void *out, int n, handle t, handle op, int root, handle comm, void *q),
        (in, out, n, t, op, root, comm, q))
STARTED(Iallreduce, ALLREDUCE, profiled_bytes(n, t), (const void *in, void *out, int n, handle t, handle op, handle comm, void *q), (in, out, n, t, op, comm, q))
STARTED(Iscan, SCAN, profiled_bytes(n, t), (const void *in, void *out, int n, handle t, handle op, handle comm, void *q), (in, out, n, t, op, comm, q))
STARTED(Iexscan, EXSCAN, profiled_bytes(n, t), (const void *in, void *out, int n, handle t, handle op, handle comm, void *q), (in, out, n, t, op, comm, q))
STARTED(Ireduce_scatter_block, REDUCE_SCATTER, profiled_bytes(n, t), (const void *in, void *out, int n, handle t, handle op, handle comm, void *q),
        (in, out, n, t, op, comm, q))
STARTED(Ireduce_scatter, REDUCE_SCATTER, profiled_bytes(profiled_sum(n, comm), t),
        (const void *in, void *out, const int *n, handle t, handle op, handle comm, void *q), (in, out, n, t, op, comm, q))
STARTED(Iallgather, ALLGATHER, BLOCK(profiled_bytes(n, t)), (const void *in, int n, handle t, void *out, int m, handle s, handle comm, void *q),
        (in, n, t, out, m, s, comm, q))
STARTED(Ialltoall, ALLTOALL, BLOCK(profiled_bytes(n, t)), (const void *in, int n, handle t, void *out, int m, handle s, handle comm, void *q),
        (in, n, t, out, m, s, comm, q))
STARTED(Igather, GATHER, BLOCK(profiled_bytes(n, t)), (const void *in, int n, handle t, void *out, int m, handle s, int root, handle comm, void *q),
        (in, n, t, out, m, s, root, comm, q))
STARTED(Iscatter, SCATTER, out == mpi.in_place ? profiled_bytes(n, t) : profiled_bytes(m, s),
        (const void *in, int n, handle t, void *out, int m, handle s, int root, handle comm, void *q), (in, n, t, out, m, s, root, comm, q))
STARTED(Iallgatherv, ALLGATHERV, in == mpi.in_place ? 0 : profiled_bytes(n, t),
        (const void *in, int n, handle t, void *out, const int *m, const int *d, handle s, handle comm, void *q), (in, n, t, out, m, d, s, comm, q))
STARTED(Igatherv, GATHERV, in == mpi.in_place ? 0 : profiled_bytes(n, t),
        (const void *in, int n, handle t, void *out, const int *m, const int *d, handle s, int root, handle comm, void *q),
        (in, n, t, out, m, d, s, root, comm, q))
STARTED(Iscatterv, SCATTERV, out == mpi.in_place ? 0 : profiled_bytes(m, s),
        (const void *in, const int *n, const int *d, handle t, void *out, int m, handle s, int root, handle comm, void *q),
        (in, n, d, t, out, m, s, root, comm, q))
STARTED(Ialltoallv, ALLTOALLV, in == mpi.in_place ? 0 : profiled_bytes(profiled_sum(n, comm), t),
        (const void *in, const int *n, const int *d, handle t, void *out, const int *m, const int *e, handle s, handle comm, void *q),
        (in, n, d, t, out, m, e, s, comm, q))

PREPARED(Barrier_init, BARRIER, (handle comm, handle info, void *q), (comm, info, q))
PREPARED(Bcast_init, BCAST, (void *b, int n, handle t, int root, handle comm, handle info, void *q), (b, n, t, root, comm, info, q))
PREPARED(Reduce_init, REDUCE, (const void *in, void *out, int n, handle t, handle op, int root, handle comm, handle info, void *q),
         (in, out, n, t, op, root, comm, info, q))
#define ARGUMENTS_FOLD_INIT (const void *in, void *out, int n, handle t, handle op, handle comm, handle info, void *q)
PREPARED(Allreduce_init, ALLREDUCE, ARGUMENTS_FOLD_INIT, (in, out, n, t, op, comm, info, q))
PREPARED(Scan_init, SCAN, ARGUMENTS_FOLD_INIT, (in, out, n, t, op, comm, info, q))
PREPARED(Exscan_init, EXSCAN, ARGUMENTS_FOLD_INIT, (in, out, n, t, op, comm, info, q))
PREPARED(Reduce_scatter_block_init, REDUCE_SCATTER, ARGUMENTS_FOLD_INIT, (in, out, n, t, op, comm, info, q))
PREPARED(Reduce_scatter_init, REDUCE_SCATTER, (const void *in, void *out, const int *n, handle t, handle op, handle comm, handle info, void *q),
         (in, out, n, t, op, comm, info, q))
#define ARGUMENTS_MOVE_INIT (const void *in, int n, handle t, void *out, int m, handle s, handle comm, handle info, void *q)
PREPARED(Allgather_init, ALLGATHER, ARGUMENTS_MOVE_INIT, (in, n, t, out, m, s, comm, info, q))
PREPARED(Alltoall_init, ALLTOALL, ARGUMENTS_MOVE_INIT, (in, n, t, out, m, s, comm, info, q))
#define ARGUMENTS_ROOTED_INIT (const void *in, int n, handle t, void *out, int m, handle s, int root, handle comm, handle info, void *q)
PREPARED(Gather_init, GATHER, ARGUMENTS_ROOTED_INIT, (in, n, t, out, m, s, root, comm, info, q))
PREPARED(Scatter_init, SCATTER, ARGUMENTS_ROOTED_INIT, (in, n, t, out, m, s, root, comm, info, q))
PREPARED(Allgatherv_init, ALLGATHERV,
         (const void *in, int n, handle t, void *out, const int *m, const int *d, handle s, handle comm, handle info, void *q),
         (in, n, t, out, m, d, s, comm, info, q))
PREPARED(Gatherv_init, GATHERV,
         (const void *in, int n, handle t, void *out, const int *m, const int *d, handle s, int root, handle comm, handle info, void *q),
         (in, n, t, out, m, d, s, root, comm, info, q))
PREPARED(Scatterv_init, SCATTERV,
         (const void *in, const int *n, const int *d, handle t, void *out, int m, handle s, int root, handle comm, handle info, void *q),
         (in, n, d, t, out, m, s, root, comm, info, q))
PREPARED(Alltoallv_init, ALLTOALLV,
         (const void *in, const int *n, const int *d, handle t, void *out, const int *m, const int *e, handle s, handle comm, handle info, void *q),
         (in, n, d, t, out, m, e, s, comm, info, q))

/*
 * Runs at the end of MPI_Init. With engine go, MPI_COMM_WORLD joins it then, because a nonblocking
 * operation could not join.
 */
static void arrive(void)
{
    const char *mode = getenv("SCHEDGEN_MPI");
    note_rank();
    if (!mode || strcmp(mode, "go") || inside)
        return;
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
        start();
    if (engine == GO_ENGINE)
        reach(mpi.comm_world);
}

static int begin_mpi(int *argc, char ***argv) { PASS(Init, (int *, char ***), (argc, argv)); }

static int begin_mpi_thread(int *argc, char ***argv, int required, int *provided)
{
    PASS(Init_thread, (int *, char ***, int, int *), (argc, argv, required, provided));
}

EXPORT MPI_Init(int *argc, char ***argv)
{
    int err = begin_mpi(argc, argv);
    if (!err)
        arrive();
    return err;
}

EXPORT MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int err = begin_mpi_thread(argc, argv, required, provided);
    if (!err)
        arrive();
    return err;
}

/*
 * The library defines MPI_Finalize for the profile, and to measure engines in a program without a
 * collective operation among all ranks. An attribute announces the end for everything else.
 */
__attribute__((visibility("default"))) int MPI_Finalize(void)
{
    if (profile_file && !inside)
        profile_end();
    if (getenv("SCHEDGEN_MPI_TUNE") && !inside) {
        if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
            start();
        if (tune_seconds > 0 && engine != OFF)
            take_Barrier(mpi.comm_world);
        if (tune_seconds > 0 && engine != OFF && world_rank == 0)
            fprintf(stderr, "schedgen: tune: nothing was measured: there is one rank, or there are no tables\n");
    }
    PASS(Finalize, (void), ());
}
