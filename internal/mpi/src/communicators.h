/*
 * Communicators: what the library knows about each, and what all its ranks agree on.
 *
 * Whether the library performs an operation depends only on facts that are the same at all ranks of
 * the communicator: its size, whether it is an inter-communicator, whether all ranks have tables,
 * and what the operation's arguments say at all ranks.
 */

/* How far the library is with a communicator of the program. */
enum stage {
    LEFT,  /* MPI performs all its operations */
    NEW,   /* its ranks have not agreed on anything, because it has had few operations */
    RULED, /* engine auto: the rules are known, and nothing is made until an engine performs an operation */
    MADE   /* the library has a communicator of the same ranks */
};

/* Why the library leaves operations to MPI. */
enum reason { ONE_RANK, INTER, FEW, TOO_MANY, NO_TABLES, NO_ENTRY, ORDER, TOO_LONG, ONLY_GO, NOT_JOINED, NO_KERNEL, PACKED, INVALID, LEARNED, OTHER, REASONS };
static const char *const reason_texts[REASONS] = {
    "of one rank", "between two groups", "on a communicator with few operations before", "on a communicator for which there is no place", "without tables",
    "left to MPI by rules", "folded in another order", "too long", "that only engine go begins", "on a communicator that is not in engine go",
    "with elements or an operation that engine go does not fold", "with blocks that would have to be packed or copied", "with arguments that are not valid",
    "as the fastest that was learned, or in its turn to be tried",
    "of a kind or with arguments that are always left to MPI",
};

struct communicator {
    handle program; /* the program's communicator */
    handle inner;   /* for the library's messages, if it is made */
    int rank, size;
    enum stage stage;
    enum reason why;       /* for operations shorter than from */
    struct tables *tables; /* NULL: the engine c performs nothing */
    struct rules *rules;   /* measured rules of engine auto, or NULL */
    int together;          /* all ranks are on one host; known once it is made, or has rules */
    unsigned turn;         /* number of blocking operations that ranks have called */
    int go;                /* number in the engine go, or a constant below */
    struct turns *turns;   /* if the engine go learns, or NULL; see turns.h */
    struct rules *left;    /* what the engine go leaves to MPI, or NULL: nothing */
    unsigned operations;   /* number of blocking operations begun */
    unsigned after;        /* it is new until there have been so many */
    int leaves;            /* the program has freed it, and this rank waits for the others; see attributes.h */
    char request[sizeof(handle)];
    struct communicator *next; /* in the list of joined or of leaving communicators */
    /*
     * MPI performs each operation that is shorter than this number of bytes. The rules are in other
     * cache lines, and an operation of two ranks in shared memory takes 2 us.
     */
    long long from[OPERATIONS];
};

/* Why a communicator is not in the engine go. */
enum { GO_LATER = -1, GO_NEVER = -2 };

static enum engine engine;

/*
 * To make a communicator takes as long as some operations, to join the engine go takes
 * milliseconds, and MPI has a limited number of communicators. So a communicator of the program
 * gets one of the library after this number of operations, which is the same at all ranks; and the
 * library has at most MOST_MADE at a time. MPI_COMM_WORLD does not wait if the user has selected an
 * engine.
 */
static unsigned after = 32;
enum { MOST_MADE = 64 };
static int made; /* their number */

/*
 * If the last SOON communicators that engine auto made were freed before they had had LONG times as
 * many operations, the next ones wait for so many, because it takes these to make up for the
 * making.
 */
enum { SOON = 4, LONG = 16 };
static int freed_soon;

/*
 * While engines are measured: the engine that performs operations on the measuring thread, whatever
 * the rules say. For calls of other threads the ranks would disagree.
 */
enum { NOT_MEASURED = -1 };
static __thread int measured = NOT_MEASURED;
static double tune_seconds; /* how long to measure before the first operation among all ranks; 0: do not measure */

/* Operations of the engine go, and exact sums, for the report. */
static struct entry go_entries[FORMS];
static struct tally exact_sums;

static int key; /* of the attribute */
static int finished;                /* MPI_Finalize has begun: MPI frees the rest */
static unsigned long deletions; /* number of deleted attributes, by which a thread knows that what it remembers is stale */

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int started;
static int resolved; /* MPI's functions are known; a profile needs them too */

/* The attributes of communicators whose operations MPI performs, by reason. */
static struct communicator passed[REASONS];
static int is_passed(const struct communicator *c) { return (uintptr_t)c - (uintptr_t)passed < sizeof passed; }

static struct tally passes[FORMS][REASONS]; /* operations left to MPI, for the report */
static int world_rank;

static void note_passed(int form, enum reason why)
{
    if (timed)
        taken_by(&passes[form][why], -1);
}

