/*
 * What the library does when a program calls a function of MPI; profile.h has the functions that
 * the program calls. If the library does not perform an operation, the next function of that name
 * gets it with the same arguments; that function also reports invalid arguments.
 */

#define MPI(name) static int take_##name

MPI(Barrier)(handle comm)
{
    const struct communicator *c = enter(BARRIER, whole(comm));
    struct entry *e = c ? choose(BARRIER, c, 0, 0, 0, 1, 0, 0) : NULL;
    if (!e)
        PASS(Barrier, (handle), (comm));
    return failed(comm, barrier(c, e));
}

MPI(Bcast)(void *buffer, int count, handle type, int root, handle comm)
{
    const struct communicator *c = enter(BCAST, whole(comm));
    struct entry *e = NULL;
    struct layout l;
    type = whole(type);
    if (c && !is_settled(BCAST, c, (long long)count * known_size(type), 0) && !is_always_left(BCAST, c) && takes_message(BCAST, c, buffer, count, type, root, &l))
        e = choose(BCAST, c, (long long)count * l.size, (long long)count * l.size, 0, 1, (long long)count * l.size, 0);
    if (!e)
        PASS(Bcast, (void *, int, handle, int, handle), (buffer, count, type, root, comm));
    return failed(comm, broadcast(c, e, buffer, count, type, root, &l));
}

/* The same for folds by kernels of the engine, which commute. */
static int is_settled_fold(enum operation op, const struct communicator *c, long long all, handle type, handle op_handle)
{
    int kernel;
    return c->turns && (kernel = kernel_of(type, op_handle)) && is_settled(op, c, all * known_size(type) / (op == REDUCE_SCATTER ? c->size : 1), kernel);
}

/*
 * The common part of operations that fold. all is the number of elements of a contribution, own that
 * of this rank's result, and longest that of the longest block, or 0 if all blocks have one length.
 */
static struct entry *choose_fold(enum operation op, const struct communicator *c, const void **in, void *out, long long own, long long all, long long longest,
                                 handle type, handle op_handle, int root, int *commutes, struct layout *l)
{
    if (c && !longest && is_settled_fold(op, c, all, type, op_handle))
        return NULL;
    if (!c || is_always_left(op, c) || !takes_fold(op, c, in, out, own, all, type, op_handle, root, l) || is_left(op, c, all * l->size) ||
        P_Op_commutative(op_handle, commutes))
        return NULL;
    if (!*commutes && root != 0) { /* in the tables, the root is rank 0 */
        note_passed(op, ORDER);
        return NULL;
    }
    /* The engine go takes elements whose bytes all lie before the next element. */
    return choose(op, c, all * l->size, all * l->size, !*commutes, l->lead == 0 && l->trail == 0 && l->extent > 0,
                  (longest ? longest : op == REDUCE_SCATTER ? all / c->size : all) * l->size, kernel_of(type, op_handle));
}

MPI(Reduce)(const void *in, void *out, int count, handle type, handle op, int root, handle comm)
{
    const struct communicator *c = enter(REDUCE, whole(comm));
    const void *from = in;
    struct entry *e;
    struct layout l;
    int commutes;
    if (is_exact(whole(op)))
        return failed(comm, fold_by_rows("MPI_Reduce", in, out, count, whole(type), whole(op), root, whole(comm)));
    if (!(e = choose_fold(REDUCE, c, &from, out, count, count, 0, whole(type), whole(op), root, &commutes, &l)))
        PASS(Reduce, (const void *, void *, int, handle, handle, int, handle), (in, out, count, type, op, root, comm));
    return failed(comm, fold(c, e, from, out, count, NULL, 1, whole(type), whole(op), commutes, root, &l));
}

/*
 * Allreduce, Scan and Exscan differ in their schedules, and in what they do if they are to sum
 * exactly.
 */
