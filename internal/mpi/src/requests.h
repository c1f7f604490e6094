/*
 * Operations that the engine go has begun and continues in the background. To the program each is a
 * generalized request of MPI. Only a thread of the program may tell MPI that it is complete. So the
 * functions that wait for requests, or test them, first complete the library's operations that have
 * ended. While no such operation is open, these functions only call MPI.
 */
struct pending {
    struct sg_go_note note; /* first, because Go knows its address */
    handle request;
    int go;                 /* number of the communicator */
    char *memory[2];        /* of packed blocks; freed at the end */
    const char *from;       /* what is unpacked at the end, or NULL: count elements of a type */
    void *to;
    int size, count;
    handle type;            /* a copy, because the program may free its own before */
    struct line line;       /* blocks of different lengths; copied to side at the end if line.memory is set */
    struct side side;       /* destination of these blocks, with type */
    int stays;              /* the blocks are not copied */
    struct widened *wide;   /* packed blocks of types of their own, or NULL */
    struct pending *next;   /* with the same hash */
    int users;              /* MPI, or the program, until it frees the request, and the library, while it is in a bucket */
    /* of a persistent operation, see persistent.h: */
    int prepared;           /* 1 + its number in the engine */
    int tag;                /* of the message that completes its request */
    struct entry *entry;
    int ranks;
    long long bytes;
    struct pending *sibling; /* in the list of persistent operations */
};

/* The blocks of an ialltoallw; see nonblocking.h. */
static int unpack_widened(const struct widened *w);
static void free_widened(struct widened *w);

static void complete_persistent(struct pending *p);
static void free_persistent(struct pending *p);

enum { BUCKETS = 1024 };
static struct pending *buckets[BUCKETS]; /* operations that MPI does not know to be complete */
static int under_way;                    /* their number */
static uintptr_t ended;                  /* list of ended operations, filled by Go */
static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;

static struct pending **bucket(handle request) { return &buckets[(request >> 4 ^ request) % BUCKETS]; }

static int query_pending(void *extra, void *status)
{
    struct pending *p = extra;
    P_Status_set_elements(status, mpi.type_byte, 0);
    P_Status_set_cancelled(status, 0);
    return p->note.err ? mpi.err_other : 0;
}

static int free_pending(void *extra)
{
    struct pending *p = extra;
    if (__atomic_sub_fetch(&p->users, 1, __ATOMIC_ACQ_REL))
        return 0;
    if (p->prepared)
        free_persistent(p);
    else
        free(p);
    return 0;
}

/* It is an error to cancel a collective operation; the operation continues. */
static int cancel_pending(void *extra, int complete)
{
    (void)extra, (void)complete;
    return 0;
}

/* Frees what an operation no longer needs. Its own memory stays until MPI frees the request. */
static void release_pending(struct pending *p)
{
    free(p->memory[0]);
    free(p->memory[1]);
    free(p->line.memory);
    free(p->line.lengths);
    free_widened(p->wide);
    if (p->type)
        P_Type_free(&p->type);
}

/*
 * Tells MPI that an ended operation is complete. Until then the operation is in its bucket, because
 * MPICH should not be made to wait for it. MPI may give its handle to another operation at once,
 * which is then before it in the bucket.
 */
static void complete(struct pending *p)
{
    struct pending **at;
    int position = 0;
    if (p->from && !p->note.err && unpack_to(p->from, p->size, &position, p->to, p->count, p->type, mpi.comm_self))
        p->note.err = -1;
    if (p->line.memory && !p->stays && !p->note.err && put_back(mpi.comm_self, &p->line, &p->side))
        p->note.err = -1;
    if (p->wide && !p->note.err && unpack_widened(p->wide))
        p->note.err = -1;
    if (p->prepared) {
        complete_persistent(p);
    } else {
        release_pending(p);
        P_Grequest_complete(p->request);
    }
    pthread_mutex_lock(&pending_lock);
    for (at = bucket(p->request); *at != p; at = &(*at)->next)
        ;
    *at = p->next;
    pthread_mutex_unlock(&pending_lock);
    __atomic_fetch_sub(&under_way, 1, __ATOMIC_RELAXED);
    free_pending(p);
}

