/*
 * The functions of MPI that the interpreter needs, and the collective operation that users call.
 */

/* A schedule: the plans of all ranks, and what they have in common. */
struct sg_schedule {
    int ranks;
    const struct sg_plan *plan;
    int moves;   /* whether blocks of bytes are moved */
    int folds;   /* whether contributions are folded */
    int ordered; /* whether they are folded in the order of the ranks */
};

/* The state of an operation for the functions below. */
struct sg_mpi {
    MPI_Comm comm;
    int rank;
    MPI_Datatype type;
    MPI_Op op;
    int plain;             /* bytes of an element that has no gaps, or 0 */
    int slots;             /* number of requests of receives */
    MPI_Request *requests; /* of receives by slot, then of sends */
};

static int sg_isend(struct sg_call *call, int send, const void *at, int count, int to, int tag)
{
    struct sg_mpi *mpi = call->with;
    return MPI_Isend((void *)at, count, mpi->type, to, tag, mpi->comm, &mpi->requests[mpi->slots + send]);
}

static int sg_irecv(struct sg_call *call, int slot, void *at, int count, int from, int tag)
{
    struct sg_mpi *mpi = call->with;
    return MPI_Irecv(at, count, mpi->type, from, tag, mpi->comm, &mpi->requests[slot]);
}

static int sg_receive_any(struct sg_call *call, int slots, int *slot)
{
    struct sg_mpi *mpi = call->with;
    *slot = 0;
    if (slots == 1)
        return MPI_Wait(mpi->requests, MPI_STATUS_IGNORE);
    return MPI_Waitany(slots, mpi->requests, slot, MPI_STATUS_IGNORE);
}

static int sg_wait_sends(struct sg_call *call, int sends)
{
    struct sg_mpi *mpi = call->with;
    int i, err = MPI_SUCCESS;
    for (i = 0; !err && i < sends; i++)
        err = MPI_Wait(&mpi->requests[mpi->slots + i], MPI_STATUS_IGNORE);
    return err;
}

static void sg_cancel(struct sg_call *call, int slots)
{
    struct sg_mpi *mpi = call->with;
    int i;
    for (i = 0; i < slots; i++) {
        if (mpi->requests[i] == MPI_REQUEST_NULL)
            continue;
        MPI_Cancel(&mpi->requests[i]);
        MPI_Wait(&mpi->requests[i], MPI_STATUS_IGNORE);
    }
}

static int sg_reduce(struct sg_call *call, const void *left, void *right, int count)
{
    struct sg_mpi *mpi = call->with;
    return MPI_Reduce_local((void *)left, right, count, mpi->type, mpi->op);
}

/* No message of a schedule goes from a rank to itself, so these messages may have tag 0. */
static int sg_copy(struct sg_call *call, const void *from, void *to, int count)
{
    struct sg_mpi *mpi = call->with;
    if (!mpi->plain)
        return MPI_Sendrecv((void *)from, count, mpi->type, mpi->rank, 0, to, count, mpi->type, mpi->rank, 0, mpi->comm, MPI_STATUS_IGNORE);
    memcpy(to, from, (size_t)count * (size_t)mpi->plain);
    return MPI_SUCCESS;
}

/*
 * Messages go over a duplicate of the caller's communicator, on which nobody else sends. The first
 * operation makes the duplicate. It is an attribute of the caller's communicator and is freed with it.
 */
static int sg_key = MPI_KEYVAL_INVALID;

static int sg_forget(MPI_Comm comm, int key, void *value, void *extra)
{
    MPI_Comm *own = value;
    int err = MPI_Comm_free(own);
    (void)comm, (void)key, (void)extra;
    free(own);
    return err;
}

static int sg_own(MPI_Comm comm, MPI_Comm *to)
{
    MPI_Comm *own;
    int found, err;
    if (sg_key == MPI_KEYVAL_INVALID && (err = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, sg_forget, &sg_key, NULL)))
        return err;
    if ((err = MPI_Comm_get_attr(comm, sg_key, &own, &found)))
        return err;
    if (!found) {
        if (!(own = malloc(sizeof *own)))
            return MPI_ERR_NO_MEM;
        if ((err = MPI_Comm_dup(comm, own)) || (err = MPI_Comm_set_attr(comm, sg_key, own)))
            return err;
    }
    *to = *own;
    return MPI_SUCCESS;
}

