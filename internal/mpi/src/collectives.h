/* Collective operations: conversion of their arguments to blocks in two buffers. */

/* Gaps and order of the elements of a type in memory. */
struct layout {
    int size;
    int plain; /* the bytes follow the type map in its order, without gaps */
    intptr_t extent, lead, trail;
};

static __thread handle last; /* the type that this thread has asked MPI about */
static __thread struct layout last_layout;

/* The bytes of an element of a predefined type that this thread has just used, or 0. */
static int known_size(handle type) { return type == last && last_layout.plain ? last_layout.size : 0; }

static int layout_of(handle type, struct layout *l)
{
    intptr_t low, true_low, true_extent;
    int a, b, c, combiner, err;
    if (type == last && last_layout.plain) { /* predefined: it never changes */
        *l = last_layout;
        return 0;
    }
    if ((err = P_Type_size(type, &l->size)) || (err = P_Type_get_extent(type, &low, &l->extent)) ||
        (err = P_Type_get_true_extent(type, &true_low, &true_extent)) || (err = P_Type_get_envelope(type, &a, &b, &c, &combiner)))
        return err;
    l->plain = combiner == mpi.combiner_named && l->extent == l->size && low == 0 && true_low == 0 && true_extent == l->size;
    l->lead = true_low < 0 ? -true_low : 0;
    l->trail = true_low + true_extent > l->extent ? true_low + true_extent - l->extent : 0;
    if (combiner != mpi.combiner_named && (err = P_Type_commit(&type))) /* some operations of Open MPI do not require it, but MPI_Pack does */
        return err;
    last = type;
    last_layout = *l;
    return 0;
}

/*
 * MPI_Pack and MPI_Unpack, also at MPI_BOTTOM, which is NULL: MPICH refuses it. There the elements are
 * those of a type at another address, from which it leads back.
 */
static int at_bottom(handle *type, int count, const void *base)
{
    const intptr_t back = -(intptr_t)base;
    handle made = 0;
    int err = P_Type_create_hindexed(1, &count, &back, *type, &made);
    if (err)
        return err;
    *type = read_handle(&made);
    return P_Type_commit(type);
}

static int pack_from(const void *from, int count, handle type, void *bytes, int size, int *position, handle comm)
{
    static char base; /* only its address matters */
    int err;
    if (from)
        return P_Pack(from, count, type, bytes, size, position, comm);
    if ((err = at_bottom(&type, count, &base)))
        return err;
    err = P_Pack(&base, 1, type, bytes, size, position, comm);
    P_Type_free(&type);
    return err;
}

static int unpack_to(const void *bytes, int size, int *position, void *to, int count, handle type, handle comm)
{
    static char base; /* only its address matters */
    int err;
    if (to)
        return P_Unpack(bytes, size, position, to, count, type, comm);
    if ((err = at_bottom(&type, count, &base)))
        return err;
    err = P_Unpack(bytes, size, position, &base, 1, type, comm);
    P_Type_free(&type);
    return err;
}

/* Reports whether the rules leave an operation to MPI, with few reads of memory. */
static int is_left(enum operation op, const struct communicator *c, long long bytes)
{
    if (bytes >= c->from[op] || measured != NOT_MEASURED)
        return 0;
    note_passed(op, c->why);
    return 1;
}

/*
 * Makes a communicator ready for the engine that the rules select for an operation. All ranks do so
 * in that operation.
 */
static void prepare(struct communicator *c, enum engine by)
{
    if (by == GO_ENGINE && c->go == GO_LATER)
        join(c);
    else if (by == C_ENGINE && c->stage == RULED)
        make(c);
}

/*
 * Returns the schedule for an operation with the given bytes in a block and in all, or NULL if MPI
 * is to perform the operation. ordered says that contributions must be folded in the order of the
 * ranks. by_go says that the engine go may perform the operation if the communicator has joined it.
 * block is the length of the longest block, or UNKNOWN_TO_SOME, and kernel the engine's kernel for a
 * fold, or 0.
 */
