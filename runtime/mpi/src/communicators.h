/*
 * Communicators. The library identifies a communicator by an attribute, which the first collective
 * operation on the communicator sets. So split, dup, create and free need no special treatment: the
 * attribute is not copied, and its deletion frees its data.
 *
 * Whether the library performs an operation depends only on facts that are the same at all ranks of
 * the communicator: its size, whether it is an inter-communicator, whether all ranks have tables,
 * and what the operation's arguments say at all ranks.
 */
struct communicator {
    handle inner; /* for the library's messages */
    int rank, size;
    struct tables *tables; /* NULL: the engine c performs nothing */
    struct rules *rules;   /* of engine auto, or NULL: the tables decide */
    int together;          /* all ranks are on one host */
    int go;                /* number in the engine go, or a constant below */
    unsigned operations;   /* number of operations begun before it joins the engine go */
    struct communicator *next; /* in the list of joined communicators */
    /*
     * By the rules MPI performs each operation that is shorter than this number of bytes. The
     * rules are in other cache lines, and an operation of two ranks in shared memory takes 2 us.
     */
    long long from[OPERATIONS];
};

/* Why a communicator is not in the engine go. */
enum { GO_LATER = -1, GO_NEVER = -2 };

static enum engine engine;
static int reports;

/*
 * Joining takes milliseconds, so a communicator of the program joins after this number of
 * operations, which is the same at all ranks.
 */
static unsigned go_after = 32;
static void join(struct communicator *c);
static void leave_one(struct communicator *c);
static void leave_all(void);
static void wait_for_ends(int go);

/*
 * While engines are measured: the engine that performs operations on the measuring thread, whatever
 * the rules say. For calls of other threads the ranks would disagree.
 */
enum { NOT_MEASURED = -1 };
static __thread int measured = NOT_MEASURED;
static double tune_seconds; /* how long to measure before the first operation among all ranks; 0: do not measure */
static void tune(struct communicator *c, double seconds);

/* Operations of the engine go, for the report: blocking and nonblocking ones. */
enum { NONBLOCKING = OPERATIONS, FORMS = 2 * OPERATIONS };
static struct entry go_entries[FORMS];

static unsigned long long nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

/* How many communicators have joined the engine go, and how long that took, for the report. */
static unsigned joins_done;
static unsigned long long joins_nanoseconds;

static int key; /* of the attribute */
static int finished;                /* MPI_Finalize has begun: MPI frees the rest */
static unsigned long deletions; /* number of deleted attributes, by which a thread knows that what it remembers is stale */

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int started;
static int resolved; /* MPI's functions are known; a profile needs them too */

/*
 * The library is in a call of MPI. Functions of the library that are called meanwhile, as by a
 * profiler, leave their operations to MPI.
 */
static __thread int inside;

/* Why the library leaves operations to MPI. */
enum reason { ONE_RANK, INTER, NO_TABLES, NO_ENTRY, ORDER, TOO_LONG, ONLY_GO, NOT_JOINED, NO_KERNEL, REASONS };
static const char *const reason_texts[REASONS] = {
    "of one rank", "between two groups", "without tables", "left to MPI by rules", "folded in another order", "too long",
    "that only engine go begins", "on a communicator that is not in engine go", "with elements or an operation that engine go does not fold",
};

/* The attributes of communicators whose operations MPI performs, by reason. */
static struct communicator passed[REASONS];
static int is_passed(const struct communicator *c) { return (uintptr_t)c - (uintptr_t)passed < sizeof passed; }

/* Numbers for the report, besides the counts of entries. */
static unsigned long passes[FORMS][REASONS];
static int world_rank;

static void note_passed(int op, enum reason why)
{
    if (reports)
        __atomic_fetch_add(&passes[op][why], 1, __ATOMIC_RELAXED);
}

/* The name of an operation and its form. */
static const char *form_name(int op, char *text, size_t size)
{
    snprintf(text, size, "%s%s", op < NONBLOCKING ? "" : "i", operation_names[op % NONBLOCKING]);
    return text;
}

