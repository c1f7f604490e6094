/*
 * The engine go: package runtime as a library in Go (internal/mpi/goengine), with its own shared
 * memory and connections. The first communicator that is to use it opens it. Either all ranks of a
 * communicator use it, or none does; then the engine c performs the operations, or, with the engine
 * auto, MPI.
 */
/* A collective operation. The library in Go has the same structure. */
struct sg_go_call {
    int operation, root;
    void *dst;
    const void *src;
    size_t dst_bytes, src_bytes;
    size_t element;
    const int *counts; /* elements in each block of src, or NULL: all blocks have the same length */
    int blocks, own;   /* number of counts, and number of elements of dst */
    const size_t *dst_lengths, *src_lengths; /* in bytes, of blocks of different lengths; or NULL */
    int dst_blocks, src_blocks, counted;     /* numbers of blocks; whether their lengths differ */
    int commutes;                            /* whether fold commutes */
    int kernel;        /* number of the engine's kernel for the type and the operation; 0: use fold */
    void (*fold)(void *with, void *dst, const void *left, const void *right, size_t bytes);
    void *with;
};

/*
 * Results of joining other than a number: it failed, or it was stopped because another rank failed.
 */
enum { GO_FAILED = -1, GO_STOPPED = -2 };

/*
 * A started operation. When it has ended, the engine adds it to the front of the list of ended
 * operations.
 */
struct sg_go_note {
    uintptr_t next;
    uint64_t token; /* unique */
    int err;
};

#define GO_FUNCTIONS(F) \
    F(listen, (int, const char *, char *, int)) \
    F(join, (int, int, const char *, const char *, int, int, void (*)(void *), void *, int (*)(void *), void *)) \
    F(barrier, (int)) \
    F(bcast, (int, void *, size_t, int)) \
    F(run, (int, struct sg_go_call *)) \
    F(start, (int, struct sg_go_call *, struct sg_go_note *, uintptr_t *)) \
    F(prepare, (int, struct sg_go_call *)) \
    F(start_prepared, (int, int, struct sg_go_note *, uintptr_t *)) \
    F(drop_prepared, (int, int)) \
    F(wait, (int, uint64_t)) \
    F(test, (int, uint64_t)) \
    F(close, (int)) \
    F(ran, (int)) \
    F(name, (int, char *, int)) \
    F(turn, (int, int, size_t, int, int, int *)) \
    F(took, (int, unsigned long long)) \
    F(left, (int, int, int *, int *, int)) \
    F(learned, (int)) \
    F(sent, (void)) \
    F(publish, (int, const void *, size_t)) \
    F(flush, (int)) \
    F(next, (int, void *, size_t, int *, size_t *, int)) \
    F(answer, (int, int, size_t, void *, void *, void *)) \
    F(ask, (int, const void *, size_t, void *)) \
    F(leave, (int, int)) \
    F(all_left, (void)) \
    F(exact, (void *, const void *, size_t, size_t, int))
#define DECLARE(name, arguments) static int (*go_##name) arguments;
GO_FUNCTIONS(DECLARE)
#undef DECLARE

enum { ADDRESS = 1024, MOST_GO = 16 };

static pthread_mutex_t go_lock = PTHREAD_MUTEX_INITIALIZER;
static struct communicator *joined; /* list of the communicators in the engine go */
static int joins;                   /* number of communicators that have joined or are joining */

static int is_go(const struct entry *e) { return (uintptr_t)e - (uintptr_t)go_entries < sizeof go_entries; }

/* A child process has none of Go's threads. MPI performs its operations. */
static int forked;
static void in_child(void)
{
    engine = OFF;
    forked = 1;
}

/* Calls Go with signals blocked. */
#define GO(result, call) \
    do { \
        sigset_t old_mask; \
        int holds = hold_back(&old_mask); \
        result = call; \
        let_through(holds, &old_mask); \
    } while (0)

/*
 * While a rank waits in Go, a thread of Go's runtime looks every 20 us whether it can help. That
 * costs LAMMPS a fifth of its speed where ranks share cores. With this slack, in nanoseconds, the
 * system wakes the thread once in a millisecond. The program's threads keep their own slack.
 */
enum { GO_SLACK = 1000000 };

/* Sets this thread's timer slack in nanoseconds, unless it is 0. Returns the slack before, or 0. */
static int timer_slack(int slack)
{
    int before = prctl(PR_GET_TIMERSLACK);
    if (slack > 0)
        prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
    return before > 0 ? before : 0;
}

