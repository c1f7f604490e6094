/*
 * Persistent collective operations (MPI_Bcast_init and so on) in the engine go, which prepares them:
 * a start looks nothing up. To the program each is a persistent request of MPI, a receive of an empty
 * message from the rank itself. Only the library sends that message, when the started operation has
 * ended. So MPI's functions that wait or test do the rest.
 *
 * All ranks prepare an operation, or none does and the MPI gets it. A rank cannot if its blocks would
 * have to be packed. MPI allows the initialization to wait for other ranks.
 */
static struct pending *persistent; /* list, guarded by pending_lock */

/* The result of functions that leave a persistent operation to MPI, at all ranks. */
enum { LEAVE = -1000 };

/* Returns the operation of a persistent request, or NULL. */
static struct pending *find_persistent(handle request)
{
    struct pending *p;
    if (!__atomic_load_n(&persistent, __ATOMIC_RELAXED))
        return NULL;
    pthread_mutex_lock(&pending_lock);
    for (p = persistent; p && p->request != request; p = p->sibling)
        ;
    pthread_mutex_unlock(&pending_lock);
    return p;
}

enum { MOST_PERSISTENT = 1 << 14, TAGS = 1 << 15 };
static int persistent_operations; /* their number */

/* Adds an operation to the list, and gives it a tag that no other in the list has. */
static void enlist(struct pending *p)
{
    static int tag;
    struct pending *other;
    pthread_mutex_lock(&pending_lock);
    tag = (tag + 1) % TAGS;
    for (other = persistent; other;) {
        const int taken = other->tag == tag;
        tag = (tag + taken) % TAGS;
        other = taken ? persistent : other->sibling;
    }
    p->tag = tag;
    p->sibling = persistent;
    __atomic_store_n(&persistent, p, __ATOMIC_RELAXED);
    persistent_operations++;
    pthread_mutex_unlock(&pending_lock);
}

static void strike(struct pending *p)
{
    struct pending **at;
    pthread_mutex_lock(&pending_lock);
    for (at = &persistent; *at && *at != p; at = &(*at)->sibling)
        ;
    if (*at) {
        *at = p->sibling;
        persistent_operations--;
    }
    pthread_mutex_unlock(&pending_lock);
}

/* Frees an operation whose request has been freed. */
static void free_persistent(struct pending *p)
{
    strike(p);
    release_pending(p);
    free(p);
}

/* After an error the message is too long for the receive, so that MPI reports one. */
static void complete_persistent(struct pending *p)
{
    char wrong = 0;
    P_Send(&wrong, p->note.err ? 1 : 0, mpi.type_byte, 0, p->tag, alone);
}

/* Prepares an operation, or frees its data. */
static int prepare_or_free(struct pending *p, const struct communicator *c, struct entry *e, struct sg_go_call *go, long long bytes, void *request, int err)
{
    int can = p && !err && !p->memory[0] && !p->memory[1] && !p->from && !p->line.memory && persistent_operations < MOST_PERSISTENT, number = -1;
    pthread_mutex_lock(&alone_lock);
    inside++;
    make_alone();
    inside--;
    pthread_mutex_unlock(&alone_lock);
    if (all_say(can && alone, c->inner)) {
        go->operation = (int)(e - go_entries) % NONBLOCKING;
        GO(number, go_prepare(c->go, go));
        err = number < 0 ? mpi.err_other : 0;
        p->prepared = 1 + number;
        p->go = c->go;
        p->entry = e;
        p->ranks = c->size;
        p->bytes = bytes;
        if (!err) {
            enlist(p);
            if (!(err = P_Recv_init(NULL, 0, mpi.type_byte, 0, p->tag, alone, request))) {
                p->request = read_handle(request);
                p->users = 1;
                taken_by(&setups[PREPARING], 0);
                return 0;
            }
            strike(p);
        }
    } else {
        note_passed((int)(e - go_entries), PACKED);
        err = LEAVE;
    }
    if (p) {
        release_pending(p);
        free(p);
    }
    return err;
}

/* Starts a persistent operation of the library. */
static int start_persistent(struct pending *p, void *request)
{
    int err;
    if ((err = P_Start(request)))
        return err;
    taken_by(&p->entry->taken, p->bytes);
    p->note.err = 0;
    p->note.token = new_token();
    __atomic_fetch_add(&p->users, 1, __ATOMIC_RELAXED); /* complete takes one away */
    note_start(p);
    GO(err, go_start_prepared(p->go, p->prepared - 1, &p->note, &ended));
    note_algorithm((int)(p->entry - go_entries), p->go, p->ranks);
    if (err) { /* its waiter gets the error */
        p->note.err = err;
        complete(p);
    }
    return 0;
}

static int begin_operation(unsigned long long *begin);
static void end_operation(int form, unsigned long long time, long long length);

EXPORT MPI_Start(void *request)
{
    struct pending *p = inside ? NULL : find_persistent(read_handle(request));
    unsigned long long begin;
    int err, counts;
    if (!p)
        PASS(Start, (void *), (request));
    counts = timed && begin_operation(&begin);
    err = start_persistent(p, request);
    if (counts)
        end_operation((int)(p->entry - go_entries), nanoseconds() - begin, p->bytes);
    return err;
}

EXPORT MPI_Startall(int n, void *requests)
{
    int i, err = 0, any = 0;
    for (i = 0; !inside && i < n && !any; i++)
        any = find_persistent(request_at(requests, i)) != NULL;
    if (!any)
        PASS(Startall, (int, void *), (n, requests));
    for (i = 0; !err && i < n; i++)
        err = MPI_Start((char *)requests + (size_t)i * mpi.handle_size);
    return err;
}

/*
 * A started operation ends first, because MPICH forgets the receive of a request that is freed. The
 * program may not rely on a request to be freed while the operation is under way.
 */
EXPORT MPI_Request_free(void *request)
{
    struct pending *p = inside ? NULL : find_persistent(read_handle(request));
    int ok;
    if (p) {
        wait_for_mine(1, request);
        GO(ok, go_drop_prepared(p->go, p->prepared - 1));
        (void)ok;
        free_pending(p);
    }
    PASS(Request_free, (void *), (request));
}