/* Completes the operations that have ended. */
static void complete_ended(void)
{
    uintptr_t next;
    if (!__atomic_load_n(&ended, __ATOMIC_RELAXED))
        return;
    next = __atomic_exchange_n(&ended, 0, __ATOMIC_ACQUIRE);
    inside++;
    while (next) {
        struct pending *p = (struct pending *)next;
        next = p->note.next;
        complete(p);
    }
    inside--;
}

/* Records an operation that is about to start. */
static void note_start(struct pending *p)
{
    struct pending **at;
    pthread_mutex_lock(&pending_lock);
    at = bucket(p->request);
    p->next = *at;
    *at = p;
    pthread_mutex_unlock(&pending_lock);
    __atomic_fetch_add(&under_way, 1, __ATOMIC_RELAXED);
}

/* Returns a number that no other started operation has. */
static uint64_t new_token(void)
{
    static uint64_t tokens;
    return __atomic_add_fetch(&tokens, 1, __ATOMIC_RELAXED);
}

/* Starts an operation in the engine go. p says what to do at its end. */
static int start_go(struct pending *p, const struct communicator *c, struct entry *e, struct sg_go_call *call, long long bytes, void *request)
{
    int err;
    p->users = 2;
    p->go = c->go;
    taken_by(&e->taken, bytes);
    p->note.token = new_token();
    if ((err = P_Grequest_start((void *)query_pending, (void *)free_pending, (void *)cancel_pending, p, request))) {
        release_pending(p);
        free(p);
        return err;
    }
    p->request = read_handle(request);
    call->operation = (int)(e - go_entries) % NONBLOCKING;
    note_start(p);
    GO(err, go_start(c->go, call, &p->note, &ended));
    note_algorithm((int)(e - go_entries), c->go, c->size);
    if (err) { /* its waiter gets the error */
        p->note.err = err;
        complete(p);
    }
    return 0;
}

/* An operation of the library that is not complete. */
struct mine {
    int go;
    uint64_t token;
};

static int find_mine(handle request, struct mine *m)
{
    struct pending *p;
    pthread_mutex_lock(&pending_lock);
    for (p = *bucket(request); p && p->request != request; p = p->next)
        ;
    if (p) {
        m->go = p->go;
        m->token = p->note.token;
    }
    pthread_mutex_unlock(&pending_lock);
    return p != NULL;
}

static handle request_at(const void *requests, int i) { return read_handle((const char *)requests + (size_t)i * mpi.handle_size); }

/*
 * Waits until all operations of the library among requests are complete. MPI makes progress
 * meanwhile.
 */
static void wait_for_mine(int n, const void *requests)
{
    struct mine m;
    int i, ok;
    complete_ended();
    for (i = 0; i < n; i++)
        while (find_mine(request_at(requests, i), &m)) {
            GO(ok, go_wait(m.go, m.token));
            if (__atomic_load_n(&ended, __ATOMIC_RELAXED))
                complete_ended();
            else
                sched_yield(); /* another thread completes it */
        }
    (void)ok;
}

/*
 * Checks for what has arrived for operations of the library among requests. Returns how many are
 * not complete.
 */
static int test_mine(int n, const void *requests)
{
    struct mine m;
    int i, ok, found = 0, last = -1;
    complete_ended();
    for (i = 0; i < n; i++)
        if (find_mine(request_at(requests, i), &m)) {
            found++;
            if (m.go != last)
                GO(ok, go_test(last = m.go, m.token));
        }
    (void)ok;
    if (__atomic_load_n(&ended, __ATOMIC_RELAXED)) {
        complete_ended();
        for (found = i = 0; i < n; i++)
            found += find_mine(request_at(requests, i), &m);
    }
    return found;
}

/*
 * Lets other threads run, for a time that grows while nothing arrives. The engine continues in the
 * background.
 */
static void pause_after(int rounds)
{
    struct timespec t = {0, 20000};
    if (rounds < 200) {
        sched_yield();
        return;
    }
    for (; rounds >= 220 && t.tv_nsec < 1000000; rounds -= 20)
        t.tv_nsec *= 2;
    if (t.tv_nsec > 1000000)
        t.tv_nsec = 1000000;
    nanosleep(&t, NULL);
}