static void report(void)
{
    const struct tables *t;
    char name[32];
    int op, why, i;
    if (joins_done)
        fprintf(stderr, "schedgen: engine go: communicators that joined: %u, in %.6f s\n", joins_done, (double)joins_nanoseconds * 1e-9);
    for (op = 0; op < FORMS; op++) {
        form_name(op, name, sizeof name);
        for (t = all_tables; t; t = t->next)
            for (i = 0; i < t->entries; i++) {
                const struct entry *e = &t->entry[i];
                if (e->operation == (enum operation)op && e->taken)
                    fprintf(stderr, "schedgen: %s: %lu by %s among %d ranks, %llu bytes in %.6f s\n", name, e->taken, e->name,
                            t->ranks, e->bytes, (double)e->nanoseconds * 1e-9);
            }
        if (go_entries[op].taken)
            fprintf(stderr, "schedgen: %s: %lu by engine go, %llu bytes in %.6f s\n", name, go_entries[op].taken,
                    go_entries[op].bytes, (double)go_entries[op].nanoseconds * 1e-9);
        for (why = 0; why < REASONS; why++)
            if (passes[op][why])
                fprintf(stderr, "schedgen: %s: %lu by MPI, %s\n", name, passes[op][why], reason_texts[why]);
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
    int err = 0;
    (void)comm, (void)k, (void)extra;
    __atomic_fetch_add(&deletions, 1, __ATOMIC_RELEASE);
    if (is_passed(c) || finished)
        return 0;
    inside++;
    if (c->go >= 0) {
        wait_for_ends(c->go);
        leave_one(c);
    }
    err = P_Comm_free(&c->inner);
    inside--;
    free(c->rules);
    free(c);
    return err;
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first, while MPI still works. */
static int finalize(handle comm, int k, void *value, void *extra)
{
    (void)comm, (void)k, (void)value, (void)extra;
    inside++;
    wait_for_ends(-1);
    leave_all();
    inside--;
    finished = 1;
    if (reports && world_rank == 0)
        report();
    return 0;
}

/* Runs at the first collective operation, when MPI is initialized, whoever initialized it. */
static void start(void)
{
    pthread_mutex_lock(&start_lock);
    if (!started) {
        const char *mode = getenv("SCHEDGEN_MPI"), *missing;
        engine = !mode || !strcmp(mode, "auto") ? AUTO_ENGINE : !strcmp(mode, "c") ? C_ENGINE : !strcmp(mode, "go") ? GO_ENGINE : OFF;
        reports = getenv("SCHEDGEN_MPI_REPORT") != NULL;
        if (engine == AUTO_ENGINE && getenv("SCHEDGEN_MPI_TUNE"))
            tune_seconds = atof(getenv("SCHEDGEN_MPI_TUNE"));
        if (getenv("SCHEDGEN_MPI_JOIN"))
            go_after = (unsigned)atoi(getenv("SCHEDGEN_MPI_JOIN"));
        if (engine != OFF || getenv("SCHEDGEN_MPI_PROFILE")) {
            if ((missing = resolve())) {
                fprintf(stderr, "schedgen: MPI serves all operations itself: there is no %s\n", missing);
                engine = OFF;
            }
            resolved = !missing;
        }
        if (engine != OFF) {
            int self;
            if (P_Comm_create_keyval((void *)copy_attribute, (void *)delete_attribute, &key, NULL) ||
                       P_Comm_create_keyval((void *)copy_attribute, (void *)finalize, &self, NULL) || P_Comm_set_attr(mpi.comm_self, self, passed)) {
                engine = OFF;
            }
        }
        if (engine != OFF) {
            P_Comm_rank(mpi.comm_world, &world_rank);
            know_types();
        }
        __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&start_lock);
}

/* Reports whether yes is true at all ranks. */
static int all_say(int yes, handle inner)
{
    int all = 0;
    return !P_Allreduce(&yes, &all, 1, mpi.type_int, mpi.op_min, inner) && all;
}

/*
 * Gives tables to all ranks, or to none: rank 0 reads the file and broadcasts it, unless all ranks
 * have the tables. Several threads may do so at once, for communicators of the same size.
 */
static struct tables *agree_on_tables(handle inner, int rank, int size)
{
    struct tables *t = tables_of(size), *kept;
    int *words = NULL, n = 0;
    long found = 0;
    if (all_say(t != NULL, inner))
        return t;
    if (rank == 0 && (words = find_words(size, &found)) && found <= INT_MAX / (int)sizeof *words)
        n = (int)found;
    if (P_Bcast(&n, 1, mpi.type_int, 0, inner))
        n = 0;
    if (n > 0 && rank != 0)
        words = malloc((size_t)n * sizeof *words);
    if (!all_say(n > 0 && words, inner) || P_Bcast(words, n, mpi.type_int, 0, inner)) {
        free(words);
        return NULL;
    }
    kept = t ? t : keep_tables(words, n, size);
    if (t)
        free(words);
    return all_say(kept != NULL, inner) ? kept : NULL;
}

/*
 * A number that processes on one host share, and that rarely is the same on two hosts: a hash of
 * the system's start and network.
 */
static int host_number(void)
{
    char text[256] = "";
    unsigned h = 2166136261u; /* FNV-1a */
    size_t n = 0, i;
    ssize_t more;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f) {
        n = fread(text, 1, 64, f);
        fclose(f);
    }
    if (n == 0) /* then ranks are on hosts of their own */
        n = (size_t)snprintf(text, 64, "%ld", (long)getpid());
    if ((more = readlink("/proc/self/ns/net", text + n, sizeof text - n)) > 0)
        n += (size_t)more;
    for (i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return (int)(h & INT_MAX);
}

/* Reports whether all ranks are on one host: whether the least number equals the greatest. */
static int on_one_host(handle inner)
{
    int host[2] = {host_number()}, least[2];
    host[1] = ~host[0];
    return !P_Allreduce(host, least, 2, mpi.type_int, mpi.op_min, inner) && least[0] == ~least[1];
}

/* The path of the rules for a number of ranks. */
static void rules_path(char *path, size_t size, int ranks, int together)
{
    const char *network = getenv("SCHEDGEN_MPI_INTERFACE");
    const char *where = together ? "one-host" : network && *network ? "hosts-multicast" : "hosts";
    snprintf(path, size, "%s/%d-%s-%s.rules", tables_dir(), ranks, mpi.word, where);
}

/* Broadcasts the rules of rank 0. Returns NULL if rank 0 has none. */
static struct rules *agree_on_rules(handle inner, int rank, int size, int together)
{
    struct rules *r = malloc(sizeof *r);
    char path[4096];
    int found = 0;
    if (!all_say(r != NULL, inner)) {
        free(r);
        return NULL;
    }
    if (rank == 0) {
        rules_path(path, sizeof path, size, together);
        found = !read_rules(path, r);
    }
    if (P_Bcast(&found, 1, mpi.type_int, 0, inner) || !found || P_Bcast(r, sizeof *r, mpi.type_byte, 0, inner)) {
        free(r);
        return NULL;
    }
    return r;
}

static void set_rules(struct communicator *c, struct rules *r)
{
    int op;
    free(c->rules);
    c->rules = r;
    for (op = 0; op < OPERATIONS; op++)
        c->from[op] = !r ? 0 : r->count[op] ? r->of[op][0].least : LLONG_MAX;
}

/*
 * Creates a communicator of the same ranks. MPI_Comm_dup would call functions of the program's
 * attributes. If MPI cannot create another communicator, that is no error of the program: all ranks
 * get that answer, and MPI performs their operations.
 */
static int split(handle comm, int rank, handle *inner)
{
    handle handler = 0;
    int err;
    if ((err = P_Comm_get_errhandler(comm, &handler)))
        return err;
    handler = read_handle(&handler);
    P_Comm_set_errhandler(comm, mpi.errors_return);
    err = P_Comm_split(comm, 0, rank, inner);
    P_Comm_set_errhandler(comm, handler);
    P_Errhandler_free(&handler);
    if (!err) {
        *inner = read_handle(inner);
        P_Comm_set_errhandler(*inner, mpi.errors_return);
    }
    return err;
}

/* Creates the attribute of a communicator. All its ranks do so in the same operation. */
static struct communicator *make(handle comm)
{
    struct communicator *c = &passed[NO_TABLES], *new;
    int inter, size, rank;
    handle inner = 0;
    if (P_Comm_test_inter(comm, &inter) || P_Comm_size(comm, &size) || P_Comm_rank(comm, &rank)) {
        return c;
    } else if (inter) {
        c = &passed[INTER];
    } else if (size == 1) {
        c = &passed[ONE_RANK];
    } else if (!split(comm, rank, &inner)) {
        new = calloc(1, sizeof *new);
        if (all_say(new != NULL, inner) && ((new->tables = agree_on_tables(inner, rank, size)) || engine == GO_ENGINE)) {
            new->go = GO_LATER;
            new->inner = inner;
            new->rank = rank;
            new->size = size;
            new->together = on_one_host(inner);
            if (engine == AUTO_ENGINE)
                set_rules(new, agree_on_rules(inner, rank, size, new->together));
            c = new;
        } else {
            P_Comm_free(&inner);
            free(new);
        }
    }
    if (P_Comm_set_attr(comm, key, c))
        c = &passed[NO_TABLES];
    return c;
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
    now = __atomic_load_n(&deletions, __ATOMIC_ACQUIRE);
    if (comm == last && now == last_deletions && last_found) {
        c = last_found;
    } else {
        inside++;
        if (P_Comm_get_attr(comm, key, &c, &found))
            c = &passed[NO_TABLES];
        else if (!found)
            c = make(comm);
        inside--;
        last = comm;
        last_found = c;
        last_deletions = now;
    }
    if (tune_seconds > 0 && comm == mpi.comm_world && !is_passed(c)) {
        double seconds = tune_seconds;
        tune_seconds = 0;
        tune(c, seconds);
    }
    if (c->go == GO_LATER && !is_passed(c) && (engine == GO_ENGINE || (c->rules && c->rules->go)) &&
        (comm == mpi.comm_world || c->operations++ >= go_after)) {
        inside++;
        join(c);
        inside--;
    }
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
    return c;
}

/*
 * The communicator of a nonblocking operation. It must have joined the engine go, because the
 * engine c makes progress only in its own calls. No attribute is created here, because a rank that
 * begins such an operation does not wait for others.
 */
static struct communicator *enter_nonblocking(enum operation op, handle comm)
{
    struct communicator *c = NULL;
    enum reason why = ONLY_GO;
    int found = 0;
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE) && !inside)
        start();
    if (inside || finished || engine == OFF || comm == mpi.comm_null)
        return NULL;
    if (engine == GO_ENGINE) {
        inside++;
        if (P_Comm_get_attr(comm, key, &c, &found) || !found)
            c = NULL;
        inside--;
        if (c && !is_passed(c) && c->go >= 0)
            return c;
        why = c && is_passed(c) ? (enum reason)(c - passed) : NOT_JOINED;
    }
    note_passed(NONBLOCKING + op, why);
    return NULL;
}