static struct entry *choose(enum operation op, const struct communicator *c, long long bytes, long long all, int ordered, int by_go, long long block,
                            int kernel)
{
    struct entry *best = NULL, *e, *end;
    enum engine by;
    int any = 0;
    if (is_left(op, c, bytes))
        return NULL;
    by = measured != NOT_MEASURED ? (enum engine)measured : engine == AUTO_ENGINE ? rule_for(c->rules, op, bytes, c->size) : engine;
    if (by != OFF && engine == AUTO_ENGINE && measured == NOT_MEASURED)
        prepare((struct communicator *)c, by);
    if (by == GO_ENGINE && c->go >= 0 && by_go && all <= INT_MAX) {
        if (measured == NOT_MEASURED && block != UNKNOWN_TO_SOME && is_turn_of_mpi(op, c, block, ordered, kernel)) {
            note_passed(op, c->turns ? LEARNED : NO_ENTRY);
            return NULL;
        }
        return &go_entries[op];
    }
    if (by == OFF || (by == GO_ENGINE && engine == AUTO_ENGINE)) { /* engine c was not found to be better */
        note_passed(op, NO_ENTRY);
        return NULL;
    }
    if (!c->tables) {
        note_passed(op, c->stage == LEFT ? c->why : NO_TABLES);
        return NULL;
    }
    e = c->tables->of[op];
    end = c->tables->of[op + 1];
    for (; e < end && e->least <= bytes; e++) {
        any = 1;
        if (!ordered || (e->flags & ORDERED))
            best = e;
    }
    if (all > INT_MAX)
        note_passed(op, TOO_LONG);
    else if (!best || best->flags & LEFT_BY_RULES)
        note_passed(op, any && !best ? ORDER : NO_ENTRY);
    else
        return best;
    return NULL;
}

/* Reports an error to the error handler of a communicator. */
static int failed(handle comm, int err)
{
    if (err == SG_NO_MEMORY)
        err = mpi.err_no_mem;
    if (err == SG_TOO_LONG)
        err = mpi.err_count;
    if (err)
        P_Comm_call_errhandler(comm, err);
    return err;
}

/* Runs a schedule. The caller has set the buffers, the types and the extents. */
static int run(struct entry *e, struct sg_call *call, struct use *u, long long bytes)
{
    const struct communicator *c = u->comm;
    struct sg_plan plan = plan_of(c->tables, e, (c->rank - u->shift + c->size) % c->size);
    char few[64 * sizeof(handle)];
    long double lent[128]; /* aligned like elements */
    size_t size;
    int err;
    taken_by(&e->taken, bytes);
    u->slots = plan.receives < SG_POSTED ? plan.receives : SG_POSTED;
    size = (size_t)(u->slots + plan.sends) * mpi.handle_size;
    u->requests = size <= sizeof few ? few : malloc(size);
    if (!u->requests)
        return SG_NO_MEMORY;
    call->plan = &plan;
    call->with = u;
    call->lent = (char *)lent;
    call->lent_size = sizeof lent;
    err = sg_run(call);
    if (!err && u->requests != few)
        free(u->requests);
    return err;
}

/* Runs an operation in the engine go. */
static int run_go(struct entry *e, const struct communicator *c, struct sg_go_call *call, long long bytes)
{
    int err;
    taken_by(&e->taken, bytes);
    call->operation = (int)(e - go_entries);
    if (e == &go_entries[BARRIER])
        GO(err, go_barrier(c->go));
    else if (e == &go_entries[BCAST])
        GO(err, go_bcast(c->go, call->dst, call->dst_bytes, call->root));
    else
        GO(err, go_run(c->go, call));
    note_algorithm(call->operation, c->go, c->size);
    return err ? mpi.err_other : 0;
}

/* Blocks as contiguous bytes: either where the program has them, or packed. */
struct packed {
    char *at;     /* bytes of block 0 */
    char *memory; /* to be freed */
};

