/*
 * How an operation reaches its communicator. The library identifies a communicator by an attribute,
 * which the first blocking collective operation on the communicator sets. So split, dup, create and
 * free need no special treatment: the attribute is not copied, and its deletion frees its data.
 */

/* Frees what the library has for a communicator. */
static void drop(struct communicator *c)
{
    if (c->stage == MADE) {
        P_Comm_free(&c->inner);
        __atomic_fetch_sub(&made, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&freed_soon, c->operations < LONG * after ? freed_soon + 1 : 0, __ATOMIC_RELAXED);
    }
    free(c->rules);
    free(c->turns);
    free(c->left);
    free(c);
}

/*
 * A communicator leaves the engine go when all its ranks have ended all its operations. The program
 * may have freed it long before, because MPI_Comm_free does not wait for other ranks, nor for
 * operations that have begun. So the communicator becomes a leaver: when its operations have ended
 * at this rank, the rank begins a barrier of MPI, and later calls look whether the barrier has
 * ended.
 */
static struct communicator *leavers;

static void begin_to_leave(struct communicator *c)
{
    c->leaves = P_Ibarrier(c->inner, c->request) ? -1 : 1; /* after an error there is nothing to wait for */
}

/* Lets those leave that can. */
static void let_leave(void)
{
    struct communicator *c, *next, *left = NULL, **end = &left;
    int ended;
    pthread_mutex_lock(&go_lock);
    c = leavers;
    leavers = NULL;
    pthread_mutex_unlock(&go_lock);
    inside++;
    for (; c; c = next) {
        next = c->next;
        if (!c->leaves && !has_pending(c->go))
            begin_to_leave(c);
        ended = c->leaves < 0;
        if (c->leaves > 0 && P_Test(c->request, &ended, mpi.status_ignore))
            ended = 1;
        if (ended) {
            leave(c);
            drop(c);
        } else {
            *end = c;
            end = &c->next;
        }
    }
    inside--;
    if (!left)
        return;
    pthread_mutex_lock(&go_lock);
    *end = leavers;
    leavers = left;
    pthread_mutex_unlock(&go_lock);
}

/* Makes all communicators leave, and waits for it. */
static void leave_all(void)
{
    struct communicator *c, **end = &leavers;
    while (*end)
        end = &(*end)->next;
    *end = joined;
    joined = NULL;
    for (c = leavers; c; c = c->next)
        if (!c->leaves)
            begin_to_leave(c);
    for (; (c = leavers); leave(c)) {
        leavers = c->next;
        if (c->leaves > 0)
            P_Wait(c->request, mpi.status_ignore);
    }
}

/* The attribute is not copied: a duplicate has its own. */
static int copy_attribute(handle comm, int k, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)k, (void)extra, (void)in, (void)out;
    *flag = 0;
    return 0;
}

static int delete_attribute(handle comm, int k, void *value, void *extra)
{
    struct communicator *c = value;
    (void)comm, (void)k, (void)extra;
    __atomic_fetch_add(&deletions, 1, __ATOMIC_RELEASE);
    if (is_passed(c) || finished)
        return 0;
    inside++;
    if (c->go >= 0) {
        become_leaver(c, &leavers);
        let_leave();
    } else {
        drop(c);
    }
    inside--;
    return 0;
}

/* Leaves the communicators of rootless.h. */
static void leave_rootless(void);

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first, while MPI still works. */
static int finalize(handle comm, int k, void *value, void *extra)
{
    (void)comm, (void)k, (void)value, (void)extra;
    inside++;
    leave_rootless();
    wait_for_ends();
    leave_all();
    inside--;
    finished = 1;
    if (reports && world_rank == 0) {
        int ok = 0;
        report();
        if (go_sent)
            GO(ok, go_sent());
        (void)ok;
    }
    return 0;
}

/* Finds MPI once. Returns the name of what is missing, or NULL. MPI need not be initialized. */
static const char *resolve_once(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const char *missing;
    static int tried;
    pthread_mutex_lock(&lock);
    if (!tried)
        missing = resolve();
    tried = 1;
    resolved = !missing;
    pthread_mutex_unlock(&lock);
    return missing;
}

static void know_mpi_now(void)
{
    P_Comm_rank(mpi.comm_world, &world_rank);
    know_types();
}

/* Asks MPI what the library needs to know. MPI is found and initialized. */
static void know_mpi(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, know_mpi_now);
}

