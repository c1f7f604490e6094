/*
 * Nonblocking collective operations in the engine go; see requests.h. Whether the library performs
 * one depends on facts that all ranks know. Whether blocks are packed is each rank's own decision.
 */
static struct entry *choose_nonblocking(int form, long long all)
{
    if (all <= INT_MAX)
        return &go_entries[form];
    note_passed(form, TOO_LONG);
    return NULL;
}

/* Keeps a copy of a type until the operation has ended. */
static int keep_type(struct pending *p, handle type)
{
    handle copy = 0;
    int err = P_Type_contiguous(1, type, &copy);
    if (err)
        return err;
    p->type = read_handle(&copy);
    return P_Type_commit(&p->type);
}

/* Makes bytes be unpacked into elements of a type when the operation ends. */
static int unpack_at_end(struct pending *p, const char *from, int size, void *to, int count, handle type)
{
    p->from = from;
    p->to = to;
    p->size = size;
    p->count = count;
    return keep_type(p, type);
}

/* Starts an operation, or prepares a persistent one. Frees its data if there was an error. */
static int start_or_free(struct pending *p, const struct communicator *c, struct entry *e, struct sg_go_call *go, long long bytes, void *request, int err)
{
    if (e >= &go_entries[PERSISTENT])
        return prepare_or_free(p, c, e, go, bytes, request, err);
    if (!err)
        return start_go(p, c, e, go, bytes, request);
    if (p) {
        release_pending(p);
        free(p);
    }
    return err;
}

static int start_broadcast(const struct communicator *c, struct entry *e, void *buffer, int count, handle type, int root, const struct layout *l,
                           void *request)
{
    struct pending *p = calloc(1, sizeof *p);
    struct packed bytes;
    struct sg_go_call go = {.root = root};
    int size = count * l->size, err;
    if (!p)
        return SG_NO_MEMORY;
    err = c->rank == root ? pack(c, &bytes, buffer, count, type, l) : room(&bytes, buffer, size, l);
    go.dst = p->memory[0] = bytes.memory;
    if (!err && bytes.memory && c->rank != root)
        err = unpack_at_end(p, bytes.at, size, buffer, count, type);
    go.dst = bytes.at;
    go.dst_bytes = (size_t)size;
    if (c->rank == root) {
        go.src = bytes.at;
        go.src_bytes = (size_t)size;
    }
    return start_or_free(p, c, e, &go, size, request, err);
}

static int start_move(const struct communicator *c, struct entry *e, const struct blocks *b, int root, void *request)
{
    struct pending *p = calloc(1, sizeof *p);
    struct placed at;
    struct sg_go_call go;
    int err;
    if (!p)
        return SG_NO_MEMORY;
    if (!(err = place(c, b, &at)))
        err = call_of(b, &at, root, &go);
    p->memory[0] = at.in.memory ? at.in.memory : at.copy; /* at most one exists, unless out is in place */
    p->memory[1] = at.in.memory && at.copy ? at.copy : at.out.memory;
    if (!err && at.out.memory)
        err = unpack_at_end(p, at.out.at, b->bytes * b->wanted, b->out, b->out_count * b->wanted, b->out_type);
    return start_or_free(p, c, e, &go, (long long)b->bytes * (b->held > b->wanted ? b->held : b->wanted), request, err);
}

/* An operation with blocks of different lengths. wide is what these are the packed blocks of, or NULL. */
static int start_line(const struct communicator *c, struct entry *e, const struct side *in, const struct side *out, int root, int in_place,
                      struct widened *wide, void *request)
{
    struct pending *p = calloc(1, sizeof *p);
    struct line from;
    struct sg_go_call go;
    size_t bytes;
    int err, second;
    if (!p) {
        free_widened(wide);
        return SG_NO_MEMORY;
    }
    p->wide = wide;
    p->stays = in_place && (e - go_entries) % NONBLOCKING == SCATTERV;
    err = line_up(c, &p->line, out, 0, p->stays);
    second = line_up(c, &from, in, 1, is_twice(in, out));
    if (!err)
        err = second;
    p->memory[0] = from.memory;
    p->side = *out;
    if (!err && p->line.memory && !p->stays) {
        err = keep_type(p, out->type);
        p->side.type = p->type;
    }
    bytes = p->line.bytes > from.bytes ? p->line.bytes : from.bytes;
    go = lined_up(&from, &p->line, root);
    err = start_or_free(p, c, e, &go, (long long)bytes, request, err);
    free(from.lengths);
    return err;
}

