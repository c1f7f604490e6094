/*
 * Nonblocking operations: each must have the result of MPI's own, whichever function completes it. The argument
 * "longer" tries more lengths, and "go" says that engine go takes the operations that it can.
 */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 1 << 17, WAYS = 10, SEVERAL = 8 };

static unsigned *in, *ours, *theirs;
static int rank, ranks, failures, way, go, reach;
static int taken; /* engine go takes the next operation; statuses of MPICH 4.0.2's own operations are arbitrary */

static void fail(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Sets reach to the words that an operation with blocks of up to n elements can touch, and some behind them. */
static void set_reach(int n, int words)
{
    long most = (long)(n + 3 * ranks) * ranks * words + 1000;
    reach = most < WORDS ? (int)most : WORDS;
}

/* Fills both memories with the same bytes. Behind reach the bytes of earlier calls are left, which are the same. */
static void fill(int seed)
{
    int i;
    for (i = 0; i < reach; i++) {
        in[i] = (unsigned)((i * 7 + rank * 131 + seed * 17) % 23 + 1);
        ours[i] = theirs[i] = (unsigned)((i * 11 + rank * 37 + seed) % 19 + 1);
    }
}

/* Checks that the status of a complete operation is empty. */
static void empty(MPI_Status *s)
{
    int n, flag;
    if (!taken)
        return;
    MPI_Get_count(s, MPI_BYTE, &n);
    MPI_Test_cancelled(s, &flag);
    if (n != 0 || flag)
        fail("a status is not empty");
}

/* Completes one request in one of several ways. */
static void finish(MPI_Request *q)
{
    MPI_Request all[3] = {MPI_REQUEST_NULL, *q, MPI_REQUEST_NULL};
    MPI_Status s[3];
    int index = 0, flag = 0, done = 0, indices[3];
    switch (way++ % WAYS) {
    case 0:
        MPI_Wait(q, &s[0]);
        empty(&s[0]);
        return;
    case 1:
        while (!flag)
            MPI_Test(q, &flag, &s[0]);
        empty(&s[0]);
        return;
    case 2:
        MPI_Waitall(3, all, s);
        empty(&s[1]);
        break;
    case 3:
        MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
        break;
    case 4:
        MPI_Waitany(3, all, &index, &s[0]);
        if (index != 1)
            fail("Waitany: which one");
        empty(&s[0]);
        break;
    case 5:
        MPI_Waitsome(3, all, &done, indices, s);
        if (done != 1 || indices[0] != 1)
            fail("Waitsome: which one");
        empty(&s[0]);
        break;
    case 6:
        while (!flag)
            MPI_Testall(3, all, &flag, MPI_STATUSES_IGNORE);
        break;
    case 7:
        while (!flag)
            MPI_Testany(3, all, &index, &flag, MPI_STATUS_IGNORE);
        if (index != 1)
            fail("Testany: which one");
        break;
    case 8:
        while (!done)
            MPI_Testsome(3, all, &done, indices, s);
        if (done != 1 || indices[0] != 1)
            fail("Testsome: which one");
        break;
    default:
        while (!flag)
            MPI_Request_get_status(all[1], &flag, MPI_STATUS_IGNORE);
        if (all[1] == MPI_REQUEST_NULL)
            fail("Request_get_status frees a request");
        MPI_Wait(&all[1], &s[0]);
        empty(&s[0]);
    }
    if (all[1] != MPI_REQUEST_NULL)
        fail("a request is left");
    *q = MPI_REQUEST_NULL;
}

/* Starts the operation, completes it, and compares it with MPI's own blocking one. */
#define BOTH(what, a, b, name, other, ...) \
    do { \
        MPI_Request q; \
        unsigned *out = ours; \
        fill((a) * 3 + (b)); \
        MPI_##name(__VA_ARGS__, &q); \
        finish(&q); \
        out = theirs; \
        PMPI_##other(__VA_ARGS__); \
        if (memcmp(ours, theirs, WORDS * sizeof *ours) && failures++ < 10) \
            fprintf(stderr, "rank %d of %d: %s (%s: %d, %d)\n", rank, ranks, #name, what, a, b); \
    } while (0)

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
    int n, root, i, counts[64];
    for (n = 0; n <= longest; n = n * 9 + 1) {
        taken = go && n > 0 && !strchr(what, ' ');
        set_reach(n, words);
        for (root = 0; root < ranks; root += 1 + ranks / 3) {
            BOTH(what, n, root, Ireduce, Reduce, in, out, n, type, op, root, comm);
            BOTH(what, n, root, Ireduce, Reduce, rank == root ? MPI_IN_PLACE : out, rank == root ? out : NULL, n, type, op, root, comm);
        }
        BOTH(what, n, -1, Iallreduce, Allreduce, in, out, n, type, op, comm);
        BOTH(what, n, -2, Iallreduce, Allreduce, MPI_IN_PLACE, out, n, type, op, comm);
        BOTH(what, n, -3, Iscan, Scan, in, out, n, type, op, comm);
        BOTH(what, n, -4, Iscan, Scan, MPI_IN_PLACE, out, n, type, op, comm);
        for (i = 0; i < 2; i++) { /* the result of rank 0 is undefined */
            MPI_Request q;
            fill(n + i);
            MPI_Iexscan(i ? MPI_IN_PLACE : in, ours, n, type, op, comm, &q);
            finish(&q);
            PMPI_Exscan(i ? MPI_IN_PLACE : in, theirs, n, type, op, comm);
            if (rank > 0 && memcmp(ours, theirs, WORDS * sizeof *ours) && failures++ < 10)
                fprintf(stderr, "rank %d of %d: Iexscan (%s: %d, %d)\n", rank, ranks, what, n, i);
        }
        if ((long)(n + ranks) * ranks * words > WORDS / 2)
            continue;
        BOTH(what, n, -5, Ireduce_scatter_block, Reduce_scatter_block, in, out, n, type, op, comm);
        for (i = 0; i < ranks; i++)
            counts[i] = i % 3 == 1 ? 0 : n + i;
        BOTH(what, n, -6, Ireduce_scatter, Reduce_scatter, in, out, counts, type, op, comm);
        for (i = 0; i < 2; i++) { /* in place, the bytes behind the result are undefined */
            MPI_Request q;
            int own = i ? n : counts[rank];
            fill(n + i);
            if (i)
                MPI_Ireduce_scatter_block(MPI_IN_PLACE, ours, n, type, op, comm, &q);
            else
                MPI_Ireduce_scatter(MPI_IN_PLACE, ours, counts, type, op, comm, &q);
            finish(&q);
            if (i)
                PMPI_Reduce_scatter_block(MPI_IN_PLACE, theirs, n, type, op, comm);
            else
                PMPI_Reduce_scatter(MPI_IN_PLACE, theirs, counts, type, op, comm);
            if (memcmp(ours, theirs, (size_t)own * (size_t)words * 4) && failures++ < 10)
                fprintf(stderr, "rank %d of %d: Ireduce_scatter in place (%s: %d, %d)\n", rank, ranks, what, n, i);
        }
    }
    fill(0); /* no undefined bytes are left */
}

/*
 * Blocks of different lengths, up to n elements. They follow each other, have gaps between them, or lie in the opposite
 * order.
 */
static void lengths(MPI_Comm comm, MPI_Datatype type, int words, const char *what, int n)
{
    int counts[64], starts[64], to[64], at[64], order, root, i;
    for (order = 0; order < 3; order++) {
        int sum = 0;
        for (i = 0; i < ranks; i++) {
            int k = order == 2 ? ranks - 1 - i : i;
            counts[k] = n * (k % 3) / 2;
            starts[k] = sum;
            sum += counts[k] + (order == 1);
        }
        if ((long)(sum + 1) * words > WORDS / 2)
            return;
        for (root = 0; root < ranks; root += 1 + ranks / 3) {
            taken = go;
            BOTH(what, n, root, Igatherv, Gatherv, in, counts[rank], type, out, counts, starts, type, root, comm);
            BOTH(what, n, 100 + root, Igatherv, Gatherv, rank == root ? MPI_IN_PLACE : in, counts[rank], type, out, counts, starts, type, root, comm);
            BOTH(what, n, 200 + root, Iscatterv, Scatterv, in, counts, starts, type, out, counts[rank], type, root, comm);
            BOTH(what, n, 300 + root, Iscatterv, Scatterv, in, counts, starts, type, rank == root ? MPI_IN_PLACE : out, counts[rank], type, root, comm);
        }
        taken = go && sum > 0 && (order != 1 || sum > ranks);
        BOTH(what, n, -1, Iallgatherv, Allgatherv, in, counts[rank], type, out, counts, starts, type, comm);
        BOTH(what, n, -2, Iallgatherv, Allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, counts, starts, type, comm);
        taken = go;
        /* Each rank gets a block of its own length; a received block has this rank's length. */
        for (i = 0; i < ranks; i++) {
            to[i] = counts[rank];
            at[i] = i * (counts[rank] + order);
        }
        if ((long)ranks * (counts[rank] + 2) * words < WORDS / 2)
            BOTH(what, n, -3, Ialltoallv, Alltoallv, in, counts, starts, type, out, to, at, type, comm);
    }
    taken = go && n > 0;
}

/* Ranks describe the same bytes by two types: `other` has two of `type`. */
static void moves(MPI_Comm comm, MPI_Datatype type, MPI_Datatype other, int words, const char *what, int longest)
{
    int n, root;
    for (n = 0; n <= longest; n = n * 9 + 2) {
        int odd = n % 2 == 0 && rank % 2, m = odd ? n / 2 : n;
        MPI_Datatype t = odd ? other : type;
        taken = go && n > 0;
        set_reach(n, words);
        for (root = 0; root < ranks; root += 1 + ranks / 3) {
            BOTH(what, n, root, Ibcast, Bcast, out, m, t, root, comm);
            if ((long)n * ranks * words > WORDS / 2)
                continue;
            BOTH(what, n, 100 + root, Igather, Gather, in, m, t, out, n, type, root, comm);
            BOTH(what, n, 200 + root, Igather, Gather, rank == root ? MPI_IN_PLACE : in, n, type, out, n, type, root, comm);
            BOTH(what, n, 300 + root, Iscatter, Scatter, in, n, type, out, m, t, root, comm);
            BOTH(what, n, 400 + root, Iscatter, Scatter, in, n, type, rank == root ? MPI_IN_PLACE : out, n, type, root, comm);
        }
        if ((long)n * ranks * words > WORDS / 2)
            continue;
        BOTH(what, n, -1, Iallgather, Allgather, in, m, t, out, n, type, comm);
        BOTH(what, n, -2, Iallgather, Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, type, comm);
        BOTH(what, n, -3, Ialltoall, Alltoall, in, m, t, out, n, type, comm);
        BOTH(what, n, -4, Ialltoall, Alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, type, comm);
        lengths(comm, type, words, what, n);
    }
}

static void all(MPI_Comm comm, int longest)
{
    MPI_Datatype pair, gap, twice;
    MPI_Op added;
    MPI_Request q;
    int i;
    MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_create_resized(MPI_UNSIGNED, 0, 12, &gap);
    MPI_Type_commit(&gap);
    MPI_Type_contiguous(2, gap, &twice);
    MPI_Type_commit(&twice);
    MPI_Op_create(add, 1, &added);
    folds(comm, MPI_UNSIGNED, MPI_SUM, 1, "sums", longest);
    folds(comm, MPI_INT, MPI_MAX, 1, "maxima", 100);
    folds(comm, MPI_LONG, MPI_BXOR, 2, "bits", 100);
    folds(comm, MPI_BYTE, MPI_BOR, 1, "bytes", 100);
    folds(comm, MPI_SHORT, MPI_LAND, 1, "truth", 100);
    folds(comm, MPI_UNSIGNED, added, 1, "own sums", 100);
    folds(comm, MPI_2INT, MPI_MAXLOC, 2, "maxima and places", 10);
    taken = go;
    for (i = 0; i < 2; i++) {
        MPI_Ibarrier(comm, &q);
        finish(&q);
    }
    moves(comm, MPI_UNSIGNED, pair, 1, "words", longest);
    moves(comm, gap, twice, 3, "words with gaps", 200);
    /* The program may free a type before the operation is complete. */
    fill(rank == 1 % ranks);
    MPI_Ibcast(ours, 100, twice, 0, comm, &q);
    MPI_Type_free(&twice);
    finish(&q);
    MPI_Op_free(&added);
    MPI_Type_free(&pair);
    MPI_Type_free(&gap);
}

/* Sums of doubles have the same bits as by the blocking operation, including NaN and zeros. */
static void same_bits(MPI_Comm comm)
{
    MPI_Op ops[4] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
    double x[100], a[100], b[100], zero = 0;
    MPI_Request q;
    int i, k;
    for (k = 0; k < 4; k++) {
        for (i = 0; i < 100; i++)
            x[i] = i == 7 + rank % 2 ? zero / zero : i < 7 ? (rank % 2 ? -0.0 : 0.0) : 1.0 / (3 + i + 7 * rank);
        MPI_Iallreduce(x, a, 100, MPI_DOUBLE, ops[k], comm, &q);
        finish(&q);
        MPI_Allreduce(x, b, 100, MPI_DOUBLE, ops[k], comm);
        if (memcmp(a, b, sizeof a))
            fail("bits of doubles differ");
    }
}

/* Several operations are pending, with messages of MPI and blocking operations between them. Inactive requests do not count. */
static void several(MPI_Comm comm)
{
    static unsigned x[SEVERAL], sum[SEVERAL], part[SEVERAL][1000];
    MPI_Request q[SEVERAL + 4], persistent;
    MPI_Status s[SEVERAL + 4];
    int i, k, got, done, index, indices[SEVERAL + 4], flag, right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks, all_sum;
    for (k = 0; k < 8; k++) {
        for (i = 0; i < SEVERAL; i++) {
            x[i] = (unsigned)(rank + i + k);
            memset(part[i], rank == i % ranks ? i + 1 : 0, sizeof part[i]);
            if (i % 2)
                MPI_Ibcast(part[i], 1000, MPI_UNSIGNED, i % ranks, comm, &q[i]);
            else
                MPI_Iallreduce(&x[i], &sum[i], 1, MPI_UNSIGNED, MPI_SUM, comm, &q[i]);
            if (i == SEVERAL / 2) {
                MPI_Allreduce(&rank, &all_sum, 1, MPI_INT, MPI_SUM, comm);
                if (all_sum != ranks * (ranks - 1) / 2)
                    fail("a blocking sum among others");
            }
        }
        MPI_Irecv(&got, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &q[SEVERAL]);
        MPI_Isend(&rank, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &q[SEVERAL + 1]);
        q[SEVERAL + 2] = MPI_REQUEST_NULL;
        MPI_Send_init(&rank, 1, MPI_INT, right, 4, MPI_COMM_WORLD, &persistent);
        q[SEVERAL + 3] = persistent;
        switch (k % 4) {
        case 0:
            MPI_Waitall(SEVERAL + 4, q, s);
            MPI_Get_count(&s[SEVERAL], MPI_INT, &i);
            if (i != 1 || s[SEVERAL].MPI_SOURCE != left)
                fail("a status of a message");
            break;
        case 1:
            for (i = 0; i < SEVERAL + 2; i++) {
                MPI_Waitany(SEVERAL + 4, q, &index, &s[0]);
                if (index < 0 || index >= SEVERAL + 2 || q[index] != MPI_REQUEST_NULL)
                    fail("Waitany of several");
            }
            MPI_Waitany(SEVERAL + 4, q, &index, MPI_STATUS_IGNORE);
            if (index != MPI_UNDEFINED)
                fail("Waitany of none");
            break;
        case 2:
            for (i = 0; i < SEVERAL + 2; i += done) {
                MPI_Waitsome(SEVERAL + 4, q, &done, indices, s);
                if (done < 1 || done > SEVERAL + 2 - i)
                    fail("Waitsome of several");
            }
            MPI_Waitsome(SEVERAL + 4, q, &done, indices, MPI_STATUSES_IGNORE);
            if (done != MPI_UNDEFINED)
                fail("Waitsome of none");
            break;
        default:
            for (flag = 0; !flag;)
                MPI_Testall(SEVERAL + 4, q, &flag, MPI_STATUSES_IGNORE);
        }
        MPI_Request_free(&persistent);
        if (got != left)
            fail("a message among operations");
        for (i = 0; i < SEVERAL; i++)
            if (i % 2 ? part[i][999] != (unsigned)(i + 1) * 0x01010101u : sum[i] != (unsigned)(ranks * (ranks - 1) / 2 + ranks * (i + k)))
                fail("one of several");
    }
    MPI_Wait(&q[SEVERAL + 2], MPI_STATUS_IGNORE);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
}

/* A rank in the middle of a tree waits for a message that another rank sends after its broadcast. */
static void forwards(MPI_Comm comm)
{
    enum { LONG = 1 << 19 };
    static char b[LONG];
    MPI_Request q;
    char y = 0;
    int k, i;
    for (k = 0; k < 3; k++) {
        memset(b, rank == 0 ? k + 1 : 0, LONG);
        MPI_Ibcast(b, LONG, MPI_BYTE, 0, comm, &q);
        if (rank == ranks - 1) {
            MPI_Wait(&q, MPI_STATUS_IGNORE);
            for (i = 0; i < ranks - 1; i++)
                MPI_Send(&y, 1, MPI_BYTE, i, 9, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&y, 1, MPI_BYTE, ranks - 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Wait(&q, MPI_STATUS_IGNORE);
        }
        if (b[LONG - 1] != k + 1)
            fail("a byte of a broadcast");
    }
}

static long pages(void)
{
    long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &resident) != 2)
        return 0;
    fclose(f);
    return resident;
}

