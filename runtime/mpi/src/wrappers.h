/*
 * What the library does when a program calls a function of MPI; profile.h has the functions that
 * the program calls. If the library does not perform an operation, the next function of that name
 * gets it with the same arguments; that function also reports invalid arguments.
 */

/* Reports whether the library may ask for a type's size. MPI reports invalid types. */
static int is_type(handle type) { return type != mpi.type_null && type != 0; }

/* The number of bytes of elements, or -1 if it cannot be determined. */
static long long bytes_of(int count, handle type, struct layout *l)
{
    if (count < 0 || !is_type(type) || layout_of(type, l))
        return -1;
    return (long long)count * l->size;
}

#define MPI(name) static int take_##name

MPI(Barrier)(handle comm)
{
    const struct communicator *c = enter(BARRIER, whole(comm));
    struct entry *e = c ? choose(BARRIER, c, 0, 0, 0, 1) : NULL;
    if (!e)
        PASS(Barrier, (handle), (comm));
    return failed(comm, barrier(c, e));
}

MPI(Bcast)(void *buffer, int count, handle type, int root, handle comm)
{
    const struct communicator *c = enter(BCAST, whole(comm));
    struct entry *e;
    struct layout l;
    long long bytes;
    type = whole(type);
    if (!c || root < 0 || root >= c->size || (bytes = bytes_of(count, type, &l)) <= 0 || !(e = choose(BCAST, c, bytes, bytes, 0, 1)))
        PASS(Bcast, (void *, int, handle, int, handle), (buffer, count, type, root, comm));
    return failed(comm, broadcast(c, e, buffer, count, type, root, &l));
}

/* The common part of operations that fold. all is the number of elements of a contribution. */
static struct entry *choose_fold(enum operation op, const struct communicator *c, long long all, handle type, handle op_handle, int root, int *commutes,
                                       struct layout *l)
{
    if (!c || root < 0 || root >= c->size || all <= 0 || all > INT_MAX || !is_type(type) || op_handle == mpi.op_null || op_handle == 0 ||
        layout_of(type, l) || is_left(op, c, all * l->size) || P_Op_commutative(op_handle, commutes))
        return NULL;
    if (!*commutes && root != 0) { /* in the tables, the root is rank 0 */
        note_passed(op, ORDER);
        return NULL;
    }
    /* The engine go takes elements whose bytes all lie before the next element. */
    return choose(op, c, all * l->size, all * l->size, !*commutes, l->lead == 0 && l->trail == 0 && l->extent > 0);
}

MPI(Reduce)(const void *in, void *out, int count, handle type, handle op, int root, handle comm)
{
    const struct communicator *c = enter(REDUCE, whole(comm));
    struct entry *e;
    struct layout l;
    int commutes;
    if (!(e = choose_fold(REDUCE, c, count, whole(type), whole(op), root, &commutes, &l)))
        PASS(Reduce, (const void *, void *, int, handle, handle, int, handle), (in, out, count, type, op, root, comm));
    return failed(comm, fold(c, e, in, out, count, NULL, 1, whole(type), whole(op), commutes, root, &l));
}

/* Allreduce, Scan and Exscan differ in their schedules only. */
#define FOLD(name, operation) \
    MPI(name)(const void *in, void *out, int count, handle type, handle op, handle comm) \
    { \
        const struct communicator *c = enter(operation, whole(comm)); \
        struct entry *e; \
        struct layout l; \
        int commutes; \
        if (!(e = choose_fold(operation, c, count, whole(type), whole(op), 0, &commutes, &l))) \
            PASS(name, (const void *, void *, int, handle, handle, handle), (in, out, count, type, op, comm)); \
        return failed(comm, fold(c, e, in, out, count, NULL, 1, whole(type), whole(op), commutes, 0, &l)); \
    }
FOLD(Allreduce, ALLREDUCE)
FOLD(Scan, SCAN)
FOLD(Exscan, EXSCAN)