#define FOLD(name, operation, exactly) \
    MPI(name)(const void *in, void *out, int count, handle type, handle op, handle comm) \
    { \
        const struct communicator *c = enter(operation, whole(comm)); \
        const void *from = in; \
        struct entry *e; \
        struct layout l; \
        int commutes; \
        if (is_exact(whole(op))) \
            return exactly; \
        if (!(e = choose_fold(operation, c, &from, out, count, count, 0, whole(type), whole(op), 0, &commutes, &l))) \
            PASS(name, (const void *, void *, int, handle, handle, handle), (in, out, count, type, op, comm)); \
        return failed(comm, fold(c, e, from, out, count, NULL, 1, whole(type), whole(op), commutes, 0, &l)); \
    }
FOLD(Allreduce, ALLREDUCE, failed(comm, fold_by_rows("MPI_Allreduce", in, out, count, whole(type), whole(op), -1, whole(comm))))
FOLD(Scan, SCAN, not_exact("MPI_Scan", comm))
FOLD(Exscan, EXSCAN, not_exact("MPI_Exscan", comm))

MPI(Reduce_scatter_block)(const void *in, void *out, int count, handle type, handle op, handle comm)
{
    const struct communicator *c = enter(REDUCE_SCATTER, whole(comm));
    const void *from = in;
    struct entry *e;
    struct layout l;
    int commutes;
    if (is_exact(whole(op)))
        return not_exact("MPI_Reduce_scatter_block", comm);
    if (!c || !(e = choose_fold(REDUCE_SCATTER, c, &from, out, count, (long long)count * c->size, 0, whole(type), whole(op), 0, &commutes, &l)))
        PASS(Reduce_scatter_block, (const void *, void *, int, handle, handle, handle), (in, out, count, type, op, comm));
    return failed(comm, fold(c, e, from, out, count, NULL, c->size, whole(type), whole(op), commutes, 0, &l));
}

MPI(Reduce_scatter)(const void *in, void *out, const int *counts, handle type, handle op, handle comm)
{
    const struct communicator *c = enter(REDUCE_SCATTER, whole(comm));
    const void *from = in;
    struct entry *e;
    struct layout l;
    int commutes;
    if (is_exact(whole(op)))
        return not_exact("MPI_Reduce_scatter", comm);
    if (!c || !counts || !(e = choose_fold(REDUCE_SCATTER, c, &from, out, counts[c->rank], sum_of(counts, c->size), greatest_of(counts, c->size), whole(type), whole(op), 0, &commutes, &l)))
        PASS(Reduce_scatter, (const void *, void *, const int *, handle, handle, handle), (in, out, counts, type, op, comm));
    return failed(comm, fold(c, e, from, out, 0, counts, c->size, whole(type), whole(op), commutes, 0, &l));
}

/* The bytes of a block, if they are known at once, or 0. */
static long long known_block(const struct blocks *b)
{
    const long long in = (long long)b->in_count * known_size(b->in_type), out = (long long)b->out_count * known_size(b->out_type);
    if (!b->held || b->in == mpi.in_place)
        return out;
    if (!b->wanted || b->out == mpi.in_place)
        return in;
    return in == out ? in : 0;
}

static struct entry *choose_move(enum operation op, const struct communicator *c, struct blocks *b, int root)
{
    if ((c->turns && is_settled(op, c, known_block(b), 0)) || is_always_left(op, c) || !takes_move(op, c, b, root))
        return NULL;
    return choose(op, c, b->bytes, (long long)b->bytes * c->size, 0, 1, b->bytes, 0);
}

MPI(Allgather)(const void *in, int in_count, handle in_type, void *out, int out_count, handle out_type, handle comm)
{
    const struct communicator *c = enter(ALLGATHER, whole(comm));
    struct entry *e = NULL;
    if (c) {
        struct blocks b = {in, out, in_count, out_count, whole(in_type), whole(out_type), {0}, {0}, 1, c->size, 0, c->rank, 0};
        if ((e = choose_move(ALLGATHER, c, &b, 0)))
            return failed(comm, move(c, e, &b, 0));
    }
    PASS(Allgather, (const void *, int, handle, void *, int, handle, handle), (in, in_count, in_type, out, out_count, out_type, comm));
}