/* A fold by a kernel of the engine. counts is NULL if all blocks have the same length. */
static int start_fold(const struct communicator *c, struct entry *e, const void *in, void *out, int count, const int *counts, int inputs, int kernel,
                      int root, long long all, const struct layout *l, void *request)
{
    enum operation op = (enum operation)((e - go_entries) % NONBLOCKING);
    int has = (op != REDUCE || c->rank == root) && (op != EXSCAN || c->rank > 0);
    int own = !has ? 0 : counts ? counts[c->rank] : count, in_place = in == mpi.in_place;
    struct pending *p = calloc(1, sizeof *p);
    struct sg_go_call go = {.root = root, .dst = out, .src = in_place ? out : in, .element = (size_t)l->size, .counts = counts, .blocks = inputs,
                            .own = own, .kernel = kernel};
    int err = 0;
    if (!p)
        return SG_NO_MEMORY;
    go.src_bytes = (size_t)all * (size_t)l->size;
    go.dst_bytes = (size_t)own * (size_t)l->size;
    if (in_place && inputs > 1) {
        if ((p->memory[0] = malloc(go.src_bytes + 1)))
            go.src = memcpy(p->memory[0], out, go.src_bytes);
        else
            err = SG_NO_MEMORY;
    }
    return start_or_free(p, c, e, &go, all * l->size, request, err);
}

MPI(Ibarrier)(handle comm, void *request)
{
    const struct communicator *c = enter_nonblocking(NONBLOCKING + BARRIER, whole(comm));
    struct pending *p;
    struct sg_go_call go = {0};
    if (!c)
        PASS(Ibarrier, (handle, void *), (comm, request));
    p = calloc(1, sizeof *p);
    return failed(comm, start_or_free(p, c, &go_entries[NONBLOCKING + BARRIER], &go, 0, request, p ? 0 : SG_NO_MEMORY));
}

MPI(Ibcast)(void *buffer, int count, handle type, int root, handle comm, void *request)
{
    const struct communicator *c = enter_nonblocking(NONBLOCKING + BCAST, whole(comm));
    struct entry *e = NULL;
    struct layout l;
    type = whole(type);
    if (c && takes_message(NONBLOCKING + BCAST, c, buffer, count, type, root, &l))
        e = choose_nonblocking(NONBLOCKING + BCAST, (long long)count * l.size);
    if (!e)
        PASS(Ibcast, (void *, int, handle, int, handle, void *), (buffer, count, type, root, comm, request));
    return failed(comm, start_broadcast(c, e, buffer, count, type, root, &l, request));
}

/*
 * The common part of operations that fold. all is the number of elements of a contribution, and own
 * that of this rank's result.
 */
static struct entry *choose_nonblocking_fold(int form, const struct communicator *c, const void **in, void *out, long long own, long long all,
                                             handle type, handle op_handle, int root, int *kernel, struct layout *l)
{
    if (!c || !takes_fold(form, c, in, out, own, all, type, op_handle, root, l))
        return NULL;
    if (!(*kernel = kernel_of(type, op_handle))) {
        note_passed(form, NO_KERNEL);
        return NULL;
    }
    return choose_nonblocking(form, all * l->size);
}