MPI(Reduce_scatter_block)(const void *in, void *out, int count, handle type, handle op, handle comm)
{
    const struct communicator *c = enter(REDUCE_SCATTER, whole(comm));
    struct entry *e;
    struct layout l;
    int commutes;
    if (!c || !(e = choose_fold(REDUCE_SCATTER, c, (long long)count * c->size, whole(type), whole(op), 0, &commutes, &l)))
        PASS(Reduce_scatter_block, (const void *, void *, int, handle, handle, handle), (in, out, count, type, op, comm));
    return failed(comm, fold(c, e, in, out, count, NULL, c->size, whole(type), whole(op), commutes, 0, &l));
}

MPI(Reduce_scatter)(const void *in, void *out, const int *counts, handle type, handle op, handle comm)
{
    const struct communicator *c = enter(REDUCE_SCATTER, whole(comm));
    struct entry *e;
    struct layout l;
    long long all = 0;
    int commutes, i;
    for (i = 0; c && counts && i < c->size; i++)
        all = counts[i] < 0 || all < 0 ? -1 : all + counts[i];
    if (!(e = choose_fold(REDUCE_SCATTER, c, all, whole(type), whole(op), 0, &commutes, &l)))
        PASS(Reduce_scatter, (const void *, void *, const int *, handle, handle, handle), (in, out, counts, type, op, comm));
    return failed(comm, fold(c, e, in, out, 0, counts, c->size, whole(type), whole(op), commutes, 0, &l));
}

/*
 * The length of a block, from whichever of its two sides this rank has, or -1 if it cannot be
 * determined.
 */
static long long block_of(struct blocks *b)
{
    long long in = -1, out = -1;
    if (b->held && b->in != mpi.in_place)
        in = bytes_of(b->in_count, b->in_type, &b->in_layout);
    if (b->wanted && b->out != mpi.in_place)
        out = bytes_of(b->out_count, b->out_type, &b->out_layout);
    return in >= 0 ? in : out;
}

static struct entry *choose_move(enum operation op, const struct communicator *c, struct blocks *b, int root, int blocks)
{
    long long bytes;
    if (root < 0 || root >= c->size || (bytes = block_of(b)) <= 0)
        return NULL;
    b->bytes = bytes > INT_MAX ? 0 : (int)bytes;
    return choose(op, c, bytes, bytes * blocks, 0, 1);
}

MPI(Allgather)(const void *in, int in_count, handle in_type, void *out, int out_count, handle out_type, handle comm)
{
    const struct communicator *c = enter(ALLGATHER, whole(comm));
    struct entry *e = NULL;
    if (c) {
        struct blocks b = {in, out, in_count, out_count, whole(in_type), whole(out_type), {0}, {0}, 1, c->size, 0, c->rank, 0};
        if ((e = choose_move(ALLGATHER, c, &b, 0, c->size)))
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
        if ((e = choose_move(ALLTOALL, c, &b, 0, c->size)))
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
        if ((e = choose_move(GATHER, c, &b, root, c->size)))
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
        if ((e = choose_move(SCATTER, c, &b, root, c->size)))
            return failed(comm, move(c, e, &b, root));
    }
    PASS(Scatter, (const void *, int, handle, void *, int, handle, int, handle), (in, in_count, in_type, out, out_count, out_type, root, comm));
}

MPI(Allgatherv)(const void *in, int in_count, handle in_type, void *out, const int *counts, const int *displacements, handle out_type, handle comm)
{
    const struct communicator *c = enter(ALLGATHERV, whole(comm));
    struct entry *e;
    struct layout in_layout, out_layout;
    long long all = 0;
    int i;
    if (c && (bytes_of(0, whole(out_type), &out_layout) < 0 || (in != mpi.in_place && bytes_of(in_count, whole(in_type), &in_layout) < 0)))
        c = NULL;
    for (i = 0; c && i < c->size; i++)
        all = counts[i] < 0 || all < 0 ? -1 : all + (long long)counts[i] * out_layout.size;
    if (!c || all <= 0 || !(e = choose(ALLGATHERV, c, all / c->size, all, 0, 1)))
        PASS(Allgatherv, (const void *, int, handle, void *, const int *, const int *, handle, handle),
             (in, in_count, in_type, out, counts, displacements, out_type, comm));
    return failed(comm, move_all(c, e, in, in_count, whole(in_type), &in_layout, out, counts, displacements, whole(out_type), &out_layout, (int)all));
}

