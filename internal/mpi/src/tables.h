/*
 * Tables of schedules. schedgen writes a file for each number of ranks; see package internal/mpi.
 * The file consists of words of 4 bytes:
 *
 *     magic, version, ranks, entries, words in all
 *     entry 0 ...     ENTRY words each: operation, least bytes, flags, first plan, name (NAME words);
 *                     by operation, then by the least bytes
 *     plan ...        PLAN words of counts, then the tables of struct sg_plan
 *
 * The plan of rank r of an entry begins at word w[first plan + r]. All entries have root 0.
 */
enum { MAGIC = 0x73636867, VERSION = 1, HEAD = 5, NAME = 8, ENTRY = 4 + NAME, PLAN = 13 };

/* Flags of an entry: contributions are folded in the order of ranks; MPI performs the operation, and there is no plan. */
enum { ORDERED = 1, LEFT_BY_RULES = 2 };

enum operation {
    BARRIER, BCAST, REDUCE, ALLREDUCE, REDUCE_SCATTER, SCAN, EXSCAN, ALLGATHER, GATHER, SCATTER, ALLTOALL,
    ALLGATHERV, GATHERV, SCATTERV, ALLTOALLV, OPERATIONS
};

/*
 * Forms of operations, for the report and the profile: the blocking ones, which have the numbers of
 * the operations, then the nonblocking and the persistent ones. The library performs an alltoallw
 * as an alltoallv, and never those among neighbors.
 */
enum {
    ALLTOALLW = OPERATIONS, NEIGHBOR_ALLGATHER, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW, NONBLOCKING,
    PERSISTENT = 2 * NONBLOCKING, FORMS = 3 * NONBLOCKING
};

static const char *const operation_names[NONBLOCKING] = {
    "barrier", "bcast", "reduce", "allreduce", "reduce-scatter", "scan", "exscan", "allgather", "gather", "scatter", "alltoall",
    "allgatherv", "gatherv", "scatterv", "alltoallv", "alltoallw",
    "neighbor-allgather", "neighbor-allgatherv", "neighbor-alltoall", "neighbor-alltoallv", "neighbor-alltoallw",
};

/* How often something was done, with how many bytes, and how long it took. */
struct tally {
    unsigned long long calls, bytes, nanoseconds;
};

/* A schedule for a number of ranks. */
struct entry {
    enum operation operation;
    int least; /* least length in bytes */
    int flags;
    char name[4 * NAME + 1];
    const int *first; /* by rank: the word at which its plan begins */
    struct tally taken; /* by operations of this rank, for the report */
};

/* The tables for one number of ranks. Several communicators share them; they are never freed. */
struct tables {
    int ranks, entries;
    int *words;
    struct entry *entry;               /* by operation, then by the least bytes */
    struct entry *of[OPERATIONS + 1]; /* the first entry of each operation */
    struct tables *next;
};

/* Where the files are, and the command that writes them. Environment variables override both. */
#ifndef SCHEDGEN_TABLES
#define SCHEDGEN_TABLES ""
#endif
#ifndef SCHEDGEN_COMMAND
#define SCHEDGEN_COMMAND ""
#endif

static const char *tables_dir(void)
{
    const char *dir = getenv("SCHEDGEN_MPI_TABLES");
    return dir ? dir : SCHEDGEN_TABLES;
}

static struct tables *all_tables;
static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;

static struct tables *tables_of(int ranks)
{
    struct tables *t;
    pthread_mutex_lock(&tables_lock);
    for (t = all_tables; t && t->ranks != ranks; t = t->next)
        ;
    pthread_mutex_unlock(&tables_lock);
    return t;
}

/*
 * Keeps words as tables. Returns NULL, and frees the words, if they are not tables for this number
 * of ranks.
 */
