/*
 * Communicators: what the library knows about each, and what all its ranks agree on.
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

/*
 * While engines are measured: the engine that performs operations on the measuring thread, whatever
 * the rules say. For calls of other threads the ranks would disagree.
 */
enum { NOT_MEASURED = -1 };
static __thread int measured = NOT_MEASURED;
static double tune_seconds; /* how long to measure before the first operation among all ranks; 0: do not measure */

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