/* The sides of a gatherv. Only the root gets blocks; in place its own is there already. */
static int sides_of_gatherv(const struct communicator *c, const void *in, int in_count, handle in_type, void *out, const int *counts,
                            const int *displacements, handle out_type, int root, struct side *from, struct side *to)
{
    struct side none = {NULL, 0, NULL, NULL, mpi.type_null}, given = {in, in_count, NULL, NULL, whole(in_type)},
                all = {out, 0, counts, displacements, whole(out_type)};
    *to = c->rank == root ? all : none;
    *from = given;
    return c->rank == root && in == mpi.in_place ? own_block(from, to, root) : 0;
}

MPI(Gatherv)(const void *in, int in_count, handle in_type, void *out, const int *counts, const int *displacements, handle out_type, int root, handle comm)
{
    const struct communicator *c = enter(GATHERV, whole(comm));
    struct entry *e;
    struct side from, to;
    int err;
    if (!c || root < 0 || root >= c->size || !(e = choose(GATHERV, c, 0, 0, 0, 1)))
        PASS(Gatherv, (const void *, int, handle, void *, const int *, const int *, handle, int, handle),
             (in, in_count, in_type, out, counts, displacements, out_type, root, comm));
    if (!(err = sides_of_gatherv(c, in, in_count, in_type, out, counts, displacements, out_type, root, &from, &to)))
        err = move_straight(c, e, &from, &to, c->rank == root ? counts[root] : 0, root, in == mpi.in_place);
    return failed(comm, err);
}

/* The sides of a scatterv. Only the root sends blocks; in place its own stays there. */
static int sides_of_scatterv(const struct communicator *c, const void *in, const int *counts, const int *displacements, handle in_type, void *out,
                             int out_count, handle out_type, int root, struct side *from, struct side *to)
{
    struct side none = {NULL, 0, NULL, NULL, mpi.type_null}, given = {out, out_count, NULL, NULL, whole(out_type)},
                all = {in, 0, counts, displacements, whole(in_type)};
    *from = c->rank == root ? all : none;
    *to = given;
    return c->rank == root && out == mpi.in_place ? own_block(to, from, root) : 0;
}

MPI(Scatterv)(const void *in, const int *counts, const int *displacements, handle in_type, void *out, int out_count, handle out_type, int root, handle comm)
{
    const struct communicator *c = enter(SCATTERV, whole(comm));
    struct entry *e;
    struct side from, to;
    int err;
    if (!c || root < 0 || root >= c->size || !(e = choose(SCATTERV, c, 0, 0, 0, 1)))
        PASS(Scatterv, (const void *, const int *, const int *, handle, void *, int, handle, int, handle),
             (in, counts, displacements, in_type, out, out_count, out_type, root, comm));
    if (!(err = sides_of_scatterv(c, in, counts, displacements, in_type, out, out_count, out_type, root, &from, &to)))
        err = move_straight(c, e, &from, &to, to.count, root, out == mpi.in_place);
    return failed(comm, err);
}

MPI(Alltoallv)(const void *in, const int *in_counts, const int *in_displacements, handle in_type, void *out, const int *out_counts, const int *out_displacements,
               handle out_type, handle comm)
{
    const struct communicator *c = enter(ALLTOALLV, whole(comm));
    struct entry *e;
    struct side from = {in, 0, in_counts, in_displacements, whole(in_type)}, to = {out, 0, out_counts, out_displacements, whole(out_type)};
    if (!c || in == mpi.in_place || !(e = choose(ALLTOALLV, c, 0, 0, 0, 1)))
        PASS(Alltoallv, (const void *, const int *, const int *, handle, void *, const int *, const int *, handle, handle),
             (in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type, comm));
    return failed(comm, move_straight(c, e, &from, &to, out_counts[c->rank], 0, 0));
}