static int pack(const struct communicator *c, struct packed *p, const void *from, int count, handle type, const struct layout *l)
{
    long long bytes = (long long)count * l->size;
    int position = 0;
    p->memory = NULL;
    p->at = (char *)from;
    if (l->plain || bytes == 0)
        return 0;
    if (!(p->at = p->memory = malloc((size_t)bytes)))
        return SG_NO_MEMORY;
    return pack_from(from, count, type, p->at, (int)bytes, &position, c->inner);
}

/* Allocates memory for bytes that are unpacked afterwards. */
static int room(struct packed *p, void *to, long long bytes, const struct layout *l)
{
    p->memory = NULL;
    p->at = to;
    if (l->plain || bytes == 0)
        return 0;
    p->at = p->memory = malloc((size_t)bytes);
    return p->at ? 0 : SG_NO_MEMORY;
}

static int unpack(const struct communicator *c, const char *from, void *to, int count, handle type, const struct layout *l)
{
    int position = 0, bytes = count * l->size;
    return bytes ? unpack_to(from, bytes, &position, to, count, type, c->inner) : 0;
}

/* Sets up an operation whose blocks are bytes. */
static void as_bytes(struct sg_call *call, struct use *u, const struct communicator *c, int bytes, int root)
{
    memset(call, 0, sizeof *call);
    memset(u, 0, sizeof *u);
    u->comm = c;
    u->type[SG_SEND] = u->type[SG_RECEIVE] = mpi.type_byte;
    u->plain = 1;
    u->shift = root;
    call->count = bytes;
    call->extent = call->buffer[SG_SEND].extent = call->buffer[SG_RECEIVE].extent = 1;
}

/*
 * Blocks of a rooted operation are in the order of the ranks. In the tables the root is rank 0, so
 * block b of a buffer is the block of rank b + root.
 */
static int rotate(struct sg_buffer *b, int root, int ranks, int count)
{
    ptrdiff_t *starts;
    int *counts, i;
    if (root == 0)
        return 0;
    if (!(starts = malloc((size_t)ranks * (sizeof *starts + sizeof *counts))))
        return SG_NO_MEMORY;
    counts = (int *)(starts + ranks);
    for (i = 0; i < ranks; i++) {
        starts[i] = (ptrdiff_t)((i + root) % ranks) * count;
        counts[i] = count;
    }
    b->starts = starts;
    b->counts = counts;
    return 0;
}

/* Blocks of different lengths. In the tables, the root is rank 0. */
static int spread(struct sg_buffer *b, const int *counts, const int *displacements, int root, int ranks, int unit)
{
    ptrdiff_t *starts;
    int *own, i;
    if (!(starts = malloc((size_t)ranks * (sizeof *starts + sizeof *own))))
        return SG_NO_MEMORY;
    own = (int *)(starts + ranks);
    for (i = 0; i < ranks; i++) {
        starts[i] = (ptrdiff_t)displacements[(i + root) % ranks] * unit;
        own[i] = counts[(i + root) % ranks] * unit;
    }
    b->starts = starts;
    b->counts = own;
    return 0;
}

static void release(struct sg_call *call)
{
    free((void *)call->buffer[SG_SEND].starts);
    if (call->buffer[SG_RECEIVE].starts != call->buffer[SG_SEND].starts)
        free((void *)call->buffer[SG_RECEIVE].starts);
}

static int barrier(const struct communicator *c, struct entry *e)
{
    struct sg_call call;
    struct use u;
    if (is_go(e)) {
        struct sg_go_call go = {0};
        return run_go(e, c, &go, 0);
    }
    as_bytes(&call, &u, c, 0, 0);
    return run(e, &call, &u, 0);
}

