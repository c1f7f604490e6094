/*
 * Arguments that are not valid. Each rank looks at its own arguments before it sends anything. If it
 * finds a fault that every MPI reports, or if MPI refuses the types or the operation, it calls MPI,
 * which raises its own error.
 */

/* Reports whether the library may ask for a type's size. */
static int is_type(handle type) { return type != mpi.type_null && type != 0; }

/* A communicator of this rank alone, on which MPI is asked; 0 if there is none. */
static handle alone;
static pthread_mutex_t alone_lock = PTHREAD_MUTEX_INITIALIZER;

/* What MPI is asked: whether it performs an operation with n elements of these types. */
struct question {
    enum operation operation;
    handle in_type, out_type, op;
    const void *in;
    void *out;
    int n;
};

static int ask_mpi(const struct question *q)
{
    const int zero = 0;
    switch (q->operation) {
    case BCAST:
        return P_Bcast(q->out, q->n, q->out_type, 0, alone);
    case REDUCE:
        return P_Reduce(q->in, q->out, q->n, q->out_type, q->op, 0, alone);
    case ALLREDUCE:
        return P_Allreduce(q->in, q->out, q->n, q->out_type, q->op, alone);
    case REDUCE_SCATTER:
        return P_Reduce_scatter_block(q->in, q->out, q->n, q->out_type, q->op, alone);
    case SCAN:
        return P_Scan(q->in, q->out, q->n, q->out_type, q->op, alone);
    case EXSCAN:
        return P_Exscan(q->in, q->out, q->n, q->out_type, q->op, alone);
    case ALLGATHER:
        return P_Allgather(q->in, q->n, q->in_type, q->out, q->n, q->out_type, alone);
    case GATHER:
        return P_Gather(q->in, q->n, q->in_type, q->out, q->n, q->out_type, 0, alone);
    case SCATTER:
        return P_Scatter(q->in, q->n, q->in_type, q->out, q->n, q->out_type, 0, alone);
    case ALLTOALL:
        return P_Alltoall(q->in, q->n, q->in_type, q->out, q->n, q->out_type, alone);
    case ALLGATHERV:
        return P_Allgatherv(q->in, q->n, q->in_type, q->out, &q->n, &zero, q->out_type, alone);
    case GATHERV:
        return P_Gatherv(q->in, q->n, q->in_type, q->out, &q->n, &zero, q->out_type, 0, alone);
    case SCATTERV:
        return P_Scatterv(q->in, &q->n, &zero, q->in_type, q->out, q->n, q->out_type, 0, alone);
    case ALLTOALLV:
        return P_Alltoallv(q->in, &q->n, &zero, q->in_type, q->out, &q->n, &zero, q->out_type, alone);
    default:
        return 0;
    }
}

/* Makes that communicator once. The caller holds its lock. */
static void make_alone(void)
{
    static int tried;
    if (!tried && split(mpi.comm_self, 0, &alone))
        alone = 0;
    tried = 1;
}

/* Reports whether MPI refuses. */
static int refuses(const struct question *q)
{
    int err;
    pthread_mutex_lock(&alone_lock); /* one operation at a time on a communicator */
    inside++;
    make_alone();
    err = alone && ask_mpi(q);
    inside--;
    pthread_mutex_unlock(&alone_lock);
    return err;
}

static int is_known(handle h, const handle *known, int n)
{
    int i;
    for (i = 0; i < n && known[i] != h; i++)
        ;
    return i < n;
}

/*
 * Reports whether MPI takes these types and this operation. A type that is not significant is
 * type_byte, and an operation is 0. Answers are kept only for predefined handles, because the others
 * may be freed.
 */
static int takes_types(enum operation operation, handle in_type, handle out_type, handle op)
{
    enum { KEPT = 32 };
    static __thread struct {
        int form;
        handle in_type, out_type, op;
    } kept[KEPT];
    static char nothing[2];
    const int n = operation == BCAST; /* alone, a rank moves nothing; MPICH looks at the type only if there are elements */
    const struct question q = {operation, in_type, out_type, op, &nothing[0], &nothing[1], n};
    const int form = (int)operation + 1; /* 0: an empty place */
    const unsigned at = (unsigned)(in_type * 7 + (out_type >> 5) + out_type + op * 3 + (handle)form) % KEPT;
    if (kept[at].form == form && kept[at].in_type == in_type && kept[at].out_type == out_type && kept[at].op == op)
        return 1;
    if (refuses(&q))
        return 0;
    if (is_known(in_type, known_types, TYPES) && is_known(out_type, known_types, TYPES) && (!op || is_known(op, known_operations, FOLD_OPERATIONS))) {
        kept[at].form = form;
        kept[at].in_type = in_type;
        kept[at].out_type = out_type;
        kept[at].op = op;
    }
    return 1;
}

