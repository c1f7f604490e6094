/*
 * Rules of engine auto: which engine performs an operation of a given length. They are measured
 * (tune.h) for one MPI, one number of ranks, and ranks on one or several hosts, and are in a file
 * beside the tables:
 *
 *     schedgen rules 1
 *     allreduce 0 go
 *     allreduce 32768 mpi
 *
 * A line applies from its number of bytes on, up to the next line of that operation. If no line
 * applies, MPI performs the operation. The number is the length of a block, or of a contribution
 * for operations that fold.
 *
 * Where there is no file, engine auto uses the engine c for the choices of package mpi that were
 * never slower than MPI, up to a number of ranks. The compiler gets these choices as a macro.
 */
#ifndef SCHEDGEN_CHOICES
#define SCHEDGEN_CHOICES
#endif
static const struct {
    int operation, least, ranks;
} usual[] = {SCHEDGEN_CHOICES{OPERATIONS, 0, 0}};

/* The engines. */
enum engine { OFF, C_ENGINE, GO_ENGINE, AUTO_ENGINE };

static const char *const rule_words[] = {"mpi", "c", "go"};

enum { MOST_RULES = 64 };

struct rules {
    int found; /* there is a file */
    int count[OPERATIONS];
    struct {
        int least;
        enum engine engine;
    } of[OPERATIONS][MOST_RULES];
};

/* The engine for an operation. r is NULL if nothing was measured. */
static enum engine rule_for(const struct rules *r, enum operation op, long long bytes, int ranks)
{
    enum engine found = OFF;
    int i;
    if (!r) {
        for (i = 0; usual[i].operation != OPERATIONS; i++)
            if (usual[i].operation == (int)op && usual[i].least <= bytes)
                found = ranks <= usual[i].ranks ? C_ENGINE : OFF;
        return found;
    }
    for (i = 0; i < r->count[op] && r->of[op][i].least <= bytes; i++)
        found = r->of[op][i].engine;
    return found;
}

/* MPI performs each operation that is shorter than this number of bytes. */
static long long least_for(const struct rules *r, enum operation op, int ranks)
{
    int i;
    if (r)
        return r->count[op] ? r->of[op][0].least : LLONG_MAX;
    for (i = 0; usual[i].operation != OPERATIONS; i++)
        if (usual[i].operation == (int)op && ranks <= usual[i].ranks)
            return usual[i].least;
    return LLONG_MAX;
}

static void add_rule(struct rules *r, enum operation op, int least, enum engine by)
{
    int n = r->count[op];
    if (by == (n > 0 ? r->of[op][n - 1].engine : OFF) || n == MOST_RULES)
        return;
    r->of[op][n].least = least;
    r->of[op][n].engine = by;
    r->count[op]++;
}

/* Reads rules, if the file exists and is a file of rules. Lines with unknown content are ignored. */
static void read_rules(const char *path, struct rules *r)
{
    FILE *f = fopen(path, "re");
    char line[128], name[32], word[8];
    int version, least, op, by;
    memset(r, 0, sizeof *r);
    if (!f)
        return;
    r->found = fgets(line, sizeof line, f) && sscanf(line, "schedgen rules %d", &version) == 1 && version == 1;
    while (r->found && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%31s %d %7s", name, &least, word) != 3 || least < 0)
            continue;
        for (op = 0; op < OPERATIONS && strcmp(name, operation_names[op]); op++)
            ;
        for (by = 0; by <= GO_ENGINE && strcmp(word, rule_words[by]); by++)
            ;
        if (op < OPERATIONS && by <= GO_ENGINE && (r->count[op] == 0 || r->of[op][r->count[op] - 1].least < least))
            add_rule(r, (enum operation)op, least, (enum engine)by);
    }
    fclose(f);
}

/* Writes rules, completely or not at all. Returns 0, or an error number. */
static int write_rules(const char *path, const struct rules *r)
{
    char work[4200];
    FILE *f;
    int op, i, err = 0;
    snprintf(work, sizeof work, "%s.%ld", path, (long)getpid());
    if (!(f = fopen(work, "we")))
        return errno;
    fprintf(f, "schedgen rules 1\n");
    for (op = 0; op < OPERATIONS; op++)
        for (i = 0; i < r->count[op]; i++)
            fprintf(f, "%s %d %s\n", operation_names[op], r->of[op][i].least, rule_words[r->of[op][i].engine]);
    if (ferror(f))
        err = EIO;
    if (fclose(f) && !err)
        err = errno;
    if (!err && rename(work, path))
        err = errno;
    if (err)
        unlink(work);
    return err;
}