static int broadcast(const struct communicator *c, struct entry *e, void *buffer, int count, handle type, int root, const struct layout *l)
{
    struct sg_call call;
    struct use u;
    struct packed p;
    int bytes = count * l->size, err;
    if (c->rank == root)
        err = pack(c, &p, buffer, count, type, l);
    else
        err = room(&p, buffer, bytes, l);
    as_bytes(&call, &u, c, bytes, root);
    call.buffer[SG_SEND].at = call.buffer[SG_RECEIVE].at = p.at;
    if (!err && is_go(e)) {
        struct sg_go_call go = {.root = root, .dst = p.at, .dst_bytes = (size_t)bytes};
        err = run_go(e, c, &go, bytes);
    } else if (!err) {
        err = run(e, &call, &u, bytes);
    }
    if (!err && p.memory && c->rank != root)
        err = unpack(c, p.at, buffer, count, type, l);
    if (!err)
        free(p.memory);
    return err;
}

/* How the engine go folds: by MPI, which computes right = left * right. */
struct go_fold {
    handle type, op;
    size_t extent;
    int err;
};

static void fold_by_mpi(void *with, void *dst, const void *left, const void *right, size_t bytes)
{
    struct go_fold *f = with;
    int count = (int)(bytes / f->extent), err;
    void *to = dst == left && dst != right ? malloc(bytes) : dst;
    if (!to) {
        f->err = mpi.err_no_mem;
        return;
    }
    if (to != right)
        memcpy(to, right, bytes);
    if ((err = P_Reduce_local(left, to, count, f->type, f->op)))
        f->err = err;
    if (to != dst) {
        memcpy(dst, to, bytes);
        free(to);
    }
}

/*
 * Folds in the engine go. The engine treats an element as the bytes up to the next element. So
 * elements of a type with gaps are copied to memory that includes the gaps, and the result is
 * copied back; the gaps in the program's memory are not written.
 */
static int fold_by_go(const struct communicator *c, struct entry *e, struct sg_call *call, struct use *u, const void *in, void *out,
                      int count, const int *counts, int inputs, ptrdiff_t all, int root, const struct layout *l)
{
    enum operation op = (enum operation)(e - go_entries);
    struct go_fold f = {u->type[SG_SEND], u->op, (size_t)l->extent, 0};
    int has = (op != REDUCE || c->rank == root) && (op != EXSCAN || c->rank > 0);
    int own = !has ? 0 : counts ? counts[c->rank] : count, err = 0;
    int in_place = in == mpi.in_place;
    char *copy = NULL, *result = NULL;
    struct sg_go_call go = {.root = root, .dst = out, .src = in_place ? out : in, .element = f.extent, .counts = counts,
                            .blocks = inputs, .own = own, .commutes = call->commutes, .fold = fold_by_mpi, .with = &f};
    go.src_bytes = (size_t)all * f.extent;
    go.dst_bytes = (size_t)own * f.extent;
    go.kernel = kernel_of(f.type, f.op);
    if (!l->plain || (in_place && inputs > 1)) {
        if (!(copy = calloc(1, go.src_bytes + 1)))
            return SG_NO_MEMORY;
        err = sg_copy(call, go.src, copy, (int)all);
        go.src = copy;
    }
    if (!l->plain && has && !(go.dst = result = calloc(1, go.dst_bytes + 1)))
        err = SG_NO_MEMORY;
    if (!err)
        err = run_go(e, c, &go, (long long)all * l->size);
    if (!err)
        err = f.err;
    if (!err && result && own)
        err = sg_copy(call, result, out, own);
    free(copy);
    free(result);
    return err;
}

/*
 * Operations that fold: reduce, allreduce, reduce-scatter, scan and exscan. counts is NULL, except
 * for a reduce-scatter of blocks of different lengths.
 */