/*
 * Reports whether MPI takes one block of memory as both buffers. A rank may pass a block for both
 * only as MPI_IN_PLACE, but only some MPIs refuse it; with the others, the library treats it as
 * MPI_IN_PLACE.
 */
static int takes_twice(enum operation operation, const void *in, void *out, handle type, handle op)
{
    const struct question q = {operation, type, type, op, in, out, 1};
    return !refuses(&q);
}

/*
 * Reports whether the rules leave an operation to MPI whatever its length. Then nobody needs to look
 * at its arguments.
 */
static int is_always_left(enum operation op, const struct communicator *c) { return is_left(op, c, LLONG_MAX - 1); }

/* The sum of counts, or -1 if one is negative. */
static long long sum_of(const int *counts, int n)
{
    long long all = 0;
    int i;
    for (i = 0; i < n; i++)
        all = counts[i] < 0 || all < 0 ? -1 : all + counts[i];
    return all;
}

static long long greatest_of(const int *counts, int n)
{
    long long most = 0;
    int i;
    for (i = 0; i < n; i++)
        most = counts[i] > most ? counts[i] : most;
    return most;
}

/* Records that MPI gets an operation because of its arguments. */
static int left(int form)
{
    note_passed(form, INVALID);
    return 0;
}

/*
 * Reports whether elements may be at an address. MPI_BOTTOM is NULL, and only a derived type has
 * addresses of its own.
 */
static int is_there(const void *at, const struct layout *l) { return at || !l->plain; }

/*
 * Reports whether a rank may begin an operation that folds all elements, and own of them for itself.
 * Sets the layout of the type. form is the operation, or NONBLOCKING plus the operation.
 */
static int takes_fold(int form, const struct communicator *c, const void **in, void *out, long long own, long long all, handle type, handle op, int root,
                      struct layout *l)
{
    const enum operation operation = (enum operation)(form % NONBLOCKING);
    const int has_out = own > 0 && (operation != REDUCE || c->rank == root), wanted = has_out && (operation != EXSCAN || c->rank > 0);
    const int in_place = *in == mpi.in_place;
    if (root < 0 || root >= c->size || all < 0 || all > INT_MAX || !is_type(type) || op == mpi.op_null || op == 0)
        return left(form);
    if (all == 0)
        return 0;
    if (((wanted || in_place) && out == mpi.in_place) || (in_place && operation == REDUCE && c->rank != root))
        return left(form);
    if (!takes_types(operation, mpi.type_byte, type, op) || layout_of(type, l) || !is_there(in_place ? out : *in, l) || (wanted && !is_there(out, l)))
        return left(form);
    if (has_out && *in == out) {
        if (!takes_twice(operation, *in, out, type, op))
            return left(form);
        *in = mpi.in_place;
    }
    return 1;
}

/* Records that MPI gets an operation because a block has more bytes than an int counts. */
static int too_long(int form)
{
    note_passed(form, TOO_LONG);
    return 0;
}

/*
 * Reports whether a rank may begin an operation that moves blocks of one length, and sets the
 * layouts and the number of bytes of a block. If the root's own block has another length than the
 * others, the shorter length is right for it: longer messages are errors then.
 */