/* Thousands of operations leak no memory. */
static void thousands(MPI_Comm comm)
{
    MPI_Request q[50];
    long before = 0;
    double x = 1, sum[50];
    int i;
    for (i = 0; i < 12000; i++) {
        if (i == 2000)
            before = pages();
        MPI_Iallreduce(&x, &sum[i % 50], 1, MPI_DOUBLE, MPI_SUM, comm, &q[i % 50]);
        if (i % 50 == 49)
            MPI_Waitall(50, q, MPI_STATUSES_IGNORE);
    }
    if (sum[49] != ranks)
        fail("a sum of thousands");
    if (pages() > before + 1500) /* 6 MB for 10,000 operations */
        fail("thousands of operations leave memory behind");
}

/* A communicator may be freed while an operation is pending. */
static void freed(void)
{
    MPI_Comm comm;
    MPI_Request q;
    int k, sum = 0;
    for (k = 0; k < 4; k++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Barrier(comm);
        if (rank == 0)
            usleep(2000);
        MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &q);
        MPI_Comm_free(&comm);
        finish(&q);
        if (sum != ranks * (ranks - 1) / 2)
            fail("a sum on a communicator that was freed");
    }
}

/* Starting an operation waits for no other rank, even if it is the first of its communicator. */
static void first(void)
{
    MPI_Comm comm;
    MPI_Request q;
    int x = 0, sum = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank > 0)
        MPI_Recv(&x, 1, MPI_INT, rank - 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &q);
    if (rank < ranks - 1)
        MPI_Send(&x, 1, MPI_INT, rank + 1, 8, MPI_COMM_WORLD);
    finish(&q);
    if (sum != ranks * (ranks - 1) / 2)
        fail("a first sum");
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int sum, longer = 0, i;
    MPI_Comm reversed;
    in = malloc(WORDS * sizeof *in);
    ours = malloc(WORDS * sizeof *ours);
    theirs = malloc(WORDS * sizeof *theirs);
    reach = WORDS;
    fill(0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (i = 1; i < argc; i++) {
        longer |= !strcmp(argv[i], "longer");
        go |= !strcmp(argv[i], "go") && ranks > 1;
    }
    first();
    all(MPI_COMM_WORLD, longer ? 70000 : 8000);
    if (go) /* MPIs may fold the two forms in different orders */
        same_bits(MPI_COMM_WORLD);
    several(MPI_COMM_WORLD);
    forwards(MPI_COMM_WORLD);
    thousands(MPI_COMM_WORLD);
    if (go) /* Open MPI 4.1.4 crashes on its own */
        freed();
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &reversed);
    MPI_Barrier(reversed);
    all(reversed, 100);
    MPI_Comm_free(&reversed);
    PMPI_Allreduce(&failures, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != 0;
}