static int fold(const struct communicator *c, struct entry *e, const void *in, void *out, int count, const int *counts,
                int inputs, handle type, handle operation, int commutes, int root, const struct layout *l)
{
    static const ptrdiff_t zero;
    struct sg_call call;
    struct use u;
    ptrdiff_t *starts = NULL, all = (ptrdiff_t)count * inputs;
    char *copy = NULL;
    int i, err = 0;
    memset(&call, 0, sizeof call);
    memset(&u, 0, sizeof u);
    u.comm = c;
    u.type[SG_SEND] = u.type[SG_RECEIVE] = type;
    u.op = operation;
    u.shift = root;
    u.plain = l->plain ? l->size : 0;
    call.count = count;
    call.extent = call.buffer[SG_SEND].extent = call.buffer[SG_RECEIVE].extent = l->extent;
    call.lead = l->lead;
    call.trail = l->trail;
    call.commutes = commutes;
    if (counts) {
        if (!(starts = malloc((size_t)inputs * sizeof *starts)))
            return SG_NO_MEMORY;
        for (all = 0, i = 0; i < inputs; i++) {
            starts[i] = all;
            all += counts[i];
        }
        call.buffer[SG_SEND].counts = counts;
        call.buffer[SG_SEND].starts = starts;
        call.buffer[SG_RECEIVE].counts = &counts[c->rank];
        call.buffer[SG_RECEIVE].starts = &zero;
    }
    call.with = &u;
    if (is_go(e)) {
        free(starts);
        return fold_by_go(c, e, &call, &u, in, out, count, counts, inputs, all, root, l);
    }
    if (in == mpi.in_place) { /* what others still need is not written over */
        if (!(copy = sg_new(&call, all)))
            return SG_NO_MEMORY;
        for (i = 0; !err && i < inputs; i++) {
            ptrdiff_t at = (starts ? starts[i] : (ptrdiff_t)i * count) * l->extent;
            err = sg_copy(&call, (char *)out + at, copy + at, counts ? counts[i] : count);
        }
        in = copy;
    }
    call.buffer[SG_SEND].at = (char *)in;
    call.buffer[SG_RECEIVE].at = out;
    if (!err)
        err = run(e, &call, &u, (long long)all * l->size);
    if (!err) {
        sg_free(&call, copy);
        free(starts);
    }
    return err;
}

/*
 * Operations that move blocks of one length as bytes: gather, scatter, allgather, alltoall. held
 * and wanted are the numbers of blocks in the rank's buffers. own_in and own_out are the places of
 * its own block.
 */
struct blocks {
    const void *in;
    void *out;
    int in_count, out_count; /* elements of a block */
    handle in_type, out_type;
    struct layout in_layout, out_layout;
    int held, wanted, own_in, own_out;
    int bytes; /* of a block */
};

/* The blocks as bytes: where the program has them, or a copy. */
struct placed {
    struct packed in, out;
    char *copy;
};

static int place(const struct communicator *c, const struct blocks *b, struct placed *p)
{
    int in_place = b->in == mpi.in_place, err = 0;
    memset(p, 0, sizeof *p);
    if (b->held && !in_place)
        err = pack(c, &p->in, b->in, b->in_count * b->held, b->in_type, &b->in_layout);
    if (!err && b->wanted && b->out != mpi.in_place)
        err = room(&p->out, b->out, (long long)b->bytes * b->wanted, &b->out_layout);
    if (!err && in_place && b->held == 1) {
        p->in.at = p->out.at + (ptrdiff_t)b->own_out * b->bytes;
        if (p->out.memory) { /* the rank's own block is the only one that is there */
            int position = 0;
            err = pack_from((char *)b->out + (ptrdiff_t)b->own_out * b->out_count * b->out_layout.extent, b->out_count, b->out_type, p->in.at, b->bytes,
                         &position, c->inner);
        }
    } else if (!err && in_place && b->held) { /* all blocks are to be sent, and written over */
        err = pack(c, &p->in, b->out, b->out_count * b->held, b->out_type, &b->out_layout);
        if (!err && !p->in.memory) {
            if ((p->copy = malloc((size_t)b->bytes * (size_t)b->held + 1)))
                p->in.at = memcpy(p->copy, b->out, (size_t)b->bytes * (size_t)b->held);
            else
                err = SG_NO_MEMORY;
        }
    }
    if (b->out == mpi.in_place)
        p->out.at = p->in.at + (ptrdiff_t)b->own_in * b->bytes;
    return err;
}