MPI(Alltoall)(const void *in, int in_count, handle in_type, void *out, int out_count, handle out_type, handle comm)
{
    const struct communicator *c = enter(ALLTOALL, whole(comm));
    struct entry *e = NULL;
    if (c) {
        struct blocks b = {in, out, in_count, out_count, whole(in_type), whole(out_type), {0}, {0}, c->size, c->size, c->rank, c->rank, 0};
        if ((e = choose_move(ALLTOALL, c, &b, 0)))
            return failed(comm, move(c, e, &b, 0));
    }
    PASS(Alltoall, (const void *, int, handle, void *, int, handle, handle), (in, in_count, in_type, out, out_count, out_type, comm));
}

MPI(Gather)(const void *in, int in_count, handle in_type, void *out, int out_count, handle out_type, int root, handle comm)
{
    const struct communicator *c = enter(GATHER, whole(comm));
    struct entry *e = NULL;
    if (c) {
        struct blocks b = {in, out, in_count, out_count, whole(in_type), whole(out_type), {0}, {0}, 1, c->rank == root ? c->size : 0, 0, root, 0};
        if ((e = choose_move(GATHER, c, &b, root)))
            return failed(comm, move(c, e, &b, root));
    }
    PASS(Gather, (const void *, int, handle, void *, int, handle, int, handle), (in, in_count, in_type, out, out_count, out_type, root, comm));
}

MPI(Scatter)(const void *in, int in_count, handle in_type, void *out, int out_count, handle out_type, int root, handle comm)
{
    const struct communicator *c = enter(SCATTER, whole(comm));
    struct entry *e = NULL;
    if (c) {
        struct blocks b = {in, out, in_count, out_count, whole(in_type), whole(out_type), {0}, {0}, c->rank == root ? c->size : 0, 1, root, 0, 0};
        if ((e = choose_move(SCATTER, c, &b, root)))
            return failed(comm, move(c, e, &b, root));
    }
    PASS(Scatter, (const void *, int, handle, void *, int, handle, int, handle), (in, in_count, in_type, out, out_count, out_type, root, comm));
}

MPI(Allgatherv)(const void *in, int in_count, handle in_type, void *out, const int *counts, const int *displacements, handle out_type, handle comm)
{
    const struct communicator *c = enter(ALLGATHERV, whole(comm));
    const struct side one = {in, in_count, NULL, NULL, whole(in_type)}, to = {out, 0, counts, displacements, whole(out_type)};
    struct entry *e = NULL;
    struct layout in_layout, out_layout;
    long long all = 0;
    int twice;
    if (c && !is_always_left(ALLGATHERV, c) && takes_sides(ALLGATHERV, c, in == mpi.in_place ? NULL : &one, &to, 0, &twice) &&
        !layout_of(to.type, &out_layout) && (all = sum_of(counts, c->size) * out_layout.size) > 0)
        e = choose(ALLGATHERV, c, all / c->size, all, 0, 1, greatest_of(counts, c->size) * out_layout.size, 0);
    if (!e || (in != mpi.in_place && layout_of(one.type, &in_layout)))
        PASS(Allgatherv, (const void *, int, handle, void *, const int *, const int *, handle, handle),
             (in, in_count, in_type, out, counts, displacements, out_type, comm));
    return failed(comm, move_all(c, e, twice ? mpi.in_place : in, in_count, one.type, &in_layout, out, counts, displacements, to.type, &out_layout, (int)all));
}

/*
 * Sets the sides of a gatherv, and reports whether the rank may begin it. Only the root gets blocks;
 * in place its own is there already.
 */
static int takes_gatherv(int form, const struct communicator *c, const void **in, int in_count, handle in_type, void *out, const int *counts,
                         const int *displacements, handle out_type, int root, struct side *from, struct side *to)
{
    const struct side none = {NULL, 0, NULL, NULL, mpi.type_null}, given = {*in, in_count, NULL, NULL, whole(in_type)},
                      all = {out, 0, counts, displacements, whole(out_type)};
    const int is_root = c->rank == root;
    int twice;
    if (!takes_sides(form, c, is_root && *in == mpi.in_place ? NULL : &given, is_root ? &all : NULL, root, &twice))
        return 0;
    if (twice)
        *in = mpi.in_place;
    *to = is_root ? all : none;
    *from = given;
    return *in != mpi.in_place || !own_block(from, to, root);
}