/* The name of a form of an operation. */
static const char *form_name(int form, char *text, size_t size)
{
    snprintf(text, size, "%s%s", form < NONBLOCKING ? "" : form < PERSISTENT ? "i" : "persistent ", operation_names[form % NONBLOCKING]);
    return text;
}

static void sum_tally(struct tally *t, const struct tally *theirs)
{
    t->calls += theirs->calls;
    t->bytes += theirs->bytes;
    t->nanoseconds += theirs->nanoseconds;
}

/* The name of an algorithm of the engine go. */
static void name_algorithm(int algorithm, char *name, int size);

/* Reports whether another algorithm has performed operations of a form and a class of lengths. */
static int is_mixed(int form, const struct performed *p, int class)
{
    const struct performed *other;
    for (other = performed[form]; other; other = other->next)
        if (other != p && other->ranks == p->ranks && other->of[class].calls)
            return 1;
    return 0;
}

/*
 * The report of one algorithm of the engine go. Classes of lengths share a line if no other algorithm
 * has performed those between them.
 */
static void report_algorithm(int form, const char *name, const struct performed *p)
{
    char algorithm[64], lengths[64] = "";
    int first, last, i;
    name_algorithm(p->algorithm, algorithm, sizeof algorithm);
    for (first = 0; first < LENGTHS; first = i) {
        struct tally all = p->of[first];
        last = first;
        i = first + 1;
        if (!all.calls)
            continue;
        for (; i < LENGTHS && !is_mixed(form, p, i); i++)
            if (p->of[i].calls) {
                sum_tally(&all, &p->of[i]);
                last = i;
            }
        if (last > 0)
            snprintf(lengths, sizeof lengths, ", of %llu to %llu bytes", first ? 1ull << (first - 1) : 0, (1ull << last) - 1);
        fprintf(stderr, "schedgen: %s: %llu by engine go, %s among %d ranks%s, %llu bytes in %.6f s\n", name, all.calls, algorithm, p->ranks, lengths,
                all.bytes, (double)all.nanoseconds * 1e-9);
    }
}

/* The report of this rank. Times are in seconds, of all operations of a line; see times.h. */
static void report(void)
{
    const struct tables *t;
    const struct performed *p;
    char name[32];
    int form, why, i;
    for (i = 0; i < SETUPS; i++)
        if (setups[i].nanoseconds)
            fprintf(stderr, "schedgen: set-up: %s: %llu in %.6f s\n", setup_texts[i], setups[i].calls, (double)setups[i].nanoseconds * 1e-9);
    if (exact_sums.calls)
        fprintf(stderr, "schedgen: exact sums: %llu, %llu bytes in %.6f s\n", exact_sums.calls, exact_sums.bytes, (double)exact_sums.nanoseconds * 1e-9);
    for (form = 0; form < FORMS; form++) {
        form_name(form, name, sizeof name);
        for (t = all_tables; t; t = t->next)
            for (i = 0; i < t->entries; i++) {
                const struct entry *e = &t->entry[i];
                if (e->operation == (enum operation)form && e->taken.calls)
                    fprintf(stderr, "schedgen: %s: %llu by %s among %d ranks, %llu bytes in %.6f s\n", name, e->taken.calls, e->name,
                            t->ranks, e->taken.bytes, (double)e->taken.nanoseconds * 1e-9);
            }
        for (p = performed[form]; p; p = p->next)
            report_algorithm(form, name, p);
        for (why = 0; why < REASONS; why++)
            if (passes[form][why].calls)
                fprintf(stderr, "schedgen: %s: %llu by MPI, %s, in %.6f s\n", name, passes[form][why].calls, reason_texts[why],
                        (double)passes[form][why].nanoseconds * 1e-9);
    }
}

/* Reports whether yes is true at all ranks. */
static int all_say(int yes, handle inner)
{
    int all = 0;
    return !P_Allreduce(&yes, &all, 1, mpi.type_int, mpi.op_min, inner) && all;
}

/*
 * Gives tables to all ranks, or to none: rank 0 reads the file and broadcasts it. Several threads
 * may do so at once, for communicators of the same size.
 */