/*
 * The call for the engine go. A block that a root scatters to itself in place goes to memory of the
 * library.
 */
static int call_of(const struct blocks *b, struct placed *p, int root, struct sg_go_call *go)
{
    memset(go, 0, sizeof *go);
    go->root = root;
    go->dst = p->out.at;
    go->src = p->in.at;
    go->dst_bytes = (size_t)b->bytes * (size_t)b->wanted;
    go->src_bytes = (size_t)b->bytes * (size_t)b->held;
    return b->out == mpi.in_place && !(go->dst = p->copy = malloc(go->dst_bytes + 1)) ? SG_NO_MEMORY : 0;
}

static int move(const struct communicator *c, struct entry *e, const struct blocks *b, int root)
{
    struct sg_call call;
    struct use u;
    struct placed p;
    long long bytes = (long long)b->bytes * (b->held > b->wanted ? b->held : b->wanted);
    int err = place(c, b, &p);
    as_bytes(&call, &u, c, b->bytes, root);
    call.buffer[SG_SEND].at = p.in.at;
    call.buffer[SG_RECEIVE].at = p.out.at;
    if (!err && is_go(e)) {
        struct sg_go_call go;
        if (!(err = call_of(b, &p, root, &go)))
            err = run_go(e, c, &go, bytes);
    } else if (!err) {
        if (b->held > 1)
            err = rotate(&call.buffer[SG_SEND], root, c->size, b->bytes);
        if (!err && b->wanted > 1)
            err = rotate(&call.buffer[SG_RECEIVE], root, c->size, b->bytes);
        if (!err)
            err = run(e, &call, &u, bytes);
    }
    if (!err && p.out.memory)
        err = unpack(c, p.out.at, b->out, b->out_count * b->wanted, b->out_type, &b->out_layout);
    if (!err) {
        free(p.in.memory);
        free(p.out.memory);
        free(p.copy);
        release(&call);
    }
    return err;
}

/* One buffer of an operation whose blocks go directly from their senders to their receivers. */
struct side {
    const void *at;
    int count;                         /* of the only block, unless there are counts */
    const int *counts, *displacements; /* or NULL */
    handle type;
};

/* Makes own the side that consists of one block of another side. */
static int own_block(struct side *own, const struct side *all, int block)
{
    struct layout l;
    int err = layout_of(all->type, &l);
    own->at = (char *)all->at + all->displacements[block] * (err ? 0 : l.extent);
    own->count = all->counts[block];
    own->counts = own->displacements = NULL;
    own->type = all->type;
    return err;
}

/* The blocks of one buffer as contiguous bytes for the engine go. */
struct line {
    char *at, *memory; /* memory is a copy, or NULL: the blocks are contiguous in the program's memory */
    size_t *lengths, bytes;
    int blocks;
};

/* Packs or unpacks elements in parts whose lengths fit into an int. */
static int pack_block(handle comm, char *bytes, char *elements, int count, const struct layout *l, handle type, int unpacks)
{
    int most = l->size ? (1 << 30) / l->size : count, err = 0, n;
    for (; !err && count > 0; count -= n) {
        int position = 0, size;
        n = count < most ? count : most > 0 ? most : 1;
        size = n * l->size;
        err = unpacks ? unpack_to(bytes, size, &position, elements, n, type, comm) : pack_from(elements, n, type, bytes, size, &position, comm);
        bytes += size;
        elements += n * l->extent;
    }
    return err;
}

/* The first element of a block of a side, and the number of its elements. */
static char *block_at(const struct side *s, const struct layout *l, int block, int *count)
{
    *count = s->counts ? s->counts[block] : s->count;
    return (char *)s->at + (s->displacements ? s->displacements[block] : 0) * l->extent;
}

