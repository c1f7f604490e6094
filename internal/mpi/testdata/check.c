/*
 * Calls every operation that the library takes over, and compares its result in memory with that of the
 * PMPI_ function, which is MPI's own. Communicators, types, roots and lengths vary. The argument "brief"
 * leaves out long lengths.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1 << 19 };

static unsigned *in, *ours, *theirs;
static int failures, reach;

/* Sets reach to the words that an operation with this block can touch, and some behind them. */
static void set_reach(int n, int size, int words)
{
    long most = (long)(n + 3 * size) * size * words + 1000;
    reach = most < WORDS ? (int)most : WORDS;
}

/*
 * Fills memory with the same bytes before both calls, so that gaps are compared too. Behind reach the
 * bytes of earlier calls are left, which are the same in both memories.
 */
static void fill(int rank, int seed)
{
    int i;
    for (i = 0; i < reach; i++) {
        in[i] = (unsigned)((i * 7 + rank * 131 + seed * 17) % 23 + 1);
        ours[i] = theirs[i] = (unsigned)((i * 11 + rank * 37 + seed) % 19 + 1);
    }
}

static void compare(MPI_Comm comm, const char *what, int a, int b)
{
    if (memcmp(ours, theirs, WORDS * sizeof *ours) && failures++ < 10) {
        int rank, size, i = 0;
        PMPI_Comm_rank(comm, &rank);
        PMPI_Comm_size(comm, &size);
        while (ours[i] == theirs[i])
            i++;
        fprintf(stderr, "rank %d of %d: %s (%d, %d): word %d is %u, not %u\n", rank, size, what, a, b, i, ours[i], theirs[i]);
    }
}

static void expect(int ok, const char *what)
{
    if (!ok && failures++ < 10)
        fprintf(stderr, "%s\n", what);
}