static int takes_move(int form, const struct communicator *c, struct blocks *b, int root)
{
    const enum operation operation = (enum operation)(form % NONBLOCKING);
    const int rooted = operation == GATHER || operation == SCATTER, is_root = rooted && c->rank == root;
    const int has_in = b->held && b->in != mpi.in_place, has_out = b->wanted && b->out != mpi.in_place;
    long long in = 0, out = 0;
    if (root < 0 || root >= c->size || (b->held && !has_in && (operation == SCATTER || (rooted && !is_root))) ||
        (b->wanted && !has_out && !(operation == SCATTER && is_root)))
        return left(form);
    if ((has_in && (b->in_count < 0 || !is_type(b->in_type))) || (has_out && (b->out_count < 0 || !is_type(b->out_type))) ||
        !takes_types(operation, has_in ? b->in_type : mpi.type_byte, has_out ? b->out_type : mpi.type_byte, 0))
        return left(form);
    if (has_in) {
        if (layout_of(b->in_type, &b->in_layout))
            return left(form);
        in = (long long)b->in_count * b->in_layout.size;
    }
    if (has_out) {
        if (layout_of(b->out_type, &b->out_layout))
            return left(form);
        out = (long long)b->out_count * b->out_layout.size;
    }
    if (has_in && has_out && in != out && !rooted)
        return left(form);
    in = has_in && (!has_out || in < out) ? in : out;
    if (in > INT_MAX)
        return too_long(form);
    b->bytes = (int)in;
    if (b->bytes == 0)
        return 0;
    if ((has_in && !is_there(b->in, &b->in_layout)) || (has_out && !is_there(b->out, &b->out_layout)))
        return left(form);
    if (has_in && has_out && b->in_type == b->out_type && b->in_count == b->out_count && b->in_layout.plain) {
        const char *mine = (const char *)b->in + b->own_in * b->bytes;
        char *theirs = (char *)b->out + b->own_out * b->bytes;
        if (mine == theirs) {
            if (!takes_twice(operation, mine, theirs, b->in_type, 0))
                return left(form);
            if (operation == SCATTER)
                b->out = mpi.in_place;
            else
                b->in = mpi.in_place;
        }
    }
    return 1;
}

/* Reports whether a rank may begin a broadcast, and sets the layout of the type. */
static int takes_message(int form, const struct communicator *c, const void *buffer, int count, handle type, int root, struct layout *l)
{
    if (root < 0 || root >= c->size || count < 0 || !is_type(type) || buffer == mpi.in_place || !takes_types(BCAST, mpi.type_byte, type, 0) ||
        layout_of(type, l))
        return left(form);
    if (count == 0 || l->size == 0)
        return 0;
    if ((long long)count * l->size > INT_MAX)
        return too_long(form);
    return is_there(buffer, l) ? 1 : left(form);
}

/* Reports whether the counts and the address of a side are valid. Its type is. */
static int is_side(const struct communicator *c, const struct side *s, const struct layout *l)
{
    int i, n, any = 0;
    for (i = 0; i < (s->counts ? c->size : 1); i++) {
        if ((n = s->counts ? s->counts[i] : s->count) < 0)
            return 0;
        any |= n > 0;
    }
    return !any || is_there(s->at, l);
}

/*
 * Reports whether a rank may begin an operation with blocks of different lengths. A side that is not
 * significant, or in place, is NULL. Sets twice if the rank's own block has the same place in both.
 */
static int takes_sides(int form, const struct communicator *c, const struct side *in, const struct side *out, int root, int *twice)
{
    const enum operation operation = (enum operation)(form % NONBLOCKING);
    const struct side *sides[] = {in, out}, *one = operation == SCATTERV ? out : in, *all = operation == SCATTERV ? in : out;
    struct layout layouts[2];
    int i;
    *twice = 0;
    if (root < 0 || root >= c->size)
        return left(form);
    for (i = 0; i < 2; i++) {
        const struct side *s = sides[i];
        if (s && (!is_type(s->type) || s->at == mpi.in_place || ((s == all || operation == ALLTOALLV) && (!s->counts || !s->displacements))))
            return left(form);
    }
    if (!takes_types(operation, in ? in->type : mpi.type_byte, out ? out->type : mpi.type_byte, 0))
        return left(form);
    for (i = 0; i < 2; i++)
        if (sides[i] && (layout_of(sides[i]->type, &layouts[i]) || !is_side(c, sides[i], &layouts[i])))
            return left(form);
    if (!one || !all)
        return 1;
    if (operation == ALLTOALLV) {
        *twice = in->at == out->at && in->counts == out->counts && in->type == out->type;
        return !*twice || takes_twice(operation, in->at, (void *)in->at, in->type, 0) ? 1 : left(form);
    }
    if (operation == ALLGATHERV && (long long)in->count * layouts[0].size != (long long)out->counts[c->rank] * layouts[1].size)
        return left(form);
    if (one->count > 0 && one->type == all->type && one->count == all->counts[c->rank] &&
        one->at == (char *)all->at + all->displacements[c->rank] * layouts[0].extent) {
        *twice = 1;
        return takes_twice(operation, one->at, (void *)one->at, one->type, 0) ? 1 : left(form);
    }
    return 1;
}