static struct tables *keep_tables(int *w, long size, int ranks)
{
    struct tables *t = NULL;
    int i, op;
    if (size < HEAD || w[0] != MAGIC || w[1] != VERSION || w[2] != ranks || w[4] != size || w[3] < 0 || HEAD + (long)w[3] * ENTRY > size ||
        !(t = calloc(1, sizeof *t)) || !(t->entry = calloc((size_t)w[3] + 1, sizeof *t->entry))) {
        free(t);
        free(w);
        return NULL;
    }
    t->ranks = ranks;
    t->words = w;
    for (i = 0; i < w[3]; i++) {
        const int *e = w + HEAD + i * ENTRY;
        t->entry[i].operation = (enum operation)e[0];
        t->entry[i].least = e[1];
        t->entry[i].flags = e[2];
        t->entry[i].first = w + e[3];
        memcpy(t->entry[i].name, e + 4, 4 * NAME);
    }
    t->entries = w[3];
    for (op = 0, i = 0; op <= OPERATIONS; op++) {
        while (i < t->entries && (int)t->entry[i].operation < op)
            i++;
        t->of[op] = t->entry + i;
    }
    pthread_mutex_lock(&tables_lock);
    t->next = all_tables;
    all_tables = t;
    pthread_mutex_unlock(&tables_lock);
    return t;
}

/* The plan of a rank. */
static struct sg_plan plan_of(const struct tables *t, const struct entry *e, int rank)
{
    const int *w = t->words + e->first[rank];
    struct sg_plan p;
    p.receives = w[0];
    p.sends = w[1];
    p.folds = w[2];
    p.rules = w[3];
    p.scratches = w[4];
    p.per = w[5];
    p.held = w[6];
    p.wanted = w[7];
    p.own_held = w[8];
    p.own_wanted = w[9];
    p.receive = (const struct sg_message *)(w + PLAN);
    p.send = p.receive + p.receives;
    p.fold = (const struct sg_fold *)(p.send + p.sends);
    p.rule = (const struct sg_rule *)(p.fold + p.folds);
    p.action = (const int *)(p.rule + p.rules);
    p.place = p.action + w[10];
    p.waiter = p.place + w[11];
    p.scratch = p.waiter + w[12];
    return p;
}

/* Reads a file of words. */
static int *read_words(const char *path, long *size)
{
    FILE *f = fopen(path, "rbe");
    int *words = NULL;
    long bytes;
    if (!f)
        return NULL;
    if (!fseek(f, 0, SEEK_END) && (bytes = ftell(f)) > 0 && !fseek(f, 0, SEEK_SET) && (words = malloc((size_t)bytes))) {
        *size = bytes / (long)sizeof *words;
        if (fread(words, 1, (size_t)bytes, f) != (size_t)bytes) {
            free(words);
            words = NULL;
        }
    }
    fclose(f);
    return words;
}

/*
 * Makes schedgen write the file for a number of ranks. The child process must not load this
 * library.
 */
static void write_tables(const char *command, const char *path, int ranks)
{
    char number[16];
    char *args[] = {(char *)command, "mpi-tables", "--ranks", number, "--output", (char *)path, NULL};
    char **env;
    size_t n = 0, i, kept = 0;
    pid_t child;
    snprintf(number, sizeof number, "%d", ranks);
    while (environ[n])
        n++;
    if (!(env = malloc((n + 1) * sizeof *env)))
        return;
    for (i = 0; i < n; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11))
            env[kept++] = environ[i];
    env[kept] = NULL;
    if (!posix_spawn(&child, command, NULL, NULL, args, env))
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    free(env);
}

/* The words of the tables for a number of ranks, from the file in the user's cache, or NULL. */
static int *find_words(int ranks, long *size)
{
    const char *dir = tables_dir(), *command = getenv("SCHEDGEN_MPI_COMMAND");
    char path[4096];
    int *words;
    if (!command)
        command = SCHEDGEN_COMMAND;
    if (!*dir || snprintf(path, sizeof path, "%s/%d.tables", dir, ranks) >= (int)sizeof path)
        return NULL;
    if ((words = read_words(path, size)) || !*command)
        return words;
    write_tables(command, path, ranks);
    return read_words(path, size);
}