/* An operation of a communicator, or for -1 of any, that is not complete. */
static int find_pending(int go, struct mine *m)
{
    struct pending *p = NULL;
    int i;
    if (!__atomic_load_n(&under_way, __ATOMIC_ACQUIRE))
        return 0;
    pthread_mutex_lock(&pending_lock);
    for (i = 0; i < BUCKETS && !p; i++)
        for (p = buckets[i]; p && go >= 0 && p->go != go; p = p->next)
            ;
    if (p) {
        m->go = p->go;
        m->token = p->note.token;
    }
    pthread_mutex_unlock(&pending_lock);
    return p != NULL;
}

/* Reports whether operations of a communicator have not ended at this rank. */
static int has_pending(int go)
{
    struct mine m;
    complete_ended();
    return find_pending(go, &m);
}

/* Waits until all operations have ended. All ranks have begun them, or will. */
static void wait_for_ends(void)
{
    struct mine m;
    int ok;
    for (complete_ended(); find_pending(-1, &m); complete_ended()) {
        GO(ok, go_wait(m.go, m.token));
        if (!__atomic_load_n(&ended, __ATOMIC_RELAXED))
            sched_yield(); /* another thread completes it */
    }
    (void)ok;
}

/* Functions that wait or test. */
#define IS_MINE (__atomic_load_n(&under_way, __ATOMIC_RELAXED) && !inside)
#define EXPORT __attribute__((visibility("default"))) int

EXPORT MPI_Wait(void *request, void *status)
{
    if (IS_MINE)
        wait_for_mine(1, request);
    PASS(Wait, (void *, void *), (request, status));
}

EXPORT MPI_Waitall(int n, void *requests, void *statuses)
{
    if (IS_MINE)
        wait_for_mine(n, requests);
    PASS(Waitall, (int, void *, void *), (n, requests, statuses));
}

EXPORT MPI_Waitany(int n, void *requests, int *index, void *status)
{
    int rounds, found, err;
    for (rounds = 0; IS_MINE && test_mine(n, requests); rounds++) {
        if ((err = P_Testany(n, requests, index, &found, status)) || found)
            return err;
        pause_after(rounds);
    }
    PASS(Waitany, (int, void *, int *, void *), (n, requests, index, status));
}

EXPORT MPI_Waitsome(int n, void *requests, int *done, int *indices, void *statuses)
{
    int rounds, err;
    for (rounds = 0; IS_MINE && test_mine(n, requests); rounds++) {
        if ((err = P_Testsome(n, requests, done, indices, statuses)) || *done)
            return err;
        pause_after(rounds);
    }
    PASS(Waitsome, (int, void *, int *, int *, void *), (n, requests, done, indices, statuses));
}

EXPORT MPI_Test(void *request, int *flag, void *status)
{
    if (IS_MINE)
        test_mine(1, request);
    PASS(Test, (void *, int *, void *), (request, flag, status));
}

EXPORT MPI_Testall(int n, void *requests, int *flag, void *statuses)
{
    if (IS_MINE)
        test_mine(n, requests);
    PASS(Testall, (int, void *, int *, void *), (n, requests, flag, statuses));
}

EXPORT MPI_Testany(int n, void *requests, int *index, int *flag, void *status)
{
    if (IS_MINE)
        test_mine(n, requests);
    PASS(Testany, (int, void *, int *, int *, void *), (n, requests, index, flag, status));
}

EXPORT MPI_Testsome(int n, void *requests, int *done, int *indices, void *statuses)
{
    if (IS_MINE)
        test_mine(n, requests);
    PASS(Testsome, (int, void *, int *, int *, void *), (n, requests, done, indices, statuses));
}

EXPORT MPI_Request_get_status(handle request, int *flag, void *status)
{
    if (IS_MINE) {
        handle h = whole(request);
        test_mine(1, &h);
    }
    PASS(Request_get_status, (handle, int *, void *), (request, flag, status));
}