/* Calls both functions: `out` is the memory of each. */
#define BOTH(what, a, b, name, ...) \
    do { \
        unsigned *out; \
        int err; \
        fill(rank, (a) * 3 + (b)); \
        out = ours; \
        if ((err = MPI_##name(__VA_ARGS__))) \
            fprintf(stderr, "%s: error %d\n", what, err), failures++; \
        out = theirs; \
        PMPI_##name(__VA_ARGS__); \
        compare(comm, what, a, b); \
    } while (0)

/* Maps x -> a*x + b modulo 2^32, composed: associative, but not commutative. */
static void compose(void *left, void *right, int *n, MPI_Datatype *type)
{
    unsigned *a = left, *b = right;
    int i;
    (void)type;
    for (i = 0; i < *n; i++, a += 2, b += 2) {
        b[1] = a[1] + a[0] * b[1];
        b[0] *= a[0];
    }
}

static void add(void *left, void *right, int *n, MPI_Datatype *type)
{
    unsigned *a = left, *b = right;
    int i;
    (void)type;
    for (i = 0; i < *n; i++)
        b[i] += a[i];
}

static void folds(MPI_Comm comm, MPI_Datatype type, MPI_Op op, int words, const char *what, int longest)
{
    int rank, size, root, n, i, counts[64];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (n = 0; n <= longest; n = n * 7 + 1) {
        set_reach(n, size, words);
        for (root = 0; root < size; root += 1 + size / 3) {
            BOTH(what, n, root, Reduce, in, out, n, type, op, root, comm);
            BOTH(what, n, root, Reduce, rank == root ? MPI_IN_PLACE : out, rank == root ? out : NULL, n, type, op, root, comm);
        }
        BOTH(what, n, -1, Allreduce, in, out, n, type, op, comm);
        BOTH(what, n, -2, Allreduce, MPI_IN_PLACE, out, n, type, op, comm);
        BOTH(what, n, -3, Scan, in, out, n, type, op, comm);
        BOTH(what, n, -4, Scan, MPI_IN_PLACE, out, n, type, op, comm);
        if (rank > 0) {
            BOTH(what, n, -5, Exscan, in, out, n, type, op, comm);
            BOTH(what, n, -6, Exscan, MPI_IN_PLACE, out, n, type, op, comm);
        } else { /* the result of rank 0 is undefined */
            for (i = 0; i < 2; i++) {
                fill(rank, 0);
                MPI_Exscan(i ? MPI_IN_PLACE : in, ours, n, type, op, comm);
                PMPI_Exscan(i ? MPI_IN_PLACE : in, theirs, n, type, op, comm);
            }
        }
        if ((long)n * size * words > WORDS / 2 || words == 4) /* Open MPI 4.1.4 fails with 4 words */
            continue;
        BOTH(what, n, -7, Reduce_scatter_block, in, out, n, type, op, comm);
        for (i = 0; i < size; i++)
            counts[i] = i % 3 == 1 ? 0 : n + i;
        BOTH(what, n, -9, Reduce_scatter, in, out, counts, type, op, comm);
        /* In place, the bytes behind the result are undefined. */
        fill(rank, n);
        MPI_Reduce_scatter_block(MPI_IN_PLACE, ours, n, type, op, comm);
        PMPI_Reduce_scatter_block(MPI_IN_PLACE, theirs, n, type, op, comm);
        expect(!memcmp(ours, theirs, (size_t)n * (size_t)words * 4), "Reduce_scatter_block in place");
        fill(rank, n);
        MPI_Reduce_scatter(MPI_IN_PLACE, ours, counts, type, op, comm);
        PMPI_Reduce_scatter(MPI_IN_PLACE, theirs, counts, type, op, comm);
        expect(!memcmp(ours, theirs, (size_t)counts[rank] * (size_t)words * 4), "Reduce_scatter in place");
    }
    fill(rank, 0); /* no undefined bytes are left */
}

/* Ranks describe the same bytes by two types: `other` has two of `type`. */
static void moves(MPI_Comm comm, MPI_Datatype type, MPI_Datatype other, int words, const char *what, int longest)
{
    int rank, size, root, n, i, sum;
    int counts[64], starts[64], back[64], from[64];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (n = 0; n <= longest; n = n * 7 + 2) {
        int two = n % 2 == 0, odd = two && rank % 2;
        MPI_Datatype t = odd ? other : type;
        int m = odd ? n / 2 : n;
        set_reach(n, size, words);
        for (root = 0; root < size; root += 1 + size / 3) {
            BOTH(what, n, root, Bcast, out, m, t, root, comm);
            if ((long)n * size * words > WORDS / 2)
                continue;
            BOTH(what, n, 100 + root, Gather, in, m, t, out, n, type, root, comm);
            BOTH(what, n, 200 + root, Gather, rank == root ? MPI_IN_PLACE : in, n, type, out, n, type, root, comm);
            BOTH(what, n, 300 + root, Scatter, in, n, type, out, m, t, root, comm);
            BOTH(what, n, 400 + root, Scatter, in, n, type, rank == root ? MPI_IN_PLACE : out, n, type, root, comm);
            for (sum = 1, i = 0; i < size; i++) {
                counts[i] = i % 3 == 1 ? 0 : n + i;
                starts[i] = sum;
                sum += counts[i] + 1;
            }
            BOTH(what, n, 500 + root, Gatherv, in, counts[rank], type, out, counts, starts, type, root, comm);
            BOTH(what, n, 600 + root, Gatherv, rank == root ? MPI_IN_PLACE : in, counts[rank], type, out, counts, starts, type, root, comm);
            BOTH(what, n, 700 + root, Scatterv, in, counts, starts, type, out, counts[rank], type, root, comm);
            BOTH(what, n, 800 + root, Scatterv, in, counts, starts, type, rank == root ? MPI_IN_PLACE : out, counts[rank], type, root, comm);
        }
        if ((long)n * size * words > WORDS / 2)
            continue;
        BOTH(what, n, -1, Allgather, in, m, t, out, n, type, comm);
        BOTH(what, n, -2, Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, type, comm);
        BOTH(what, n, -3, Alltoall, in, m, t, out, n, type, comm);
        BOTH(what, n, -4, Alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, type, comm);
        BOTH(what, n, -5, Allgatherv, in, counts[rank], type, out, counts, starts, type, comm);
        BOTH(what, n, -6, Allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, counts, starts, type, comm);
        for (sum = 0, i = 0; i < size; i++) {
            counts[i] = (rank + i) % 3 == 0 ? 0 : n + rank + 2 * i;
            back[i] = (rank + i) % 3 == 0 ? 0 : n + i + 2 * rank;
            starts[i] = sum;
            from[i] = (size - 1 - i) * (n + 3 * size);
            sum += counts[i];
        }
        if ((long)(n + 3 * size) * size * words < WORDS)
            BOTH(what, n, -7, Alltoallv, in, counts, starts, type, out, back, from, type, comm);
    }
    if (longest > 10000) {
        set_reach(150000, size, words);
        BOTH(what, 150000, 0, Bcast, out, 150000, type, 0, comm);
    }
    MPI_Barrier(comm);
}

static void all(MPI_Comm comm, int longest)
{
    MPI_Datatype pair, gap, twice, permuted, both;
    MPI_Op composed, added;
    int blocks[2] = {1, 1}, starts[2] = {1, 0};
    MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_create_resized(MPI_UNSIGNED, 0, 12, &gap);
    MPI_Type_commit(&gap);
    MPI_Type_contiguous(2, gap, &twice);
    MPI_Type_commit(&twice);
    MPI_Type_indexed(2, blocks, starts, MPI_UNSIGNED, &permuted);
    MPI_Type_commit(&permuted);
    MPI_Type_contiguous(2, permuted, &both);
    MPI_Type_commit(&both);
    MPI_Op_create(compose, 0, &composed);
    MPI_Op_create(add, 1, &added);
    folds(comm, MPI_UNSIGNED, MPI_SUM, 1, "sums", longest);
    folds(comm, MPI_UNSIGNED, added, 1, "own sums", 60);
    folds(comm, pair, composed, 2, "maps", longest);
    folds(comm, MPI_2INT, MPI_MAXLOC, 2, "maxima and places", 60);
    folds(comm, MPI_DOUBLE_INT, MPI_MINLOC, 4, "minima and places", 10);
    moves(comm, MPI_UNSIGNED, pair, 1, "words", longest);
    moves(comm, gap, twice, 3, "words with gaps", 400);
    moves(comm, permuted, both, 2, "words that change places", 60);
    MPI_Op_free(&composed);
    MPI_Op_free(&added);
    MPI_Type_free(&pair);
    MPI_Type_free(&gap);
    MPI_Type_free(&twice);
    MPI_Type_free(&permuted);
    MPI_Type_free(&both);
}

static int copies, deletions;

static int copied(MPI_Comm comm, int key, void *extra, void *value, void *to, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)value, (void)to;
    copies++;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

/* Communicators come and go. The program's attributes are copied only when the program duplicates one. */
static void communicators(void)
{
    int rank, size, key, i, x, sum, byte = 0;
    MPI_Comm dup, half, inter, none;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_keyval(copied, deleted, &key, NULL);
    for (i = 0; i < 30; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        MPI_Comm_set_attr(dup, key, &byte);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, dup);
        expect(sum == size * (size - 1) / 2, "a sum on a duplicate");
        MPI_Comm_free(&dup);
    }
    expect(copies == 0 && deletions == 30, "attributes of the program are copied");
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, -rank, &half);
    if (rank > 0) {
        x = rank;
        MPI_Bcast(&x, 1, MPI_INT, 0, half);
        expect(x == size - 1, "a broadcast in reverse order");
        MPI_Comm_free(&half);
    }
    if (size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
        for (x = 0, i = 1 - rank % 2; i < size; i += 2)
            x += i;
        expect(sum == x, "a sum between two groups");
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_SELF);
    expect(sum == rank, "a maximum of one rank");
    none = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect(MPI_Barrier(none) != MPI_SUCCESS, "no error for a barrier of nobody");
    expect(MPI_Bcast(&x, 1, MPI_INT, size, MPI_COMM_WORLD) != MPI_SUCCESS, "no error for a root that is no rank");
    expect(MPI_Bcast(&x, -1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS, "no error for a negative count");
    expect(MPI_Allreduce(&rank, &x, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS, "no error for no type");
    expect(MPI_Allreduce(&rank, &x, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD) != MPI_SUCCESS, "no error for no operation");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free_keyval(&key);
}

int main(int argc, char **argv)
{
    int rank, sum, brief = argc > 1 && !strcmp(argv[1], "brief");
    MPI_Comm reversed, half;
    in = malloc(WORDS * sizeof *in);
    ours = malloc(WORDS * sizeof *ours);
    theirs = malloc(WORDS * sizeof *theirs);
    reach = WORDS;
    fill(0, 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    all(MPI_COMM_WORLD, brief ? 400 : 40000);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    all(reversed, 60);
    MPI_Comm_free(&reversed);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    all(half, 60);
    MPI_Comm_free(&half);
    communicators();
    PMPI_Allreduce(&failures, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != 0;
}