/* Runs at the first collective operation, when MPI is initialized, whoever initialized it. */
static void start(void)
{
    pthread_mutex_lock(&start_lock);
    if (!started) {
        const char *mode = getenv("SCHEDGEN_MPI"), *join_after = getenv("SCHEDGEN_MPI_JOIN"), *missing;
        engine = !mode || !strcmp(mode, "auto") ? AUTO_ENGINE : !strcmp(mode, "c") ? C_ENGINE : !strcmp(mode, "go") ? GO_ENGINE : OFF;
        if (engine == AUTO_ENGINE && getenv("SCHEDGEN_MPI_TUNE"))
            tune_seconds = atof(getenv("SCHEDGEN_MPI_TUNE"));
        if (join_after && *join_after)
            after = (unsigned)atoi(join_after);
        if (engine != OFF || getenv("SCHEDGEN_MPI_PROFILE")) {
            if ((missing = resolve_once())) {
                fprintf(stderr, "schedgen: MPI serves all operations itself: there is no %s\n", missing);
                engine = OFF;
            }
        }
        if (engine != OFF) {
            int self;
            if (P_Comm_create_keyval((void *)copy_attribute, (void *)delete_attribute, &key, NULL) ||
                       P_Comm_create_keyval((void *)copy_attribute, (void *)finalize, &self, NULL) || P_Comm_set_attr(mpi.comm_self, self, passed)) {
                engine = OFF;
            }
        }
        if (engine != OFF)
            know_mpi();
        __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&start_lock);
}

/* Creates the attribute of a communicator. That concerns this rank only. */
static struct communicator *know(handle comm)
{
    struct communicator *c = &passed[NO_TABLES], *new = NULL;
    int inter, size, rank;
    if (P_Comm_test_inter(comm, &inter) || P_Comm_size(comm, &size) || P_Comm_rank(comm, &rank)) {
        return c;
    } else if (inter) {
        c = &passed[INTER];
    } else if (size == 1) {
        c = &passed[ONE_RANK];
    } else if ((new = calloc(1, sizeof *new))) {
        new->program = comm;
        new->rank = rank;
        new->size = size;
        new->go = GO_LATER;
        new->after = after;
        leave_to_mpi(new, NEW, FEW);
        c = new;
    }
    if ((!new && c == &passed[NO_TABLES]) || P_Comm_set_attr(comm, key, c)) { /* the other ranks will miss this one */
        free(new);
        P_Comm_call_errhandler(comm, mpi.err_no_mem);
        c = &passed[NO_TABLES];
    }
    return c;
}

/* Measures engines by operations, which reach their communicator too. */
static void tune(struct communicator *c, double seconds);

/* Makes a communicator that is still new ready, in an operation that all its ranks begin. */
static void settle(struct communicator *c)
{
    const int world = c->program == mpi.comm_world;
    if (tune_seconds > 0 && world) {
        double seconds = tune_seconds;
        if (make(c)) {
            tune_seconds = 0;
            tune(c, seconds);
        }
    } else if (engine == AUTO_ENGINE) {
        if (c->operations >= c->after)
            look(c);
    } else if (world || c->operations >= c->after) {
        if (make(c) && engine == GO_ENGINE)
            join(c);
    }
}

/*
 * The attribute of a communicator, which the first blocking operation creates. NULL if the library
 * is off.
 */
static struct communicator *reach(handle comm)
{
    static __thread handle last;
    static __thread struct communicator *last_found;
    static __thread unsigned long last_deletions;
    struct communicator *c = NULL;
    unsigned long now;
    int found = 0;
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE) && !inside)
        start();
    if (inside || finished || engine == OFF || comm == mpi.comm_null)
        return NULL;
    if (__atomic_load_n(&leavers, __ATOMIC_RELAXED))
        let_leave();
    now = __atomic_load_n(&deletions, __ATOMIC_ACQUIRE);
    if (comm == last && now == last_deletions && last_found) {
        c = last_found;
    } else {
        inside++;
        if (P_Comm_get_attr(comm, key, &c, &found))
            c = &passed[NO_TABLES];
        else if (!found)
            c = know(comm);
        inside--;
        last = comm;
        last_found = c;
        last_deletions = now;
    }
    if (c->stage == NEW)
        settle(c);
    if (c->stage != LEFT)
        c->operations++;
    return c;
}

/* The communicator of an operation that the library performs, or NULL if MPI is to perform it. */
static struct communicator *enter(enum operation op, handle comm)
{
    struct communicator *c = reach(comm);
    if (c && is_passed(c)) {
        note_passed(op, (enum reason)(c - passed));
        c = NULL;
    }
    if (c)
        c->turn++;
    return c;
}

/*
 * The communicator of a form of a nonblocking or persistent operation. It must have joined the engine go, because the
 * engine c makes progress only in its own calls. No attribute is created here, because a rank that
 * begins such an operation does not wait for others.
 */
static struct communicator *enter_nonblocking(int form, handle comm)
{
    struct communicator *c = NULL;
    enum reason why = ONLY_GO;
    int found = 0;
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE) && !inside)
        start();
    if (inside || finished || engine == OFF || comm == mpi.comm_null)
        return NULL;
    if (__atomic_load_n(&leavers, __ATOMIC_RELAXED))
        let_leave();
    if (engine == GO_ENGINE) {
        inside++;
        if (P_Comm_get_attr(comm, key, &c, &found) || !found)
            c = NULL;
        inside--;
        if (c && !is_passed(c) && c->go >= 0)
            return c;
        why = c && is_passed(c) ? (enum reason)(c - passed) : NOT_JOINED;
    }
    note_passed(form, why);
    return NULL;
}