MPI(Gatherv)(const void *in, int in_count, handle in_type, void *out, const int *counts, const int *displacements, handle out_type, int root, handle comm)
{
    const struct communicator *c = enter(GATHERV, whole(comm));
    const void *mine = in;
    struct entry *e = NULL;
    struct side from, to;
    if (c && !is_always_left(GATHERV, c) &&
        takes_gatherv(GATHERV, c, &mine, in_count, in_type, out, counts, displacements, out_type, root, &from, &to))
        e = choose(GATHERV, c, 0, 0, 0, 1, UNKNOWN_TO_SOME, 0);
    if (!e)
        PASS(Gatherv, (const void *, int, handle, void *, const int *, const int *, handle, int, handle),
             (in, in_count, in_type, out, counts, displacements, out_type, root, comm));
    return failed(comm, move_straight(c, e, &from, &to, c->rank == root ? counts[root] : 0, root, mine == mpi.in_place));
}

/*
 * Sets the sides of a scatterv, and reports whether the rank may begin it. Only the root sends
 * blocks; in place its own stays there.
 */
static int takes_scatterv(int form, const struct communicator *c, const void *in, const int *counts, const int *displacements, handle in_type, void **out,
                          int out_count, handle out_type, int root, struct side *from, struct side *to)
{
    const struct side none = {NULL, 0, NULL, NULL, mpi.type_null}, given = {*out, out_count, NULL, NULL, whole(out_type)},
                      all = {in, 0, counts, displacements, whole(in_type)};
    const int is_root = c->rank == root;
    int twice;
    if (!takes_sides(form, c, is_root ? &all : NULL, is_root && *out == mpi.in_place ? NULL : &given, root, &twice))
        return 0;
    if (twice)
        *out = mpi.in_place;
    *from = is_root ? all : none;
    *to = given;
    return *out != mpi.in_place || !own_block(to, from, root);
}

MPI(Scatterv)(const void *in, const int *counts, const int *displacements, handle in_type, void *out, int out_count, handle out_type, int root, handle comm)
{
    const struct communicator *c = enter(SCATTERV, whole(comm));
    void *mine = out;
    struct entry *e = NULL;
    struct side from, to;
    if (c && !is_always_left(SCATTERV, c) &&
        takes_scatterv(SCATTERV, c, in, counts, displacements, in_type, &mine, out_count, out_type, root, &from, &to))
        e = choose(SCATTERV, c, 0, 0, 0, 1, UNKNOWN_TO_SOME, 0);
    if (!e)
        PASS(Scatterv, (const void *, const int *, const int *, handle, void *, int, handle, int, handle),
             (in, counts, displacements, in_type, out, out_count, out_type, root, comm));
    return failed(comm, move_straight(c, e, &from, &to, to.count, root, mine == mpi.in_place));
}

MPI(Alltoallv)(const void *in, const int *in_counts, const int *in_displacements, handle in_type, void *out, const int *out_counts, const int *out_displacements,
               handle out_type, handle comm)
{
    const struct communicator *c = enter(ALLTOALLV, whole(comm));
    struct entry *e = NULL;
    struct side from = {in, 0, in_counts, in_displacements, whole(in_type)}, to = {out, 0, out_counts, out_displacements, whole(out_type)};
    int twice;
    if (c && in != mpi.in_place && !is_always_left(ALLTOALLV, c) && takes_sides(ALLTOALLV, c, &from, &to, 0, &twice))
        e = choose(ALLTOALLV, c, 0, 0, 0, 1, UNKNOWN_TO_SOME, 0);
    if (!e)
        PASS(Alltoallv, (const void *, const int *, const int *, handle, void *, const int *, const int *, handle, handle),
             (in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type, comm));
    return failed(comm, move_straight(c, e, &from, &to, out_counts[c->rank], 0, 0));
}

/*
 * The blocks of one buffer of an alltoallw. Each has a type and a place in bytes of its own. They are
 * packed, and then moved by an alltoallv of bytes.
 */
struct wide {
    char *at;
    const int *counts, *displacements;
    const void *types;
    char *bytes;          /* packed */
    int *lengths, *starts; /* of the packed blocks */
};

static handle type_at(const struct wide *w, int i) { return whole(request_at(w->types, i)); }