static struct tables *agree_on_tables(handle inner, int rank, int size)
{
    struct tables *t = tables_of(size), *kept;
    int *words = NULL, n = 0;
    long found = 0;
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
    static int known_number; /* reading it takes as long as several operations */
    char text[256] = "";
    unsigned h = 2166136261u; /* FNV-1a */
    size_t n = 0, i;
    ssize_t more;
    FILE *f;
    if (__atomic_load_n(&known_number, __ATOMIC_RELAXED))
        return __atomic_load_n(&known_number, __ATOMIC_RELAXED);
    if ((f = fopen("/proc/sys/kernel/random/boot_id", "re"))) {
        n = fread(text, 1, 64, f);
        fclose(f);
    }
    if (n == 0) /* then ranks are on hosts of their own */
        n = (size_t)snprintf(text, 64, "%ld", (long)getpid());
    if ((more = readlink("/proc/self/ns/net", text + n, sizeof text - n)) > 0)
        n += (size_t)more;
    for (i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    __atomic_store_n(&known_number, (int)(h & INT_MAX), __ATOMIC_RELAXED);
    return (int)(h & INT_MAX);
}

/* The path of the rules for a number of ranks. */
static void rules_path(char *path, size_t size, int ranks, int together)
{
    const char *network = getenv("SCHEDGEN_MPI_INTERFACE");
    const char *where = together ? "one-host" : network && *network ? "hosts-multicast" : "hosts";
    snprintf(path, size, "%s/%d-%s-%s.rules", tables_dir(), ranks, mpi.word, where);
}

static void set_rules(struct communicator *c, struct rules *r)
{
    int op;
    free(c->rules);
    c->rules = r;
    c->why = NO_ENTRY;
    for (op = 0; op < OPERATIONS; op++)
        c->from[op] = engine == AUTO_ENGINE ? least_for(r, (enum operation)op, c->size) : 0;
}

/* Leaves all operations on a communicator to MPI. */
static void leave_to_mpi(struct communicator *c, enum stage stage, enum reason why)
{
    int op;
    c->stage = stage;
    c->why = why;
    for (op = 0; op < OPERATIONS; op++)
        c->from[op] = LLONG_MAX;
}

/*
 * The following functions run in the same operation at all ranks of a communicator, before MPI or
 * the library performs that operation. So they may use collective operations on the program's
 * communicator.
 */

/*
 * Looks for the rules of engine auto. If rank 0 finds no file for this number of ranks, or wants to
 * look again later, that costs one broadcast.
 */
static void look(struct communicator *c)
{
    enum { AGAIN = 2 };
    struct rules *r = NULL;
    struct part part = begin_part();
    int mine[3] = {1, 0, 0}, all[3] = {0}, found = 0, together;
    char path[4096];
    inside++;
    for (together = 0; c->rank == 0 && together < 2; together++) {
        rules_path(path, sizeof path, c->size, together);
        found |= !access(path, R_OK);
    }
    if (found && c->after == after && __atomic_load_n(&freed_soon, __ATOMIC_RELAXED) >= SOON)
        found = AGAIN;
    if (P_Bcast(&found, 1, mpi.type_int, 0, c->program))
        found = 0;
    if (found == AGAIN) {
        c->after = LONG * after;
        inside--;
        end_part(&part, LOOKING, 1);
        return;
    }
    if (found) {
        r = malloc(sizeof *r);
        mine[0] = r != NULL;
        mine[1] = host_number();
        mine[2] = ~mine[1];
        if (P_Allreduce(mine, all, 3, mpi.type_int, mpi.op_min, c->program))
            all[0] = 0;
        c->together = all[1] == ~all[2];
        if (all[0] && c->rank == 0) {
            rules_path(path, sizeof path, c->size, c->together);
            read_rules(path, r);
        }
        if (!all[0] || P_Bcast(r, sizeof *r, mpi.type_byte, 0, c->program) || !r->found) {
            free(r);
            r = NULL;
        }
    }
    c->stage = RULED;
    set_rules(c, r);
    inside--;
    end_part(&part, LOOKING, 1);
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

/*
 * Makes the library's communicator, and gives tables to all ranks, or to none. Reports whether the
 * communicator is there.
 */
static int make(struct communicator *c)
{
    struct part part = begin_part();
    struct tables *t = tables_of(c->size);
    int place = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED) <= MOST_MADE;
    int mine[4] = {place, t != NULL, host_number()}, all[4] = {0};
    mine[3] = ~mine[2];
    inside++;
    if (P_Allreduce(mine, all, 4, mpi.type_int, mpi.op_min, c->program) || !all[0] || split(c->program, c->rank, &c->inner)) {
        leave_to_mpi(c, LEFT, TOO_MANY);
    } else {
        c->tables = all[1] ? t : agree_on_tables(c->inner, c->rank, c->size);
        c->together = all[2] == ~all[3];
        if (c->tables || engine == GO_ENGINE) {
            if (c->stage == NEW)
                set_rules(c, NULL);
            c->stage = MADE;
        } else {
            P_Comm_free(&c->inner);
            leave_to_mpi(c, LEFT, NO_TABLES);
        }
    }
    if (c->stage != MADE)
        __atomic_fetch_sub(&made, 1, __ATOMIC_RELAXED);
    inside--;
    end_part(&part, MAKING, c->stage == MADE);
    return c->stage == MADE;
}
