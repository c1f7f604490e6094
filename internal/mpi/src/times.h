/*
 * The time of operations, for the report and the profile. Both use the same measurement: from the
 * program's call to its return, without what the library sets up meanwhile. So a nonblocking
 * operation counts until the call that begins it returns.
 */
static int reports;              /* rank 0 reports what performed the operations */
static const char *profile_file; /* NULL: there is no profile; without a slash: a table */
static int timed;                /* operations are timed */
static unsigned long long process_start;

/* What the library sets up. */
enum setup { MAKING, LOOKING, JOINING, PREPARING, MEASURING, LEARNING, SETUPS };
static const char *const setup_texts[SETUPS] = {
    "communicators made", "communicators whose ranks looked for rules", "communicators that joined engine go",
    "persistent operations prepared by engine go", "measurements of engines", "questions of engine go whose turn it is",
};
static struct tally setups[SETUPS];

/* Classes of lengths: class 0 has length 0, and class i lengths from 2^(i-1) to 2^i - 1 bytes. */
enum { LENGTHS = 34 }; /* lengths of at least 2^32 bytes are one class */

static int length_class(long long bytes)
{
    int i = 0;
    while (i < LENGTHS - 1 && bytes >> i > 0)
        i++;
    return i;
}

/* The operations of one form that the engine go has performed by one algorithm. */
struct performed {
    int algorithm; /* its number in the engine */
    int ranks;
    struct tally of[LENGTHS];
    struct performed *next;
};
static struct performed *performed[FORMS]; /* if reports is set */
static pthread_mutex_t performed_lock = PTHREAD_MUTEX_INITIALIZER;

/* The place for operations of a form. If there is no memory, it is NULL. */
static struct performed *performed_by(int form, int algorithm, int ranks)
{
    struct performed *p;
    pthread_mutex_lock(&performed_lock);
    for (p = performed[form]; p && (p->algorithm != algorithm || p->ranks != ranks); p = p->next)
        ;
    if (!p && (p = calloc(1, sizeof *p))) {
        p->algorithm = algorithm;
        p->ranks = ranks;
        p->next = performed[form];
        performed[form] = p;
    }
    pthread_mutex_unlock(&performed_lock);
    return p;
}

/*
 * The library is in a call of MPI. Functions of the library that are called meanwhile, as by a
 * profiler, leave their operations to MPI.
 */
static __thread int inside;

/* The operation that this thread is in. */
static __thread struct {
    int depth;           /* an operation of MPI may call others */
    struct tally *taker; /* what performs the operation, or NULL: MPI, for no known reason */
    struct performed *by; /* in place of taker: it counts by lengths */
    long long bytes;     /* for its tally, or -1: the length that the profile has */
    unsigned long long setup; /* nanoseconds of set-up */
} current;

static unsigned long long nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

__attribute__((constructor)) static void times_begin(void)
{
    const char *wanted = getenv("SCHEDGEN_MPI_REPORT");
    profile_file = getenv("SCHEDGEN_MPI_PROFILE");
    if (profile_file && !*profile_file)
        profile_file = NULL;
    reports = wanted && *wanted;
    timed = reports || profile_file;
    process_start = nanoseconds();
}

static void add_to(struct tally *t, unsigned long long calls, long long bytes, unsigned long long time)
{
    __atomic_fetch_add(&t->calls, calls, __ATOMIC_RELAXED);
    __atomic_fetch_add(&t->bytes, (unsigned long long)(bytes > 0 ? bytes : 0), __ATOMIC_RELAXED);
    __atomic_fetch_add(&t->nanoseconds, time, __ATOMIC_RELAXED);
}

/* Records what performs the operation that this thread is in. */
static void taken_by(struct tally *t, long long bytes)
{
    current.taker = t;
    current.by = NULL;
    current.bytes = bytes;
}

/* A part of the set-up, which may contain others. */
struct part {
    unsigned long long begin, before;
};

static struct part begin_part(void)
{
    struct part p = {nanoseconds(), current.setup};
    return p;
}

static void end_part(const struct part *p, enum setup kind, int count)
{
    unsigned long long took = nanoseconds() - p->begin, others = current.setup - p->before;
    add_to(&setups[kind], (unsigned long long)count, 0, took - others);
    current.setup = p->before + took;
}