/* The path of the library in Go: SCHEDGEN_MPI_GO, or else beside this library; or NULL. */
static const char *go_path(void)
{
    static char path[4096];
    const char *named = getenv("SCHEDGEN_MPI_GO"), *slash;
    Dl_info info;
    if (named)
        return *named ? named : NULL;
    if (!dladdr(&go_lock, &info) || !info.dli_fname || !(slash = strrchr(info.dli_fname, '/')) ||
        snprintf(path, sizeof path, "%.*s/libschedgen-go.so", (int)(slash - info.dli_fname), info.dli_fname) >= (int)sizeof path || access(path, R_OK))
        return NULL;
    return path;
}

/* Opens the library once. Returns the error, or NULL. */
static const char *open_go(void)
{
    static int tried;
    static const char *wrong;
    pthread_mutex_lock(&go_lock);
    if (!tried) {
        const char *path = go_path();
        void *library = NULL;
        sigset_t old;
        const int slack = timer_slack(GO_SLACK);
        prepare_signals();
        pthread_sigmask(SIG_BLOCK, &held_back, &old); /* threads that Go starts now inherit the mask and the slack */
        if (!path)
            wrong = "SCHEDGEN_MPI_GO names no library";
        else if (!(library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) && !(wrong = dlerror()))
            wrong = path;
        wrong = wrong ? strdup(wrong) : NULL;
#define FIND(name, arguments) \
    if (library && !(go_##name = (int(*) arguments)dlsym(library, "sg_go_" #name))) \
        wrong = "the library in Go has no sg_go_" #name;
        GO_FUNCTIONS(FIND)
#undef FIND
        if (!wrong && pthread_key_create(&stack_key, drop_stack))
            wrong = "no thread-specific data";
        if (!wrong)
            pthread_atfork(NULL, NULL, in_child);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        timer_slack(slack);
        tried = 1;
    }
    pthread_mutex_unlock(&go_lock);
    return wrong;
}

/* Reserves a place for one more communicator. */
static int reserve(void)
{
    int ok;
    pthread_mutex_lock(&go_lock);
    if ((ok = joins < MOST_GO))
        joins++;
    pthread_mutex_unlock(&go_lock);
    return ok;
}

static void give_up_place(void)
{
    pthread_mutex_lock(&go_lock);
    joins--;
    pthread_mutex_unlock(&go_lock);
}

/*
 * Lets MPI make progress while a rank waits in Go. No message has this source and this tag on this
 * communicator.
 */
static void progress(void *with)
{
    struct communicator *c = with;
    int found;
    P_Iprobe(c->rank, 0, c->inner, &found, mpi.status_ignore);
}

/*
 * This rank could not join a communicator, and has said so. It does not try again for others,
 * because the obstacle rarely goes away, and an attempt may take half a minute.
 */
static int gave_up;

/* What happens if a rank cannot join, for messages. */
static const char *without_go(void) { return engine == AUTO_ENGINE ? "MPI in place of engine go" : "engine c in place of engine go"; }

/*
 * Reports whether all ranks of a communicator of the program can join. The first rank that cannot
 * prints why, if it has a reason.
 */
static int all_can(const struct communicator *c, int can, const char *wrong, const char *without)
{
    int mine = can ? INT_MAX : c->rank, first = 0;
    if (P_Allreduce(&mine, &first, 1, mpi.type_int, mpi.op_min, c->program))
        return 0;
    if (first == c->rank && wrong)
        fprintf(stderr, "schedgen: rank %d: %s: %s\n", world_rank, without, wrong);
    return first == INT_MAX;
}

/*
 * A rank that could not join sends this to all others, which would wait for it. No other messages
 * are under way then.
 */
enum { FAILED_TAG = 1 };

/* Reports whether a rank could not join. The other ranks ask while they join. */
static int another_failed(void *with)
{
    struct communicator *c = with;
    int found = 0;
    return !P_Iprobe(mpi.any_source, FAILED_TAG, c->inner, &found, mpi.status_ignore) && found;
}

/*
 * Reports whether all ranks have joined. id is this rank's number in the engine, or the error of
 * go_join. A rank that could not join tells all others before it meets them here, because they may
 * still wait for it. requests has room for a request and a number for each rank.
 */
static int all_joined(struct communicator *c, int id, char *requests, const char *without)
{
    int tells = id == GO_FAILED, *told = (int *)(requests + (size_t)c->size * mpi.handle_size), first = -1, all, i;
    for (i = 0; tells && i < c->size; i++)
        if (i != c->rank)
            P_Isend(&tells, 1, mpi.type_int, i, FAILED_TAG, c->inner, requests + (size_t)i * mpi.handle_size);
    all = all_say(id >= 0, c->inner);
    if (all || P_Allgather(&tells, 1, mpi.type_int, told, 1, mpi.type_int, c->inner))
        return all;
    for (i = c->size - 1; i >= 0; i--)
        if (told[i])
            first = i;
    if (c->rank == 0)
        fprintf(stderr, "schedgen: %s: rank %d of %d could not join it\n", without, first, c->size);
    for (i = 0; i < c->size; i++)
        if (i != c->rank && told[i])
            P_Recv(&told[i], 1, mpi.type_int, i, FAILED_TAG, c->inner, mpi.status_ignore);
    for (i = 0; tells && i < c->size; i++)
        if (i != c->rank)
            P_Wait(requests + (size_t)i * mpi.handle_size, mpi.status_ignore);
    return 0;
}

/*
 * Makes the ranks of a communicator join that has one of the library. Returns its number in the
 * engine, or a negative number: another rank, or this one, could not join. open says that it is
 * one of schedgen_open. While a call waits in the engine, it calls meanwhile(with).
 */
static int join_all(struct communicator *c, int open, void (*meanwhile)(void *), void *with, char *requests, const char *without)
{
    const char *network = getenv("SCHEDGEN_MPI_INTERFACE");
    char where[ADDRESS] = "";
    int id = GO_STOPPED, level = 0, ok;
    if (!network)
        network = "";
    P_Query_thread(&level);
    if (c->rank == 0) {
        GO(ok, go_listen(c->together, network, where, sizeof where));
        if (ok)
            where[0] = 0;
    }
    if (!P_Bcast(where, sizeof where, mpi.type_byte, 0, c->inner) && *where)
        GO(id, go_join(c->rank, c->size, where, network, level == 3 || level > 2048, open, meanwhile, with, another_failed, c));
    if (all_joined(c, id, requests, without))
        return id;
    if (id >= 0) {
        GO(ok, go_close(id));
        id = GO_STOPPED;
    }
    return id;
}

/* Room for a request and a number for each rank. */
static char *room_for_requests(const struct communicator *c) { return malloc((size_t)c->size * (mpi.handle_size + sizeof(int))); }

/* Finds out what the engine leaves to MPI. All ranks of a communicator that has joined do so. */
static void know_turns(struct communicator *c);

/* Makes a communicator join. All its ranks do so in the same operation. */
static void join(struct communicator *c)
{
    struct part part = begin_part();
    char *requests = room_for_requests(c);
    int reserved = reserve();
    const char *wrong = open_go();
    c->go = GO_NEVER;
    inside++;
    if (all_can(c, reserved && requests && !wrong && !__atomic_load_n(&gave_up, __ATOMIC_RELAXED), wrong, without_go()) && (c->stage == MADE || make(c))) {
        int id = join_all(c, 0, progress, c, requests, without_go());
        if (id == GO_FAILED)
            __atomic_store_n(&gave_up, 1, __ATOMIC_RELAXED);
        if (id >= 0) {
            c->go = id;
            know_turns(c);
            pthread_mutex_lock(&go_lock);
            c->next = joined;
            joined = c;
            pthread_mutex_unlock(&go_lock);
        }
    }
    if (reserved && c->go < 0)
        give_up_place();
    free(requests);
    inside--;
    end_part(&part, JOINING, c->go >= 0);
}

/* Moves a communicator to the list of those that are to leave. */
static void become_leaver(struct communicator *c, struct communicator **leavers)
{
    struct communicator **p;
    pthread_mutex_lock(&go_lock);
    for (p = &joined; *p && *p != c; p = &(*p)->next)
        ;
    if (*p)
        *p = c->next;
    c->next = *leavers;
    *leavers = c;
    pthread_mutex_unlock(&go_lock);
}

/* Leaves the engine when all ranks have ended all operations. */
static void leave(struct communicator *c)
{
    int ok;
    if (reports && world_rank == 0)
        GO(ok, go_learned(c->go));
    GO(ok, go_close(c->go));
    (void)ok;
    give_up_place();
}

static void name_algorithm(int algorithm, char *name, int size)
{
    int ok;
    *name = 0;
    GO(ok, go_name(algorithm, name, size));
    (void)ok;
}

/* Records for the report what algorithm performs the operation that this thread is in. */
static void note_algorithm(int form, int go, int ranks)
{
    int algorithm;
    if (!reports)
        return;
    GO(algorithm, go_ran(go));
    current.by = performed_by(form, algorithm, ranks);
}