/*
 * Makes the blocks of a side contiguous. packs says that they are sent, copies that they must be in
 * memory of the library. Blocks that are contiguous in the program's memory need no copy, if their
 * elements have no gaps.
 */
static int line_up(const struct communicator *c, struct line *b, const struct side *s, int packs, int copies)
{
    struct layout l;
    size_t at = 0;
    char *first = NULL;
    int i, n, err, together = 1;
    memset(b, 0, sizeof *b);
    if (s->type == mpi.type_null)
        return 0;
    b->blocks = s->counts ? c->size : 1;
    if (!(b->lengths = malloc((size_t)b->blocks * sizeof *b->lengths)))
        return SG_NO_MEMORY;
    if ((err = layout_of(s->type, &l)))
        return err;
    for (i = 0; i < b->blocks; i++) {
        char *here = block_at(s, &l, i, &n);
        b->lengths[i] = n > 0 ? (size_t)n * (size_t)l.size : 0;
        if (b->lengths[i] && !first)
            first = here;
        together = together && (!b->lengths[i] || here == first + b->bytes);
        b->bytes += b->lengths[i];
    }
    if (l.plain && together && !copies) {
        b->at = first;
        return 0;
    }
    if (!(b->at = b->memory = malloc(b->bytes + 1)))
        return SG_NO_MEMORY;
    for (i = 0; packs && !err && i < b->blocks; i++) {
        char *here = block_at(s, &l, i, &n);
        err = pack_block(c->inner, b->at + at, here, n, &l, s->type, 0);
        at += b->lengths[i];
    }
    return err;
}

/* Copies the blocks from a copy to the program's memory. */
static int put_back(handle comm, const struct line *b, const struct side *s)
{
    struct layout l;
    size_t at = 0;
    int i, n, err = b->memory ? layout_of(s->type, &l) : 0;
    for (i = 0; b->memory && !err && i < b->blocks; i++) {
        char *here = block_at(s, &l, i, &n);
        err = pack_block(comm, b->at + at, here, n, &l, s->type, 1);
        at += b->lengths[i];
    }
    return err;
}

/* Reports whether the blocks of an alltoallv are written over while they are sent. */
static int is_twice(const struct side *in, const struct side *out) { return in->counts && out->counts && in->at == out->at; }

static struct sg_go_call lined_up(const struct line *from, const struct line *to, int root)
{
    struct sg_go_call go = {.root = root, .dst = to->at, .src = from->at, .dst_bytes = to->bytes, .src_bytes = from->bytes, .dst_lengths = to->lengths,
                            .src_lengths = from->lengths, .dst_blocks = to->blocks, .src_blocks = from->blocks, .counted = 1};
    return go;
}

/*
 * Operations with blocks of different lengths in the engine go. in_place says that the rank's own
 * block is in both sides; a root that scatters leaves it there.
 */
static int move_by_go(const struct communicator *c, struct entry *e, const struct side *in, const struct side *out, int root, int in_place)
{
    struct line from, to;
    int stays = in_place && e == &go_entries[SCATTERV];
    int err = line_up(c, &to, out, 0, stays), second = line_up(c, &from, in, 1, is_twice(in, out));
    struct sg_go_call go = lined_up(&from, &to, root);
    if (!err)
        err = second;
    if (!err)
        err = run_go(e, c, &go, (long long)(to.bytes > from.bytes ? to.bytes : from.bytes));
    if (!err && !stays)
        err = put_back(c->inner, &to, out);
    free(to.memory);
    free(from.memory);
    free(to.lengths);
    free(from.lengths);
    return err;
}

