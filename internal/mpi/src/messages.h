/* The functions that the interpreter needs, implemented with MPI; see interpreter.h. */
struct use {
    const struct communicator *comm;
    handle type[2]; /* types of sent and of received elements */
    handle op;
    int own;        /* number of elements that the rank receives from itself, if the types differ */
    int shift;      /* the root, which is added to ranks of the tables, modulo their number */
    int plain;      /* bytes of an element without gaps, if both types are the same, or 0 */
    int slots;      /* number of requests for receives */
    char *requests; /* of receives by slot, then of sends */
};

static int peer(const struct use *u, int rank)
{
    rank += u->shift;
    return rank < u->comm->size ? rank : rank - u->comm->size;
}

/*
 * The tag of a message. If MPI has refused an operation at one rank only, messages of the others may
 * be left, which the next operations must not receive. So the tags of an operation are shifted by
 * its turn. They remain different from each other.
 */
static int tag_of(const struct use *u, int tag)
{
    enum { MOST_TAG = 32767, APART = 61 };
    return (int)((u->comm->turn * APART + (unsigned)tag) & MOST_TAG);
}

static int sg_isend(struct sg_call *call, int send, const void *at, int count, int to, int tag)
{
    struct use *u = call->with;
    return P_Isend(at, count, u->type[SG_SEND], peer(u, to), tag_of(u, tag), u->comm->inner, u->requests + (size_t)(u->slots + send) * mpi.handle_size);
}

static int sg_irecv(struct sg_call *call, int slot, void *at, int count, int from, int tag)
{
    struct use *u = call->with;
    return P_Irecv(at, count, u->type[SG_RECEIVE], peer(u, from), tag_of(u, tag), u->comm->inner, u->requests + (size_t)slot * mpi.handle_size);
}

static int sg_receive_any(struct sg_call *call, int slots, int *slot)
{
    struct use *u = call->with;
    *slot = 0;
    if (slots == 1)
        return P_Wait(u->requests, mpi.status_ignore);
    return P_Waitany(slots, u->requests, slot, mpi.status_ignore);
}

static int sg_wait_sends(struct sg_call *call, int sends)
{
    struct use *u = call->with;
    int i, err = 0;
    for (i = 0; !err && i < sends; i++)
        err = P_Wait(u->requests + (size_t)(u->slots + i) * mpi.handle_size, mpi.status_ignore);
    return err;
}

static void sg_cancel(struct sg_call *call, int slots)
{
    struct use *u = call->with;
    int i;
    for (i = 0; i < slots; i++) {
        char *request = u->requests + (size_t)i * mpi.handle_size;
        if (read_handle(request) == mpi.request_null)
            continue;
        P_Cancel(request);
        P_Wait(request, mpi.status_ignore);
    }
}

static int sg_reduce(struct sg_call *call, const void *left, void *right, int count)
{
    struct use *u = call->with;
    return P_Reduce_local(left, right, count, u->type[SG_SEND], u->op);
}

/*
 * Copies elements. If the two types differ, it copies from the send buffer to the receive buffer.
 * No message of a schedule goes from a rank to itself, so tag 0 is free for that.
 */
static int sg_copy(struct sg_call *call, const void *from, void *to, int count)
{
    struct use *u = call->with;
    int rank = u->comm->rank;
    if (u->plain) {
        memcpy(to, from, (size_t)count * (size_t)u->plain);
        return 0;
    }
    return P_Sendrecv(from, count, u->type[SG_SEND], rank, 0, to, u->own ? u->own : count, u->type[SG_RECEIVE], rank, 0,
                      u->comm->inner, mpi.status_ignore);
}