/* Makes room for the packed blocks, and packs them if they are sent. */
static int pack_wide(const struct communicator *c, struct wide *w, int packs)
{
    struct layout l;
    long long all = 0, length;
    int i, err = 0;
    if (!(w->lengths = malloc(2 * (size_t)c->size * sizeof *w->lengths)))
        return SG_NO_MEMORY;
    w->starts = w->lengths + c->size;
    for (i = 0; i < c->size; i++) {
        l.size = 0;
        if (w->counts[i] && (err = layout_of(type_at(w, i), &l)))
            return err;
        length = (long long)w->counts[i] * l.size;
        w->starts[i] = (int)all;
        w->lengths[i] = (int)length;
        if ((all += length) > INT_MAX)
            return SG_TOO_LONG;
    }
    if (!(w->bytes = malloc((size_t)all + 1)))
        return SG_NO_MEMORY;
    for (i = 0; packs && !err && i < c->size; i++)
        if (w->counts[i] && !(err = layout_of(type_at(w, i), &l)))
            err = pack_block(c->inner, w->bytes + w->starts[i], w->at + w->displacements[i], w->counts[i], &l, type_at(w, i), 0);
    return err;
}

static int unpack_wide(const struct wide *w, int ranks, handle comm)
{
    struct layout l;
    int i, err = 0;
    for (i = 0; !err && i < ranks; i++)
        if (w->counts[i] && !(err = layout_of(type_at(w, i), &l)))
            err = pack_block(comm, w->bytes + w->starts[i], w->at + w->displacements[i], w->counts[i], &l, type_at(w, i), 1);
    return err;
}

/* Reports whether the arguments of one side are valid. Blocks often have the same type. */
static int takes_wide(const struct communicator *c, const struct wide *w)
{
    handle type = mpi.type_byte;
    struct layout l;
    int i;
    if (!w->counts || !w->displacements || !w->types)
        return 0;
    for (i = 0; i < c->size; i++) {
        if (w->counts[i] < 0 || !is_type(type_at(w, i)))
            return 0;
        if (type_at(w, i) != type && !takes_types(ALLTOALLV, type_at(w, i), type_at(w, i), 0))
            return 0;
        type = type_at(w, i);
        if (w->counts[i] > 0 && (layout_of(type, &l) || !is_there(w->at, &l)))
            return 0;
    }
    return 1;
}

static int move_wide(const struct communicator *c, struct entry *e, struct wide *from, struct wide *to)
{
    int err = pack_wide(c, from, 1), second = pack_wide(c, to, 0);
    if (!err)
        err = second;
    if (!err) {
        const struct side in = {from->bytes, 0, from->lengths, from->starts, mpi.type_byte}, out = {to->bytes, 0, to->lengths, to->starts, mpi.type_byte};
        err = move_straight(c, e, &in, &out, to->lengths[c->rank], 0, 0);
    }
    if (!err)
        err = unpack_wide(to, c->size, c->inner);
    if (!err) { /* otherwise messages may still be under way */
        free(from->bytes);
        free(from->lengths);
        free(to->bytes);
        free(to->lengths);
    }
    return err;
}

MPI(Alltoallw)(const void *in, const int *in_counts, const int *in_displacements, const void *in_types, void *out, const int *out_counts,
               const int *out_displacements, const void *out_types, handle comm)
{
    const struct communicator *c = enter(ALLTOALLV, whole(comm));
    struct entry *e = NULL;
    struct wide from = {(char *)in, in_counts, in_displacements, in_types, NULL, NULL, NULL},
                to = {out, out_counts, out_displacements, out_types, NULL, NULL, NULL};
    if (c && in != mpi.in_place && !is_always_left(ALLTOALLV, c)) {
        if (takes_wide(c, &from) && takes_wide(c, &to))
            e = choose(ALLTOALLV, c, 0, 0, 0, 1, UNKNOWN_TO_SOME, 0);
        else
            left(ALLTOALLW);
    }
    if (!e)
        PASS(Alltoallw, (const void *, const int *, const int *, const void *, void *, const int *, const int *, const void *, handle),
             (in, in_counts, in_displacements, in_types, out, out_counts, out_displacements, out_types, comm));
    return failed(comm, move_wide(c, e, &from, &to));
}
