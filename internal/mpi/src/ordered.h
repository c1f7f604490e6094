/*
 * Folds whose bits depend on nothing but the contributions: exact sums (SCHEDGEN_EXACT_SUM) and
 * folds in the order of the ranks (schedgen_reproducible_allreduce). Every rank, or the root, gets
 * the contributions of all ranks, or those to its part of the vector, and folds them itself. The
 * MPI moves them, on the program's communicator, so nothing has to be set up.
 */
/* Says what is wrong with a call, and returns the error class. */
__attribute__((format(printf, 3, 4))) static int refused(const char *name, int err, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "schedgen: %s: rank %d: %s\n", name, world_rank, text);
    return err;
}

static handle exact_op; /* SCHEDGEN_EXACT_SUM, or 0: it does not exist yet */

static int is_exact(handle op) { return op && op == __atomic_load_n(&exact_op, __ATOMIC_RELAXED); }

/* The function of that operation for MPI, which must not fold by it: it would round. */
static void round_exact(void *in, void *out, int *count, void *type)
{
    (void)in, (void)out, (void)count, (void)type;
    refused("SCHEDGEN_EXACT_SUM", 0, "the MPI was to add up. Link -lschedgen before the MPI, and pass it to MPI_Reduce or MPI_Allreduce");
    P_Abort(mpi.comm_world, 1);
}

/* An operation that refuses to sum exactly. All its ranks pass the same operation. */
static int not_exact(const char *name, handle comm)
{
    return failed(comm, refused(name, mpi.err_op, "SCHEDGEN_EXACT_SUM is for MPI_Reduce and MPI_Allreduce"));
}

/* A fold of all ranks. */
struct rows {
    handle type, op;
    struct layout layout;
    int exact; /* bytes of an element, or 0: in the order of the ranks */
    int ranks;
};

static char *new_rows(const struct rows *r, long long n)
{
    char *memory = calloc(1, (size_t)(r->layout.lead + n * r->layout.extent + r->layout.trail) + 1);
    return memory ? memory + r->layout.lead : NULL;
}

static void free_rows(const struct rows *r, char *rows)
{
    if (rows)
        free(rows - r->layout.lead);
}

/* Folds rows of n elements. Sets *result to where the result is: in one of the rows. */
static int fold_rows(const struct rows *r, char *rows, int n, char **result)
{
    const ptrdiff_t row = (ptrdiff_t)n * r->layout.extent;
    int i, err = 0;
    *result = rows + (r->ranks - 1) * row;
    if (r->exact) {
        char *sums = malloc((size_t)row + 1);
        if (!sums)
            return mpi.err_no_mem;
        GO(err, go_exact(sums, rows, (size_t)n, (size_t)r->ranks, r->exact));
        memcpy(*result, sums, (size_t)row);
        free(sums);
        return err;
    }
    for (i = 1; !err && i < r->ranks; i++)
        err = P_Reduce_local(rows + (i - 1) * row, rows + i * row, n, r->type, r->op);
    return err;
}

/* Up to so many bytes of all ranks it is faster to move everything to all. */
enum { ALL_AT_ONCE = 32 << 10 };

/* Moves and folds count elements of each rank. root is -1 for all ranks. */
static int move_rows(const struct rows *r, const void *in, void *out, int count, int root, handle comm, int rank)
{
    const int size = r->ranks, has = root < 0 || rank == root, apart = (long long)count * size * r->layout.extent > ALL_AT_ONCE;
    const long long held = !apart ? (has ? (long long)count * size : 0) : ((long long)count * (rank + 1) / size - (long long)count * rank / size) * size;
    char *rows = new_rows(r, held), *result = NULL;
    int *parts = malloc(4 * (size_t)size * sizeof *parts), *starts = parts + size, *mine = starts + size, *places = mine + size;
    int own = (int)(held / size), i, err;
    if (!all_say(rows && parts, comm)) {
        err = mpi.err_no_mem;
    } else if (!apart) {
        err = root < 0 ? P_Allgather(in, count, r->type, rows, count, r->type, comm) : P_Gather(in, count, r->type, rows, count, r->type, root, comm);
        if (!err && has && !(err = fold_rows(r, rows, count, &result)))
            err = P_Sendrecv(result, count, r->type, 0, 0, out, count, r->type, 0, 0, mpi.comm_self, mpi.status_ignore);
    } else {
        for (i = 0; i < size; i++) {
            starts[i] = (int)((long long)count * i / size);
            parts[i] = (int)((long long)count * (i + 1) / size) - starts[i];
            mine[i] = own;
            places[i] = i * own;
        }
        err = P_Alltoallv(in, parts, starts, r->type, rows, mine, places, r->type, comm);
        if (!err)
            err = fold_rows(r, rows, own, &result);
        if (!err)
            err = root < 0 ? P_Allgatherv(result, own, r->type, out, parts, starts, r->type, comm)
                           : P_Gatherv(result, own, r->type, out, parts, starts, r->type, root, comm);
    }
    free_rows(r, rows);
    free(parts);
    return err;
}

