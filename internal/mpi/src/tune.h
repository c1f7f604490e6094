/*
 * Measures which engine performs each operation fastest, among all ranks, for the rules of engine
 * auto (rules.h). Blocks of calls of MPI and of both engines alternate, so that all meet the same
 * load, as in internal/lab/mpi/turn.c. The time of a call is the slowest rank's time.
 */
enum { TUNE_BLOCK = 5, TUNE_MOST = 1000, TUNE_LENGTHS = 13, TUNE_WAYS = GO_ENGINE + 1 };

/*
 * An MPI changes to a rendezvous somewhere between 4 and 64 KiB, and its times jump there. So these
 * lengths are closer together.
 */
static const int tune_lengths[TUNE_LENGTHS] = {8, 32, 128, 512, 2 << 10, 4 << 10, 8 << 10, 16 << 10,
                                               32 << 10, 64 << 10, 128 << 10, 512 << 10, 2 << 20};

/*
 * An engine is selected if it needs at most this fraction of MPI's time, by the 10th percentile and
 * by the median.
 */
static const double tune_part = 0.95;

/* The measurements of one engine in nanoseconds. */
struct tuned {
    int p10, median;
};

static int ascending_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* One call. bytes is the length that rules use. */
static int tune_call(enum operation op, int bytes, const struct communicator *c, char *in, char *out)
{
    const handle world = mpi.comm_world, byte = mpi.type_byte, type = mpi.type_int, least = mpi.op_min;
    const int count = bytes / (int)sizeof(int);
    switch (op) {
    case BARRIER:
        return take_Barrier(world);
    case BCAST:
        return take_Bcast(out, bytes, byte, 0, world);
    case REDUCE:
        return take_Reduce(in, out, count, type, least, 0, world);
    case ALLREDUCE:
        return take_Allreduce(in, out, count, type, least, world);
    case REDUCE_SCATTER:
        return take_Reduce_scatter_block(in, out, count / c->size, type, least, world);
    case SCAN:
        return take_Scan(in, out, count, type, least, world);
    case EXSCAN:
        return take_Exscan(in, out, count, type, least, world);
    case ALLGATHER:
        return take_Allgather(in, bytes, byte, out, bytes, byte, world);
    case GATHER:
        return take_Gather(in, bytes, byte, out, bytes, byte, 0, world);
    case SCATTER:
        return take_Scatter(in, bytes, byte, out, bytes, byte, 0, world);
    default:
        return take_Alltoall(in, bytes, byte, out, bytes, byte, world);
    }
}

/*
 * Measures all engines for one length until the time is over; rank 0 decides when. Returns an error
 * of MPI.
 */
static int tune_length(enum operation op, int bytes, const struct communicator *c, char *in, char *out, unsigned long long time,
                       struct tuned result[TUNE_WAYS])
{
    static int times[TUNE_WAYS][TUNE_MOST], longest[TUNE_MOST];
    unsigned long long begin = nanoseconds();
    int way, i, n = 0, go = 1, err = 0;
    for (; !err && go && n + TUNE_BLOCK <= TUNE_MOST; n += TUNE_BLOCK) {
        for (way = OFF; way <= GO_ENGINE; way++) {
            if (way == GO_ENGINE && c->go < 0)
                continue;
            measured = (enum engine)way;
            for (i = -1; !err && i < TUNE_BLOCK; i++) { /* the first is not counted */
                unsigned long long from, took;
                if ((err = P_Barrier(c->inner)))
                    break;
                from = nanoseconds();
                err = tune_call(op, bytes, c, in, out);
                took = nanoseconds() - from;
                if (i >= 0)
                    times[way][n + i] = took < INT_MAX ? -(int)took : -INT_MAX;
            }
        }
        go = nanoseconds() - begin < time;
        if (!err)
            err = P_Bcast(&go, 1, mpi.type_int, 0, c->inner);
    }
    for (way = OFF; !err && way <= GO_ENGINE; way++) {
        if (way == GO_ENGINE && c->go < 0) {
            result[way] = result[OFF];
            continue;
        }
        if ((err = P_Allreduce(times[way], longest, n, mpi.type_int, mpi.op_min, c->inner))) /* of the negative times */
            break;
        for (i = 0; i < n; i++)
            longest[i] = -longest[i];
        qsort(longest, (size_t)n, sizeof *longest, ascending_int);
        result[way].p10 = longest[n / 10];
        result[way].median = longest[n / 2];
    }
    return err;
}

static int tune_better(const struct tuned r[TUNE_WAYS], int way)
{
    return r[way].p10 <= tune_part * r[OFF].p10 && r[way].median <= tune_part * r[OFF].median;
}