/*
 * Sets the buffers of an operation, of which one may be MPI_IN_PLACE. If that buffer has a single block
 * and the other buffer has it too, the block is used there. Otherwise, what in would have is copied from
 * the beginning of out, because the operation may overwrite it. The caller frees *copy.
 */
static int sg_in_place(struct sg_call *call, const void *in, void *out, char **copy)
{
    const struct sg_plan *plan = call->plan;
    struct sg_mpi *mpi = call->with;
    ptrdiff_t block = (ptrdiff_t)call->count * call->extent;
    int i, err;
    call->buffer[SG_SEND].at = (char *)in;
    call->buffer[SG_RECEIVE].at = out;
    if (out == MPI_IN_PLACE) {
        if (plan->wanted != 1 || plan->own_held < 0)
            return plan->wanted ? MPI_ERR_BUFFER : MPI_SUCCESS;
        call->buffer[SG_RECEIVE].at = (char *)in + plan->own_held * block;
    } else if (in == MPI_IN_PLACE && plan->held == 1 && plan->own_held >= 0) {
        call->buffer[SG_SEND].at = (char *)out + plan->own_wanted * block;
    } else if (in == MPI_IN_PLACE && (mpi->op != MPI_OP_NULL || plan->own_held >= 0)) {
        if (!(*copy = sg_new(call, (ptrdiff_t)plan->held * call->count)))
            return SG_NO_MEMORY;
        for (i = 0; i < plan->held; i++)
            if ((err = sg_copy(call, (char *)out + i * block, *copy + i * block, call->count)))
                return err;
        call->buffer[SG_SEND].at = *copy;
    } else if (in == MPI_IN_PLACE) {
        return plan->held ? MPI_ERR_BUFFER : MPI_SUCCESS;
    }
    return MPI_SUCCESS;
}

/* Runs one operation of a schedule; in and out are its two buffers. */
static int sg_collective(const struct sg_schedule *schedule, const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct sg_call call;
    struct sg_mpi mpi;
    long long lent[128]; /* aligned like elements */
    MPI_Aint low, extent, true_low, true_extent;
    char *copy = NULL;
    int ranks, size, err;
    memset(&call, 0, sizeof call);
    call.with = &mpi;
    call.lent = (char *)lent;
    call.lent_size = sizeof lent;
    mpi.type = type;
    mpi.op = op;
    if ((err = MPI_Comm_size(comm, &ranks)) || (err = MPI_Comm_rank(comm, &mpi.rank)))
        return err;
    if (ranks != schedule->ranks)
        return MPI_ERR_COMM;
    if (count < 0)
        return MPI_ERR_COUNT;
    if (schedule->moves && count == 0)
        return MPI_SUCCESS;
    if (schedule->folds && ((err = MPI_Op_commutative(op, &call.commutes)) || (!call.commutes && !schedule->ordered)))
        return err ? err : MPI_ERR_OP;
    if ((err = MPI_Type_size(type, &size)) || (err = MPI_Type_get_extent(type, &low, &extent)) ||
        (err = MPI_Type_get_true_extent(type, &true_low, &true_extent)) || (err = sg_own(comm, &mpi.comm)))
        return err;
    call.plan = &schedule->plan[mpi.rank];
    call.count = count;
    call.extent = call.buffer[SG_SEND].extent = call.buffer[SG_RECEIVE].extent = extent;
    call.lead = true_low < 0 ? -true_low : 0;
    call.trail = true_low + true_extent > extent ? true_low + true_extent - extent : 0;
    mpi.plain = size == extent && true_low == 0 && true_extent == extent ? size : 0;
    mpi.slots = call.plan->receives < SG_POSTED ? call.plan->receives : SG_POSTED;
    mpi.requests = malloc((size_t)(mpi.slots + call.plan->sends) * sizeof *mpi.requests + 1);
    if (!mpi.requests)
        return MPI_ERR_NO_MEM;
    err = sg_in_place(&call, in, out, &copy);
    if (!err)
        err = sg_run(&call);
    if (!err) {
        sg_free(&call, copy);
        free(mpi.requests);
    }
    return err == SG_NO_MEMORY ? MPI_ERR_NO_MEM : err == SG_TOO_LONG ? MPI_ERR_COUNT : err;
}