/*
 * Reports whether this rank may begin such a fold: 0, or an error class after it has said why not.
 * name is the function that the program has called.
 */
static int takes_rows(const char *name, struct rows *r, const void *in, const void *out, int count, int root, int rank)
{
    const int has = root < 0 || rank == root;
    const char *wrong;
    int element = NO_ELEMENT, i;
    if (root >= r->ranks)
        return refused(name, mpi.err_arg, "the root is %d of %d ranks", root, r->ranks);
    if (count < 0)
        return refused(name, mpi.err_count, "the count is %d", count);
    if (!is_type(r->type))
        return refused(name, ERR_TYPE, "there is no type");
    if (r->op == mpi.op_null || !r->op)
        return refused(name, mpi.err_op, "there is no operation");
    if (r->exact) {
        for (i = 0; i < TYPES; i++)
            if (known_types[i] == r->type)
                element = known_elements[i];
        r->exact = element == FLOAT_8 ? 8 : 4;
        if (element != FLOAT_8 && element != FLOAT_4)
            return refused(name, ERR_TYPE, "SCHEDGEN_EXACT_SUM adds MPI_DOUBLE and MPI_FLOAT");
        if ((wrong = open_go()))
            return refused(name, mpi.err_other, "SCHEDGEN_EXACT_SUM: %s", wrong);
    } else if (!takes_types(ALLREDUCE, mpi.type_byte, r->type, r->op)) {
        return refused(name, mpi.err_op, "the MPI does not fold this type by this operation");
    }
    if (layout_of(r->type, &r->layout))
        return refused(name, ERR_TYPE, "the MPI does not know the type");
    if (r->layout.extent <= 0 && count > 0)
        return refused(name, ERR_TYPE, "the elements have an extent of %ld bytes", (long)r->layout.extent);
    if (count > 0 && r->layout.plain && ((!in && in != mpi.in_place) || (has && (!out || out == mpi.in_place))))
        return refused(name, ERR_BUFFER, "there is no buffer");
    if (in == mpi.in_place && !has)
        return refused(name, ERR_BUFFER, "only the root may pass MPI_IN_PLACE");
    return 0;
}

/*
 * Folds exactly, or in the order of the ranks. All ranks find out first whether all can. Then none
 * waits for another that has wrong arguments.
 */
static int fold_by_rows(const char *name, const void *in, void *out, int count, handle type, handle op, int root, handle comm)
{
    struct rows r = {type, op, {0}, is_exact(op), 0};
    int rank, inter, err, mine[6], all[6] = {0};
    inside++;
    if ((err = P_Comm_test_inter(comm, &inter)) || (err = P_Comm_size(comm, &r.ranks)) || (err = P_Comm_rank(comm, &rank))) {
        inside--;
        return err;
    }
    if (inter) {
        inside--;
        return refused(name, ERR_COMM, "it is not for inter-communicators");
    }
    err = takes_rows(name, &r, in, out, count, root, rank);
    mine[0] = err ? 0 : 1;
    mine[1] = count;
    mine[2] = -count;
    mine[3] = r.layout.size;
    mine[4] = -r.layout.size;
    mine[5] = err ? rank : INT_MAX;
    if (P_Allreduce(mine, all, 6, mpi.type_int, mpi.op_min, comm)) {
        err = err ? err : mpi.err_other;
    } else if (!all[0]) {
        err = err ? err : refused(name, mpi.err_other, "rank %d of the communicator has refused", all[5]);
    } else if (all[1] != -all[2] || (long long)all[3] + all[4]) {
        err = refused(name, mpi.err_count, "the ranks pass %d to %d elements of %d to %d bytes; this one passes %d of %d", all[1], -all[2], all[3], -all[4],
                      count, r.layout.size);
    } else if (count > 0) {
        if (r.exact)
            taken_by(&exact_sums, (long long)count * r.layout.size);
        err = move_rows(&r, in == mpi.in_place ? out : in, out, count, root, comm, rank);
    }
    inside--;
    return err;
}