/* The fastest engine that is better than MPI at both lengths. */
static enum engine tune_choice(const struct tuned a[TUNE_WAYS], const struct tuned b[TUNE_WAYS])
{
    double best = 0, time;
    int way, found = OFF;
    for (way = C_ENGINE; way <= GO_ENGINE; way++) {
        time = (double)a[way].median / a[OFF].median + (double)b[way].median / b[OFF].median;
        if (tune_better(a, way) && tune_better(b, way) && (found == OFF || time < best)) {
            found = way;
            best = time;
        }
    }
    return (enum engine)found;
}

/*
 * Sets the rules of one operation from measurements at n lengths. Between two lengths both must
 * agree.
 */
static void tune_rules(struct rules *r, enum operation op, struct tuned results[TUNE_LENGTHS][TUNE_WAYS], int n)
{
    int i;
    add_rule(r, op, 0, tune_choice(results[0], results[0]));
    for (i = 0; i < n && op != BARRIER; i++)
        add_rule(r, op, tune_lengths[i], tune_choice(results[i], results[i + 1 < n ? i + 1 : i]));
}

/* Prints the result for one length: the times of both engines as fractions of MPI's. */
static void tune_print(enum operation op, int bytes, const struct tuned r[TUNE_WAYS], int go, int percent)
{
    fprintf(stderr, "schedgen: tune: %3d %%  %-14s %8d B  MPI %10.2f us  c %5.2f", percent, operation_names[op], bytes, r[OFF].median * 1e-3,
            (double)r[C_ENGINE].median / r[OFF].median);
    if (go)
        fprintf(stderr, "  go %5.2f", (double)r[GO_ENGINE].median / r[OFF].median);
    fputc('\n', stderr);
}

/*
 * Reports whether an operation is measured at a length: blocks for and from all ranks must fit into
 * memory, and a reduce-scatter needs a block of at least one int for each rank.
 */
static int tune_fits(enum operation op, int bytes, int ranks)
{
    if (op == REDUCE_SCATTER)
        return bytes >= ranks * (int)sizeof(int);
    return op <= EXSCAN || (long long)bytes * ranks <= 16 << 20;
}

/*
 * Measures the barrier and the operations with blocks of equal length among all ranks, keeps the
 * rules, and makes rank 0 write them. seconds is the approximate duration. All ranks call it in the
 * same operation.
 */
static void tune(struct communicator *c, double seconds)
{
    static struct tuned results[TUNE_LENGTHS][TUNE_WAYS];
    struct rules *rules = calloc(1, sizeof *rules);
    size_t room = (size_t)(16 << 20);
    char *in = calloc(1, room), *out = calloc(1, room);
    char path[4096];
    int op, i, n, cells = 0, done = 0, err = 0;
    struct part part = begin_part();
    inside++;
    if (all_say(getenv("SCHEDGEN_MPI_GO") != NULL, c->inner))
        join(c);
    if (!all_say(rules && in && out && c->tables, c->inner))
        err = -1;
    inside--;
    for (op = BARRIER; op <= ALLTOALL; op++)
        for (i = 0; i < (op == BARRIER ? 1 : TUNE_LENGTHS); i++)
            cells += op == BARRIER || tune_fits((enum operation)op, tune_lengths[i], c->size);
    for (op = BARRIER; !err && op <= ALLTOALL; op++) {
        enum operation of = (enum operation)op;
        int first = -1;
        for (i = n = 0; !err && i < (op == BARRIER ? 1 : TUNE_LENGTHS); i++) {
            if (op != BARRIER && !tune_fits(of, tune_lengths[i], c->size))
                continue;
            if (first < 0)
                first = i;
            err = tune_length(of, tune_lengths[i], c, in, out, (unsigned long long)(seconds / cells * 1e9), results[i]);
            n = i + 1;
            done++;
            if (!err && world_rank == 0)
                tune_print(of, op == BARRIER ? 0 : tune_lengths[i], results[i], c->go >= 0, 100 * done / cells);
        }
        for (i = 0; i < first; i++) /* shorter lengths follow the shortest measured length */
            memcpy(results[i], results[first], sizeof results[i]);
        if (!err)
            tune_rules(rules, of, results, n);
    }
    measured = NOT_MEASURED;
    taken_by(NULL, -1);
    inside++;
    if (err || P_Bcast(rules, sizeof *rules, mpi.type_byte, 0, c->inner)) {
        free(rules);
        if (world_rank == 0)
            fprintf(stderr, "schedgen: tune: nothing was kept: %s\n", err < 0 ? "no tables, or no memory" : "an error of MPI");
    } else {
        set_rules(c, rules);
        if (c->rank == 0) {
            rules_path(path, sizeof path, c->size, c->together);
            if ((err = write_rules(path, rules)))
                fprintf(stderr, "schedgen: tune: %s: %s\n", path, strerror(err));
            else
                fprintf(stderr, "schedgen: tune: engine auto has its rules in %s\n", path);
        }
    }
    inside--;
    free(in);
    free(out);
    end_part(&part, MEASURING, 1);
}