/* An allgather of blocks of different lengths, as bytes. Every rank knows all lengths. */
static int move_all(const struct communicator *c, struct entry *e, const void *in, int in_count, handle in_type, const struct layout *in_layout,
                    void *out, const int *counts, const int *displacements, handle out_type, const struct layout *out_layout, int bytes)
{
    static const ptrdiff_t zero;
    struct sg_call call;
    struct use u;
    struct packed from = {NULL, NULL}, to = {NULL, NULL};
    int i, own = counts[c->rank] * out_layout->size, err;
    if (is_go(e)) {
        struct side ours = {in, in_count, NULL, NULL, in_type}, all = {out, 0, counts, displacements, out_type};
        if (in == mpi.in_place)
            err = own_block(&ours, &all, c->rank);
        else
            err = 0;
        return err ? err : move_by_go(c, e, &ours, &all, 0, in == mpi.in_place);
    }
    as_bytes(&call, &u, c, 0, 0);
    err = room(&to, out, bytes, out_layout);
    if (!err)
        err = spread(&call.buffer[SG_RECEIVE], counts, displacements, 0, c->size, out_layout->size);
    if (!err && to.memory) {
        ptrdiff_t *starts = (ptrdiff_t *)call.buffer[SG_RECEIVE].starts, sum = 0;
        for (i = 0; i < c->size; i++) {
            starts[i] = sum;
            sum += counts[i] * out_layout->size;
        }
    }
    if (!err && in != mpi.in_place)
        err = pack(c, &from, in, in_count, in_type, in_layout);
    else if (!err)
        from.at = to.at + call.buffer[SG_RECEIVE].starts[c->rank];
    if (!err && in == mpi.in_place && to.memory) {
        int position = 0;
        if (own)
            err = pack_from((char *)out + displacements[c->rank] * out_layout->extent, counts[c->rank], out_type, from.at, own, &position, c->inner);
    }
    call.buffer[SG_SEND].at = from.at;
    call.buffer[SG_SEND].counts = &own;
    call.buffer[SG_SEND].starts = &zero;
    call.buffer[SG_RECEIVE].at = to.at;
    if (!err)
        err = run(e, &call, &u, bytes);
    for (i = 0; !err && to.memory && i < c->size; i++)
        err = unpack(c, to.at + call.buffer[SG_RECEIVE].starts[i], (char *)out + displacements[i] * out_layout->extent, counts[i], out_type, out_layout);
    if (!err) {
        free(from.memory);
        free(to.memory);
        free((void *)call.buffer[SG_RECEIVE].starts);
    }
    return err;
}

/*
 * Operations whose blocks go directly: gatherv, scatterv, alltoallv. Only the two ends of a message
 * know its length, and each describes it by its own type. own is the number of elements that a rank
 * receives from itself.
 */
static int move_straight(const struct communicator *c, struct entry *e, const struct side *in, const struct side *out, int own, int root, int in_place)
{
    static const ptrdiff_t zero;
    const struct side *sides[2];
    struct sg_call call;
    struct use u;
    struct layout l;
    int i, err = 0;
    if (is_go(e))
        return move_by_go(c, e, in, out, root, in_place);
    sides[SG_SEND] = in;
    sides[SG_RECEIVE] = out;
    as_bytes(&call, &u, c, 0, root);
    u.plain = 0;
    u.own = own;
    for (i = 0; !err && i < 2; i++) {
        struct sg_buffer *b = &call.buffer[i];
        const struct side *s = sides[i];
        b->at = (char *)s->at;
        u.type[i] = s->type;
        if (s->type == mpi.type_null) { /* the rank has no such buffer */
            u.type[i] = mpi.type_byte;
            b->counts = &s->count;
            b->starts = &zero;
            continue;
        }
        if ((err = layout_of(s->type, &l)))
            return err;
        b->extent = l.extent;
        b->counts = &s->count;
        b->starts = &zero;
        if (s->counts)
            err = spread(b, s->counts, s->displacements, root, c->size, 1);
    }
    if (!err)
        err = run(e, &call, &u, 0);
    if (!err)
        for (i = 0; i < 2; i++)
            if (call.buffer[i].starts != &zero)
                free((void *)call.buffer[i].starts);
    return err;
}