MPI(Ireduce)(const void *in, void *out, int count, handle type, handle op, int root, handle comm, void *request)
{
    const struct communicator *c = enter_nonblocking(NONBLOCKING + REDUCE, whole(comm));
    const void *from = in;
    struct entry *e;
    struct layout l;
    int kernel;
    if (is_exact(whole(op)))
        return not_exact("MPI_Ireduce", comm);
    if (!(e = choose_nonblocking_fold(NONBLOCKING + REDUCE, c, &from, out, count, count, whole(type), whole(op), root, &kernel, &l)))
        PASS(Ireduce, (const void *, void *, int, handle, handle, int, handle, void *), (in, out, count, type, op, root, comm, request));
    return failed(comm, start_fold(c, e, from, out, count, NULL, 1, kernel, root, count, &l, request));
}

#define START_FOLD(name, operation, inputs) \
    MPI(name)(const void *in, void *out, int count, handle type, handle op, handle comm, void *request) \
    { \
        const struct communicator *c = enter_nonblocking(NONBLOCKING + operation, whole(comm)); \
        const void *from = in; \
        struct entry *e = NULL; \
        struct layout l; \
        int kernel; \
        if (is_exact(whole(op))) \
            return not_exact("MPI_" #name, comm); \
        if (!c || !(e = choose_nonblocking_fold(NONBLOCKING + operation, c, &from, out, count, (long long)count * inputs, whole(type), whole(op), 0, &kernel, &l))) \
            PASS(name, (const void *, void *, int, handle, handle, handle, void *), (in, out, count, type, op, comm, request)); \
        return failed(comm, start_fold(c, e, from, out, count, NULL, inputs, kernel, 0, (long long)count * inputs, &l, request)); \
    }
START_FOLD(Iallreduce, ALLREDUCE, 1)
START_FOLD(Iscan, SCAN, 1)
START_FOLD(Iexscan, EXSCAN, 1)
START_FOLD(Ireduce_scatter_block, REDUCE_SCATTER, c->size)

MPI(Ireduce_scatter)(const void *in, void *out, const int *counts, handle type, handle op, handle comm, void *request)
{
    const struct communicator *c = enter_nonblocking(NONBLOCKING + REDUCE_SCATTER, whole(comm));
    const void *from = in;
    struct entry *e;
    struct layout l;
    long long all = c && counts ? sum_of(counts, c->size) : 0;
    int kernel;
    if (is_exact(whole(op)))
        return not_exact("MPI_Ireduce_scatter", comm);
    if (!c || !counts || !(e = choose_nonblocking_fold(NONBLOCKING + REDUCE_SCATTER, c, &from, out, counts[c->rank], all, whole(type), whole(op), 0, &kernel, &l)))
        PASS(Ireduce_scatter, (const void *, void *, const int *, handle, handle, handle, void *), (in, out, counts, type, op, comm, request));
    return failed(comm, start_fold(c, e, from, out, 0, counts, c->size, kernel, 0, all, &l, request));
}

static struct entry *choose_nonblocking_move(int form, const struct communicator *c, struct blocks *b, int root)
{
    return takes_move(form, c, b, root) ? choose_nonblocking(form, (long long)b->bytes * c->size) : NULL;
}

#define START_MOVE(name, operation, held, wanted, own_in, own_out) \
    MPI(name)(const void *in, int in_count, handle in_type, void *out, int out_count, handle out_type, handle comm, void *request) \
    { \
        const struct communicator *c = enter_nonblocking(NONBLOCKING + operation, whole(comm)); \
        struct entry *e; \
        if (c) { \
            struct blocks b = {in, out, in_count, out_count, whole(in_type), whole(out_type), {0}, {0}, held, wanted, own_in, own_out, 0}; \
            if ((e = choose_nonblocking_move(NONBLOCKING + operation, c, &b, 0))) \
                return failed(comm, start_move(c, e, &b, 0, request)); \
        } \
        PASS(name, (const void *, int, handle, void *, int, handle, handle, void *), (in, in_count, in_type, out, out_count, out_type, comm, request)); \
    }
START_MOVE(Iallgather, ALLGATHER, 1, c->size, 0, c->rank)
START_MOVE(Ialltoall, ALLTOALL, c->size, c->size, c->rank, c->rank)

#define START_ROOTED(name, operation, held, wanted, own_in, own_out) \
    MPI(name)(const void *in, int in_count, handle in_type, void *out, int out_count, handle out_type, int root, handle comm, void *request) \
    { \
        const struct communicator *c = enter_nonblocking(NONBLOCKING + operation, whole(comm)); \
        struct entry *e; \
        if (c) { \
            struct blocks b = {in, out, in_count, out_count, whole(in_type), whole(out_type), {0}, {0}, held, wanted, own_in, own_out, 0}; \
            if ((e = choose_nonblocking_move(NONBLOCKING + operation, c, &b, root))) \
                return failed(comm, start_move(c, e, &b, root, request)); \
        } \
        PASS(name, (const void *, int, handle, void *, int, handle, int, handle, void *), \
             (in, in_count, in_type, out, out_count, out_type, root, comm, request)); \
    }
START_ROOTED(Igather, GATHER, 1, c->rank == root ? c->size : 0, 0, root)
START_ROOTED(Iscatter, SCATTER, c->rank == root ? c->size : 0, 1, root, 0)

MPI(Iallgatherv)(const void *in, int in_count, handle in_type, void *out, const int *counts, const int *displacements, handle out_type, handle comm,
                 void *request)
{
    const struct communicator *c = enter_nonblocking(NONBLOCKING + ALLGATHERV, whole(comm));
    struct side from = {in, in_count, NULL, NULL, whole(in_type)}, to = {out, 0, counts, displacements, whole(out_type)};
    struct entry *e = NULL;
    struct layout l;
    long long all = 0;
    int in_place = in == mpi.in_place, twice = 0;
    if (c && takes_sides(NONBLOCKING + ALLGATHERV, c, in_place ? NULL : &from, &to, 0, &twice) && !layout_of(to.type, &l) &&
        (all = sum_of(counts, c->size) * l.size) > 0)
        e = choose_nonblocking(NONBLOCKING + ALLGATHERV, all);
    if (!e || ((in_place |= twice) && own_block(&from, &to, c->rank)))
        PASS(Iallgatherv, (const void *, int, handle, void *, const int *, const int *, handle, handle, void *),
             (in, in_count, in_type, out, counts, displacements, out_type, comm, request));
    return failed(comm, start_line(c, e, &from, &to, 0, in_place, NULL, request));
}

MPI(Igatherv)(const void *in, int in_count, handle in_type, void *out, const int *counts, const int *displacements, handle out_type, int root, handle comm,
              void *request)
{
    const struct communicator *c = enter_nonblocking(NONBLOCKING + GATHERV, whole(comm));
    const void *mine = in;
    struct entry *e = NULL;
    struct side from, to;
    if (c && takes_gatherv(NONBLOCKING + GATHERV, c, &mine, in_count, in_type, out, counts, displacements, out_type, root, &from, &to))
        e = choose_nonblocking(NONBLOCKING + GATHERV, 0);
    if (!e)
        PASS(Igatherv, (const void *, int, handle, void *, const int *, const int *, handle, int, handle, void *),
             (in, in_count, in_type, out, counts, displacements, out_type, root, comm, request));
    return failed(comm, start_line(c, e, &from, &to, root, mine == mpi.in_place, NULL, request));
}

MPI(Iscatterv)(const void *in, const int *counts, const int *displacements, handle in_type, void *out, int out_count, handle out_type, int root,
               handle comm, void *request)
{
    const struct communicator *c = enter_nonblocking(NONBLOCKING + SCATTERV, whole(comm));
    void *mine = out;
    struct entry *e = NULL;
    struct side from, to;
    if (c && takes_scatterv(NONBLOCKING + SCATTERV, c, in, counts, displacements, in_type, &mine, out_count, out_type, root, &from, &to))
        e = choose_nonblocking(NONBLOCKING + SCATTERV, 0);
    if (!e)
        PASS(Iscatterv, (const void *, const int *, const int *, handle, void *, int, handle, int, handle, void *),
             (in, counts, displacements, in_type, out, out_count, out_type, root, comm, request));
    return failed(comm, start_line(c, e, &from, &to, root, mine == mpi.in_place, NULL, request));
}

MPI(Ialltoallv)(const void *in, const int *in_counts, const int *in_displacements, handle in_type, void *out, const int *out_counts,
                const int *out_displacements, handle out_type, handle comm, void *request)
{
    const struct communicator *c = enter_nonblocking(NONBLOCKING + ALLTOALLV, whole(comm));
    struct entry *e = NULL;
    struct side from = {in, 0, in_counts, in_displacements, whole(in_type)}, to = {out, 0, out_counts, out_displacements, whole(out_type)};
    int twice;
    if (c && in != mpi.in_place && takes_sides(NONBLOCKING + ALLTOALLV, c, &from, &to, 0, &twice))
        e = choose_nonblocking(NONBLOCKING + ALLTOALLV, 0);
    if (!e)
        PASS(Ialltoallv, (const void *, const int *, const int *, handle, void *, const int *, const int *, handle, handle, void *),
             (in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type, comm, request));
    return failed(comm, start_line(c, e, &from, &to, 0, 0, NULL, request));
}

/*
 * The blocks of an ialltoallw. The program may free types before the operation ends, so types of the
 * blocks that arrive are copies.
 */
struct widened {
    struct wide from, to;
    int ranks;
    char *types; /* of blocks that are not empty; others have the handle 0 */
};

static void free_widened(struct widened *w)
{
    int i;
    if (!w)
        return;
    for (i = 0; w->types && i < w->ranks; i++)
        if (request_at(w->types, i))
            P_Type_free(w->types + (size_t)i * mpi.handle_size);
    free(w->types);
    free(w->from.bytes);
    free(w->from.lengths);
    free(w->to.bytes);
    free(w->to.lengths);
    free(w);
}

static int unpack_widened(const struct widened *w) { return unpack_wide(&w->to, w->ranks, mpi.comm_self); }

/* Packs the blocks that are sent, and copies the types of those that arrive. Frees *w if there is an error. */
static int widen(const struct communicator *c, const struct wide *from, const struct wide *to, struct widened **w)
{
    int i, err, second;
    if (!(*w = calloc(1, sizeof **w)))
        return SG_NO_MEMORY;
    (*w)->from = *from;
    (*w)->to = *to;
    (*w)->ranks = c->size;
    (*w)->types = calloc((size_t)c->size, mpi.handle_size);
    err = (*w)->types ? 0 : SG_NO_MEMORY;
    if (!err)
        err = pack_wide(c, &(*w)->from, 1);
    second = pack_wide(c, &(*w)->to, 0);
    if (!err)
        err = second;
    for (i = 0; !err && i < c->size; i++)
        if (to->counts[i]) {
            char *copy = (*w)->types + (size_t)i * mpi.handle_size;
            if (!(err = P_Type_contiguous(1, type_at(to, i), copy)))
                err = P_Type_commit(copy);
        }
    (*w)->to.types = (*w)->types;
    if (err) {
        free_widened(*w);
        *w = NULL;
    }
    return err;
}

MPI(Ialltoallw)(const void *in, const int *in_counts, const int *in_displacements, const void *in_types, void *out, const int *out_counts,
                const int *out_displacements, const void *out_types, handle comm, void *request)
{
    const int form = NONBLOCKING + ALLTOALLW;
    const struct communicator *c = enter_nonblocking(form, whole(comm));
    const struct wide from = {(char *)in, in_counts, in_displacements, in_types, NULL, NULL, NULL},
                      to = {out, out_counts, out_displacements, out_types, NULL, NULL, NULL};
    struct entry *e = NULL;
    struct widened *w;
    int err;
    if (c && in != mpi.in_place) {
        if (takes_wide(c, &from) && takes_wide(c, &to))
            e = &go_entries[NONBLOCKING + ALLTOALLV];
        else
            left(form);
    }
    if (!e)
        PASS(Ialltoallw, (const void *, const int *, const int *, const void *, void *, const int *, const int *, const void *, handle, void *),
             (in, in_counts, in_displacements, in_types, out, out_counts, out_displacements, out_types, comm, request));
    if (!(err = widen(c, &from, &to, &w))) {
        const struct side ours = {w->from.bytes, 0, w->from.lengths, w->from.starts, mpi.type_byte},
                          theirs = {w->to.bytes, 0, w->to.lengths, w->to.starts, mpi.type_byte};
        err = start_line(c, e, &ours, &theirs, 0, 0, w, request);
    }
    return failed(comm, err);
}

/*
 * The functions that prepare persistent operations; see persistent.h. Each begins like the
 * nonblocking one. Then all ranks find out whether all can.
 */
#define AGREE(e) (all_say((e) != NULL, c->inner) ? (e) : NULL)

MPI(Barrier_init)(handle comm, handle info, void *request)
{
    const struct communicator *c = enter_nonblocking(PERSISTENT + BARRIER, whole(comm));
    struct sg_go_call go = {0};
    int err;
    if (c && (err = start_or_free(calloc(1, sizeof(struct pending)), c, &go_entries[PERSISTENT + BARRIER], &go, 0, request, 0)) != LEAVE)
        return failed(comm, err);
    PASS(Barrier_init, (handle, handle, void *), (comm, info, request));
}

MPI(Bcast_init)(void *buffer, int count, handle type, int root, handle comm, handle info, void *request)
{
    const struct communicator *c = enter_nonblocking(PERSISTENT + BCAST, whole(comm));
    struct entry *e = NULL;
    struct layout l;
    int err;
    if (c && takes_message(PERSISTENT + BCAST, c, buffer, count, whole(type), root, &l))
        e = choose_nonblocking(PERSISTENT + BCAST, (long long)count * l.size);
    if (c && (e = AGREE(e)) && (err = start_broadcast(c, e, buffer, count, whole(type), root, &l, request)) != LEAVE)
        return failed(comm, err);
    PASS(Bcast_init, (void *, int, handle, int, handle, handle, void *), (buffer, count, type, root, comm, info, request));
}

MPI(Reduce_init)(const void *in, void *out, int count, handle type, handle op, int root, handle comm, handle info, void *request)
{
    const struct communicator *c = enter_nonblocking(PERSISTENT + REDUCE, whole(comm));
    const void *from = in;
    struct entry *e;
    struct layout l;
    int kernel, err;
    if (is_exact(whole(op)))
        return not_exact("MPI_Reduce_init", comm);
    e = choose_nonblocking_fold(PERSISTENT + REDUCE, c, &from, out, count, count, whole(type), whole(op), root, &kernel, &l);
    if (c && (e = AGREE(e)) && (err = start_fold(c, e, from, out, count, NULL, 1, kernel, root, count, &l, request)) != LEAVE)
        return failed(comm, err);
    PASS(Reduce_init, (const void *, void *, int, handle, handle, int, handle, handle, void *), (in, out, count, type, op, root, comm, info, request));
}

#define PREPARE_FOLD(name, operation, inputs) \
    MPI(name)(const void *in, void *out, int count, handle type, handle op, handle comm, handle info, void *request) \
    { \
        const struct communicator *c = enter_nonblocking(PERSISTENT + operation, whole(comm)); \
        const void *from = in; \
        if (is_exact(whole(op))) \
            return not_exact("MPI_" #name, comm); \
        if (c) { \
            const long long all = (long long)count * inputs; \
            struct layout l; \
            int kernel, err; \
            struct entry *e = choose_nonblocking_fold(PERSISTENT + operation, c, &from, out, count, all, whole(type), whole(op), 0, &kernel, &l); \
            if ((e = AGREE(e)) && (err = start_fold(c, e, from, out, count, NULL, inputs, kernel, 0, all, &l, request)) != LEAVE) \
                return failed(comm, err); \
        } \
        PASS(name, (const void *, void *, int, handle, handle, handle, handle, void *), (in, out, count, type, op, comm, info, request)); \
    }
PREPARE_FOLD(Allreduce_init, ALLREDUCE, 1)
PREPARE_FOLD(Scan_init, SCAN, 1)
PREPARE_FOLD(Exscan_init, EXSCAN, 1)
PREPARE_FOLD(Reduce_scatter_block_init, REDUCE_SCATTER, c->size)

MPI(Reduce_scatter_init)(const void *in, void *out, const int *counts, handle type, handle op, handle comm, handle info, void *request)
{
    const struct communicator *c = enter_nonblocking(PERSISTENT + REDUCE_SCATTER, whole(comm));
    const void *from = in;
    if (is_exact(whole(op)))
        return not_exact("MPI_Reduce_scatter_init", comm);
    if (c) {
        const long long all = counts ? sum_of(counts, c->size) : 0;
        struct entry *e = NULL;
        struct layout l;
        int kernel, err;
        if (counts)
            e = choose_nonblocking_fold(PERSISTENT + REDUCE_SCATTER, c, &from, out, counts[c->rank], all, whole(type), whole(op), 0, &kernel, &l);
        if ((e = AGREE(e)) && (err = start_fold(c, e, from, out, 0, counts, c->size, kernel, 0, all, &l, request)) != LEAVE)
            return failed(comm, err);
    }
    PASS(Reduce_scatter_init, (const void *, void *, const int *, handle, handle, handle, handle, void *), (in, out, counts, type, op, comm, info, request));
}

#define PREPARE_MOVE(name, operation, held, wanted, own_in, own_out, root, ROOT) \
    { \
        const struct communicator *c = enter_nonblocking(PERSISTENT + operation, whole(comm)); \
        if (c) { \
            struct blocks b = {in, out, in_count, out_count, whole(in_type), whole(out_type), {0}, {0}, held, wanted, own_in, own_out, 0}; \
            struct entry *e = choose_nonblocking_move(PERSISTENT + operation, c, &b, root); \
            int err; \
            if ((e = AGREE(e)) && (err = start_move(c, e, &b, root, request)) != LEAVE) \
                return failed(comm, err); \
        } \
        ROOT; \
    }
#define ARGUMENTS_PREPARE const void *in, int in_count, handle in_type, void *out, int out_count, handle out_type
#define PASS_PREPARED(name) \
    PASS(name, (const void *, int, handle, void *, int, handle, handle, handle, void *), \
         (in, in_count, in_type, out, out_count, out_type, comm, info, request))
#define PASS_ROOTED(name) \
    PASS(name, (const void *, int, handle, void *, int, handle, int, handle, handle, void *), \
         (in, in_count, in_type, out, out_count, out_type, root, comm, info, request))
MPI(Allgather_init)(ARGUMENTS_PREPARE, handle comm, handle info, void *request)
PREPARE_MOVE(Allgather_init, ALLGATHER, 1, c->size, 0, c->rank, 0, PASS_PREPARED(Allgather_init))
MPI(Alltoall_init)(ARGUMENTS_PREPARE, handle comm, handle info, void *request)
PREPARE_MOVE(Alltoall_init, ALLTOALL, c->size, c->size, c->rank, c->rank, 0, PASS_PREPARED(Alltoall_init))
MPI(Gather_init)(ARGUMENTS_PREPARE, int root, handle comm, handle info, void *request)
PREPARE_MOVE(Gather_init, GATHER, 1, c->rank == root ? c->size : 0, 0, root, root, PASS_ROOTED(Gather_init))
MPI(Scatter_init)(ARGUMENTS_PREPARE, int root, handle comm, handle info, void *request)
PREPARE_MOVE(Scatter_init, SCATTER, c->rank == root ? c->size : 0, 1, root, 0, root, PASS_ROOTED(Scatter_init))

MPI(Allgatherv_init)(const void *in, int in_count, handle in_type, void *out, const int *counts, const int *displacements, handle out_type, handle comm,
                     handle info, void *request)
{
    const struct communicator *c = enter_nonblocking(PERSISTENT + ALLGATHERV, whole(comm));
    struct side from = {in, in_count, NULL, NULL, whole(in_type)}, to = {out, 0, counts, displacements, whole(out_type)};
    struct entry *e = NULL;
    struct layout l;
    long long all = 0;
    int in_place = in == mpi.in_place, twice = 0, err;
    if (c && takes_sides(PERSISTENT + ALLGATHERV, c, in_place ? NULL : &from, &to, 0, &twice) && !layout_of(to.type, &l) &&
        (all = sum_of(counts, c->size) * l.size) > 0)
        e = choose_nonblocking(PERSISTENT + ALLGATHERV, all);
    if (e && (in_place |= twice) && own_block(&from, &to, c->rank))
        e = NULL;
    if (c && (e = AGREE(e)) && (err = start_line(c, e, &from, &to, 0, in_place, NULL, request)) != LEAVE)
        return failed(comm, err);
    PASS(Allgatherv_init, (const void *, int, handle, void *, const int *, const int *, handle, handle, handle, void *),
         (in, in_count, in_type, out, counts, displacements, out_type, comm, info, request));
}

MPI(Gatherv_init)(const void *in, int in_count, handle in_type, void *out, const int *counts, const int *displacements, handle out_type, int root,
                  handle comm, handle info, void *request)
{
    const struct communicator *c = enter_nonblocking(PERSISTENT + GATHERV, whole(comm));
    const void *mine = in;
    struct entry *e = NULL;
    struct side from, to;
    int err;
    if (c && takes_gatherv(PERSISTENT + GATHERV, c, &mine, in_count, in_type, out, counts, displacements, out_type, root, &from, &to))
        e = choose_nonblocking(PERSISTENT + GATHERV, 0);
    if (c && (e = AGREE(e)) && (err = start_line(c, e, &from, &to, root, mine == mpi.in_place, NULL, request)) != LEAVE)
        return failed(comm, err);
    PASS(Gatherv_init, (const void *, int, handle, void *, const int *, const int *, handle, int, handle, handle, void *),
         (in, in_count, in_type, out, counts, displacements, out_type, root, comm, info, request));
}

MPI(Scatterv_init)(const void *in, const int *counts, const int *displacements, handle in_type, void *out, int out_count, handle out_type, int root,
                   handle comm, handle info, void *request)
{
    const struct communicator *c = enter_nonblocking(PERSISTENT + SCATTERV, whole(comm));
    void *mine = out;
    struct entry *e = NULL;
    struct side from, to;
    int err;
    if (c && takes_scatterv(PERSISTENT + SCATTERV, c, in, counts, displacements, in_type, &mine, out_count, out_type, root, &from, &to))
        e = choose_nonblocking(PERSISTENT + SCATTERV, 0);
    if (c && (e = AGREE(e)) && (err = start_line(c, e, &from, &to, root, mine == mpi.in_place, NULL, request)) != LEAVE)
        return failed(comm, err);
    PASS(Scatterv_init, (const void *, const int *, const int *, handle, void *, int, handle, int, handle, handle, void *),
         (in, counts, displacements, in_type, out, out_count, out_type, root, comm, info, request));
}

MPI(Alltoallv_init)(const void *in, const int *in_counts, const int *in_displacements, handle in_type, void *out, const int *out_counts,
                    const int *out_displacements, handle out_type, handle comm, handle info, void *request)
{
    const struct communicator *c = enter_nonblocking(PERSISTENT + ALLTOALLV, whole(comm));
    struct entry *e = NULL;
    struct side from = {in, 0, in_counts, in_displacements, whole(in_type)}, to = {out, 0, out_counts, out_displacements, whole(out_type)};
    int twice, err;
    if (c && in != mpi.in_place && takes_sides(PERSISTENT + ALLTOALLV, c, &from, &to, 0, &twice))
        e = choose_nonblocking(PERSISTENT + ALLTOALLV, 0);
    if (c && (e = AGREE(e)) && (err = start_line(c, e, &from, &to, 0, 0, NULL, request)) != LEAVE)
        return failed(comm, err);
    PASS(Alltoallv_init, (const void *, const int *, const int *, handle, void *, const int *, const int *, handle, handle, handle, void *),
         (in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type, comm, info, request));
}
