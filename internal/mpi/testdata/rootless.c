/*
 * The functions of schedgen.h. The first argument names a test; each ends at all ranks, whatever the
 * ranks do.
 */
#include <schedgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

static void fail(const char *what, int line)
{
    fprintf(stderr, "rank %d, line %d: %s\n", rank, line, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(condition) \
    do { \
        if (!(condition)) \
            fail(#condition, __LINE__); \
    } while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS)

/* Every rank publishes some messages, and takes those of all others, each origin's in order. */
static void exchange(MPI_Comm comm, int messages)
{
    int *next = calloc((size_t)ranks, sizeof *next), i, origin, m[2];
    size_t bytes;
    for (i = 0; i < messages; i++) {
        m[0] = rank;
        m[1] = i;
        OK(schedgen_publish(comm, m, sizeof m));
    }
    for (i = 0; i < messages * (ranks - 1); i++) {
        OK(schedgen_next(comm, m, sizeof m, &origin, &bytes));
        CHECK(bytes == sizeof m && m[0] == origin && m[1] == next[origin]++ && origin != rank);
    }
    free(next);
}

static void messages(void)
{
    MPI_Comm comm;
    char *b = malloc(1 << 20);
    int origin, flag, i;
    size_t bytes;
    OK(schedgen_open(MPI_COMM_WORLD));
    OK(schedgen_open(MPI_COMM_WORLD));
    exchange(MPI_COMM_WORLD, 20);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    OK(schedgen_open(comm));
    exchange(MPI_COMM_WORLD, 3);
    if (rank == 0) { /* the last rank of comm */
        memset(b, 7, 1 << 20);
        OK(schedgen_publish(comm, b, 0));
        OK(schedgen_publish(comm, b, 1 << 20));
        OK(schedgen_flush(comm));
        CHECK(schedgen_publish(comm, b, (1 << 20) + 1) == MPI_ERR_COUNT);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) {
        OK(schedgen_try_next(comm, NULL, 0, &origin, &bytes, &flag));
        CHECK(flag == 1 && origin == ranks - 1 && bytes == 0);
        for (i = 0; i < 2; i++) {
            CHECK(schedgen_next(comm, b, 5, &origin, &bytes) == MPI_ERR_TRUNCATE);
            CHECK(origin == ranks - 1 && bytes == 1 << 20);
        }
        OK(schedgen_next(comm, b, bytes, NULL, NULL));
        CHECK(b[0] == 7 && b[(1 << 20) - 1] == 7);
        OK(schedgen_try_next(comm, NULL, 0, &origin, &bytes, &flag));
        CHECK(flag == 0);
    }
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK(schedgen_publish(comm, b, 1) == MPI_ERR_COMM);
    MPI_Comm_free(&comm);
    OK(schedgen_open(MPI_COMM_SELF));
    OK(schedgen_publish(MPI_COMM_SELF, b, 1));
    CHECK(schedgen_next(MPI_COMM_SELF, b, 1, NULL, NULL) == MPI_ERR_OTHER);
    free(b);
}

/* Ranks free a communicator, or end, with messages that nobody has taken. */
static void unread(void)
{
    MPI_Comm comm;
    char b[1000] = {0};
    int i, k;
    size_t bytes;
    for (k = 0; k < 40; k++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        OK(schedgen_open(comm));
        for (i = 0; i < k; i++)
            OK(schedgen_publish(comm, b, sizeof b));
        if (k % 3 == 0 && rank > 0)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_free(&comm); /* with k % 3 == 0, rank 0 is first; it waits for nobody */
        if (k % 3 == 0 && rank == 0)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    /* What a rank has published before it left reaches the others. Then no message can come. */
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    OK(schedgen_open(comm));
    if (rank > 0) {
        for (i = 0; i < 50; i++)
            OK(schedgen_publish(comm, b, sizeof b));
        MPI_Comm_free(&comm);
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        for (i = 0; i < 50 * (ranks - 1); i++)
            OK(schedgen_next(comm, b, sizeof b, NULL, &bytes));
        CHECK(schedgen_next(comm, b, sizeof b, NULL, NULL) == MPI_ERR_OTHER);
        for (i = 0; i < 200; i++) /* more than a window */
            OK(schedgen_publish(comm, b, sizeof b));
        OK(schedgen_flush(comm));
        MPI_Comm_free(&comm);
    }
    OK(schedgen_open(MPI_COMM_WORLD));
    for (i = 0; i < 64; i++)
        OK(schedgen_publish(MPI_COMM_WORLD, b, sizeof b));
}

/* A rank waits for a message while the others are in MPI_Finalize. */
static void finalize(void)
{
    char b[8];
    OK(schedgen_open(MPI_COMM_WORLD));
    if (rank == ranks / 2)
        CHECK(schedgen_next(MPI_COMM_WORLD, b, sizeof b, NULL, NULL) == MPI_ERR_OTHER);
}

/* A long message of MPI is under way while its sender waits for one of schedgen. */
static void rendezvous(void)
{
    enum { LONG = 8 << 20 };
    char *b = malloc(LONG), c = 0;
    MPI_Request q;
    OK(schedgen_open(MPI_COMM_WORLD));
    if (rank == 0) {
        MPI_Isend(b, LONG, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &q);
        OK(schedgen_next(MPI_COMM_WORLD, &c, 1, NULL, NULL));
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(b, LONG, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        OK(schedgen_publish(MPI_COMM_WORLD, &c, 1));
    }
    free(b);
}

static int learnt, answered;

static void answer(int origin, const void *question, size_t bytes, void *values, void *with)
{
    double *x = values;
    CHECK(bytes == sizeof(int) && with == &answered && x[0] == 0 && x[1] == 0 && origin >= 0 && origin < ranks);
    x[0] = rank + *(const int *)question;
    x[1] = 1;
    __atomic_fetch_add(&answered, 1, __ATOMIC_RELAXED);
}

static void learn(int origin, const void *question, size_t bytes, const void *values, void *with)
{
    const double *x = values;
    (void)origin, (void)bytes, (void)with;
    if (x && x[1] == ranks && x[0] == ranks * (ranks - 1) / 2 + ranks * *(const int *)question)
        __atomic_fetch_add(&learnt, 1, __ATOMIC_RELEASE);
}

static void questions(void)
{
    MPI_Comm comm;
    double x[2], y;
    int i, origin;
    OK(schedgen_open(MPI_COMM_WORLD));
    CHECK(schedgen_ask(MPI_COMM_WORLD, &i, sizeof i, x) == MPI_ERR_OTHER);
    CHECK(schedgen_answer(MPI_COMM_WORLD, rank ? 2 : -1, MPI_DOUBLE, MPI_SUM, answer, NULL, NULL) == (rank ? MPI_ERR_OTHER : MPI_ERR_COUNT));
    CHECK(schedgen_answer(MPI_COMM_WORLD, rank ? 2 : 1, MPI_DOUBLE, MPI_SUM, answer, NULL, NULL) == MPI_ERR_ARG || ranks == 1);
    CHECK(schedgen_answer(MPI_COMM_WORLD, 1, MPI_DOUBLE_INT, MPI_MINLOC, answer, NULL, NULL) == MPI_ERR_OP);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    OK(schedgen_open(comm));
    OK(schedgen_answer(comm, 2, MPI_DOUBLE, MPI_SUM, answer, learn, &answered));
    if (rank < 2) /* the others wait in MPI, and answer */
        for (i = 0; i < 20; i++) {
            OK(schedgen_ask(comm, &i, sizeof i, x));
            CHECK(x[1] == ranks && x[0] == ranks * (ranks - 1) / 2 + ranks * i);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    y = 0;
    OK(schedgen_publish(comm, &y, sizeof y));
    for (i = 1; i < ranks; i++)
        OK(schedgen_next(comm, &y, sizeof y, &origin, NULL));
    while (__atomic_load_n(&learnt, __ATOMIC_ACQUIRE) < (ranks > 1 ? 40 : 20))
        ;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1) { /* it leaves, and no longer answers */
        i = __atomic_load_n(&answered, __ATOMIC_RELAXED);
        MPI_Comm_free(&comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < ranks - 1) {
        CHECK(schedgen_ask(comm, &i, sizeof i, x) == MPI_ERR_OTHER);
        MPI_Comm_free(&comm);
    } else {
        CHECK(__atomic_load_n(&answered, __ATOMIC_RELAXED) == i);
    }
}

/* Values whose sum depends on the order, unless it is exact. */
static double value(int r, int i) { return ldexp((i * 37 + r * 101) % 199 - 99, (i + 7 * r) % 90 - 45); }

/* Composes pairs (a, b), functions x -> a x + b, which do not commute. */
static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const double *f = in;
    double *g = inout;
    int i;
    (void)type;
    for (i = 0; i < *n; i++, f += 3, g += 3) { /* the third number is a gap */
        g[1] = f[0] * g[1] + f[1];
        g[0] *= f[0];
    }
}

/* A type with gaps, and an operation of the program that does not commute. */
static void compositions(double *x, double *y, int n)
{
    MPI_Datatype pair, spread;
    MPI_Op op;
    double a, b;
    int i, r;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_create_resized(pair, 0, 3 * sizeof *x, &spread);
    MPI_Type_commit(&spread);
    MPI_Op_create(compose, 0, &op);
    for (i = 0; i < 3 * n; i++) {
        x[i] = (i + rank) % 5 + 1;
        y[i] = -1;
    }
    OK(schedgen_reproducible_allreduce(x, y, n, spread, op, MPI_COMM_WORLD));
    for (i = 0; i < n; i++) {
        for (a = 1, b = 0, r = 0; r < ranks; r++) {
            b = a * ((3 * i + 1 + r) % 5 + 1) + b;
            a *= (3 * i + r) % 5 + 1;
        }
        CHECK(y[3 * i] == a && y[3 * i + 1] == b && y[3 * i + 2] == -1);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&spread);
    MPI_Type_free(&pair);
}

static void sums(void)
{
    enum { MOST = 20000 };
    static const int counts[] = {0, 1, 2, 7, 1000, MOST};
    double *x = malloc(MOST * sizeof *x), *y = malloc(MOST * sizeof *y), *all = malloc((size_t)ranks * sizeof *all), *zero, want;
    float f, g;
    MPI_Datatype pair;
    size_t k;
    int i, r;
    for (k = 0; k < sizeof counts / sizeof *counts; k++) {
        const int n = counts[k];
        for (i = 0; i < n; i++)
            x[i] = value(rank, i);
        OK(MPI_Allreduce(x, y, n, MPI_DOUBLE, SCHEDGEN_EXACT_SUM, MPI_COMM_WORLD));
        for (i = 0; i < n; i++) {
            __float128 sum = 0; /* 113 bits hold these sums */
            for (r = 0; r < ranks; r++)
                sum += value(r, i);
            CHECK(y[i] == (double)sum);
        }
        memcpy(all = realloc(all, (size_t)(n + ranks) * sizeof *all), y, (size_t)n * sizeof *y);
        memset(y, 0, (size_t)n * sizeof *y);
        OK(MPI_Reduce(x, y, n, MPI_DOUBLE, SCHEDGEN_EXACT_SUM, ranks - 1, MPI_COMM_WORLD));
        CHECK(rank < ranks - 1 || !memcmp(all, y, (size_t)n * sizeof *y));
        memcpy(y, x, (size_t)n * sizeof *y);
        OK(MPI_Reduce(rank ? y : MPI_IN_PLACE, rank ? NULL : y, n, MPI_DOUBLE, SCHEDGEN_EXACT_SUM, 0, MPI_COMM_WORLD));
        CHECK(rank || !memcmp(all, y, (size_t)n * sizeof *y));
        memcpy(y, x, (size_t)n * sizeof *y);
        OK(MPI_Allreduce(MPI_IN_PLACE, y, n, MPI_DOUBLE, SCHEDGEN_EXACT_SUM, MPI_COMM_WORLD));
        CHECK(!memcmp(all, y, (size_t)n * sizeof *y));

        OK(schedgen_reproducible_allreduce(x, y, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        for (i = 0; i < n; i++) {
            for (want = value(0, i), r = 1; r < ranks; r++)
                want += value(r, i);
            CHECK(y[i] == want);
        }
        OK(schedgen_reproducible_allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        CHECK(!memcmp(x, y, (size_t)n * sizeof *y));
    }
    /* A float is rounded once. */
    f = rank == 0 ? 1 : rank == 1 ? 0x1p-24f : rank == 2 ? 0x1p-60f : 0;
    OK(MPI_Allreduce(&f, &g, 1, MPI_FLOAT, SCHEDGEN_EXACT_SUM, MPI_COMM_WORLD));
    CHECK(g == (ranks > 2 ? 1 + 0x1p-23f : 1));
    /* Elements with gaps: every other number of x. */
    MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof *x, &pair);
    MPI_Type_commit(&pair);
    zero = calloc(2 * 3000, sizeof *zero);
    compositions(x, y, 10);
    compositions(x, y, 5000);
    for (i = 0; i < 6000; i++)
        x[i] = value(rank, i);
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(schedgen_reproducible_allreduce(x, zero, 3000, pair, MPI_SUM, MPI_COMM_WORLD) == MPI_ERR_OP);
    /* What is refused, at all ranks. */
    CHECK(MPI_Allreduce(x, y, 3, MPI_INT, SCHEDGEN_EXACT_SUM, MPI_COMM_WORLD) == MPI_ERR_TYPE);
    CHECK(MPI_Scan(x, y, 3, MPI_DOUBLE, SCHEDGEN_EXACT_SUM, MPI_COMM_WORLD) == MPI_ERR_OP);
    CHECK(schedgen_reproducible_allreduce(x, y, rank ? 3 : -1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) == (rank ? MPI_ERR_OTHER : MPI_ERR_COUNT));
    CHECK(schedgen_reproducible_allreduce(x, y, rank ? 3 : 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) == (ranks > 1 ? MPI_ERR_COUNT : MPI_SUCCESS));
    CHECK(schedgen_reproducible_allreduce(x, NULL, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) == MPI_ERR_BUFFER);
    MPI_Type_free(&pair);
    free(x), free(y), free(all), free(zero);
}

/* A function of schedgen before MPI_Init, after MPI_Finalize, and on what it is not for. */
static void misuse(void)
{
    MPI_Comm half, inter;
    char b[1];
    CHECK(schedgen_open(MPI_COMM_NULL) == MPI_ERR_COMM);
    CHECK(schedgen_next(MPI_COMM_WORLD, b, 1, NULL, NULL) == MPI_ERR_COMM);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    if (ranks > 1) {
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
        CHECK(schedgen_open(inter) == MPI_ERR_COMM);
        MPI_Comm_free(&inter);
    }
    MPI_Comm_free(&half);
    OK(schedgen_open(MPI_COMM_WORLD));
    CHECK(schedgen_publish(MPI_COMM_WORLD, NULL, 1) == MPI_ERR_BUFFER);
    CHECK(schedgen_next(MPI_COMM_WORLD, NULL, 1, NULL, NULL) == MPI_ERR_BUFFER);
}

/* A rank that cannot open: none can, and none waits. */
static void closed(void)
{
    CHECK(schedgen_open(MPI_COMM_WORLD) == MPI_ERR_OTHER);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {{"messages", messages}, {"unread", unread}, {"finalize", finalize}, {"rendezvous", rendezvous}, {"questions", questions},
                 {"sums", sums}, {"misuse", misuse}, {"closed", closed}};
    size_t i;
    if (argc > 1 && !strcmp(argv[1], "misuse"))
        CHECK(schedgen_open(MPI_COMM_WORLD) == MPI_ERR_OTHER);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (i = 0; i < sizeof tests / sizeof *tests; i++)
        if (argc > 1 && !strcmp(argv[1], tests[i].name))
            tests[i].run();
    MPI_Finalize();
    CHECK(argc < 2 || strcmp(argv[1], "misuse") || schedgen_flush(MPI_COMM_WORLD) == MPI_ERR_OTHER);
    printf("rank %d is done\n", rank);
    return 0;
}
