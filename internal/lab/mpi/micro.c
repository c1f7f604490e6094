/*
 * One collective operation of an MPI library, timed the way "schedgen bench"
 * times ours:
 *
 *     micro OPERATION BYTES ITERATIONS WARMUPS LIMIT
 *
 * Before every operation all ranks meet at a barrier that is not timed. Each rank keeps the time
 * from its call to its return in an array. The time of an iteration is the longest time of a rank.
 * For bcast_ack every other rank replies with one byte when it has the message, and the time runs
 * at the root until it has all replies. For scatter, gather, allgather and alltoall, BYTES is the
 * length of a block, which one rank sends to one other rank. For reduce, allreduce, reduce-scatter,
 * scan and exscan, which add doubles, it is the length of a block of the result.
 *
 * Rank 0 prints one line: "micro MEAN MEDIAN P99", in microseconds. After LIMIT
 * seconds every rank ends itself, whatever its launcher does.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOT = 0, REPLY = 7 };
enum operation { BARRIER, BCAST, BCAST_ACK, BCAST_BARRIER, SCATTER, GATHER, ALLGATHER, ALLTOALL, REDUCE, ALLREDUCE, REDUCE_SCATTER, SCAN, EXSCAN };
static const char *const names[] = {"barrier", "bcast", "bcast_ack", "bcast_barrier", "scatter", "gather", "allgather", "alltoall",
                                     "reduce", "allreduce", "reduce-scatter", "scan", "exscan"};

static int rank, ranks;

static void fail(const char *what)
{
    fprintf(stderr, "micro: rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *allocate(size_t n)
{
    void *p = calloc(n ? n : 1, 1);
    if (!p)
        fail("no memory");
    return p;
}

static enum operation parse_operation(const char *name)
{
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (!strcmp(name, names[i]))
            return (enum operation)i;
    fail("no such operation");
    return BARRIER;
}

/* The root posts its receives before its time begins, which favours the peer. */
static void post_replies(char *replies, MPI_Request *requests)
{
    for (int r = 1; r < ranks; r++)
        MPI_Irecv(&replies[r], 1, MPI_CHAR, r, REPLY, MPI_COMM_WORLD, &requests[r - 1]);
}

static void reply(MPI_Request *requests)
{
    char yes = 1;
    if (rank == ROOT)
        MPI_Waitall(ranks - 1, requests, MPI_STATUSES_IGNORE);
    else
        MPI_Send(&yes, 1, MPI_CHAR, ROOT, REPLY, MPI_COMM_WORLD);
}

/* The numbers of blocks that this rank sends and receives. A broadcast has one block, in the same place
 * at the root and at the others. */
static int blocks_sent(enum operation op)
{
    switch (op) {
    case SCATTER:
        return rank == ROOT ? ranks : 0;
    case ALLTOALL:
    case REDUCE_SCATTER:
        return ranks;
    case GATHER:
    case ALLGATHER:
    case REDUCE:
    case ALLREDUCE:
    case SCAN:
    case EXSCAN:
        return 1;
    default:
        return 0;
    }
}

static int blocks_received(enum operation op)
{
    switch (op) {
    case GATHER:
        return rank == ROOT ? ranks : 0;
    case ALLGATHER:
    case ALLTOALL:
        return ranks;
    case REDUCE:
        return rank == ROOT;
    case EXSCAN:
        return rank != 0;
    default:
        return 1;
    }
}

/* A number that distinguishes block i, which this rank sends or receives, from others of the iteration. */
static int sent_number(enum operation op, int i)
{
    return op == SCATTER ? i : op == ALLTOALL ? rank * ranks + i : rank;
}

static int received_number(enum operation op, int i)
{
    return op == SCATTER ? rank : op == ALLTOALL ? i * ranks + rank : op == GATHER || op == ALLGATHER ? i : ROOT;
}

static int folds(enum operation op) { return op >= REDUCE; }

/* A rank's contribution to block k in an iteration, and the sum over ranks 0 … last. */
static double contribution(int r, int k, int iteration) { return (iteration & 7) + r % 5 + k % 3; }

static double sum(enum operation op, int iteration)
{
    int last = op == SCAN ? rank : op == EXSCAN ? rank - 1 : ranks - 1;
    double s = 0;
    for (int r = 0; r <= last; r++)
        s += contribution(r, op == REDUCE_SCATTER ? rank : 0, iteration);
    return s;
}

static void mark_doubles(char *buf, int bytes, double x)
{
    double *d = (double *)buf;
    if (bytes > 0)
        d[0] = d[bytes / 8 - 1] = x;
}

static void check_doubles(const char *buf, int bytes, double x)
{
    const double *d = (const double *)buf;
    if (bytes > 0 && (d[0] != x || d[bytes / 8 - 1] != x))
        fail("the sum is not that of this iteration");
}

static void operate(enum operation op, char *src, char *buf, int bytes, MPI_Request *requests)
{
    if (op == BARRIER) {
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    switch (op) {
    case SCATTER:
        MPI_Scatter(src, bytes, MPI_CHAR, buf, bytes, MPI_CHAR, ROOT, MPI_COMM_WORLD);
        return;
    case GATHER:
        MPI_Gather(src, bytes, MPI_CHAR, buf, bytes, MPI_CHAR, ROOT, MPI_COMM_WORLD);
        return;
    case ALLGATHER:
        MPI_Allgather(src, bytes, MPI_CHAR, buf, bytes, MPI_CHAR, MPI_COMM_WORLD);
        return;
    case ALLTOALL:
        MPI_Alltoall(src, bytes, MPI_CHAR, buf, bytes, MPI_CHAR, MPI_COMM_WORLD);
        return;
    case REDUCE:
        MPI_Reduce(src, buf, bytes / 8, MPI_DOUBLE, MPI_SUM, ROOT, MPI_COMM_WORLD);
        return;
    case ALLREDUCE:
        MPI_Allreduce(src, buf, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter_block(src, buf, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return;
    case SCAN:
        MPI_Scan(src, buf, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return;
    case EXSCAN:
        MPI_Exscan(src, buf, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return;
    default:
        break;
    }
    MPI_Bcast(buf, bytes, MPI_CHAR, ROOT, MPI_COMM_WORLD);
    if (op == BCAST_ACK)
        reply(requests);
    else if (op == BCAST_BARRIER)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* Marks distinguish a message from the previous one, at both ends. */
static void mark(char *buf, int bytes, int iteration)
{
    if (bytes > 0)
        buf[0] = buf[bytes - 1] = (char)iteration;
}

static void check_mark(const char *buf, int bytes, int iteration)
{
    if (bytes > 0 && (buf[0] != (char)iteration || buf[bytes - 1] != (char)iteration))
        fail("the message is not that of this iteration");
}

static void measure(enum operation op, int bytes, int iterations, int warmups, double *times)
{
    int sent = blocks_sent(op), received = blocks_received(op);
    char *src = allocate((size_t)sent * bytes), *buf = allocate((size_t)received * bytes), *replies = allocate((size_t)ranks);
    MPI_Request *requests = allocate((size_t)ranks * sizeof *requests);
    for (int i = -warmups; i < iterations; i++) {
        for (int k = 0; folds(op) && k < sent; k++)
            mark_doubles(src + (size_t)k * bytes, bytes, contribution(rank, k, i));
        for (int k = 0; !folds(op) && k < sent; k++)
            mark(src + (size_t)k * bytes, bytes, i + sent_number(op, k));
        if (rank == ROOT && sent == 0)
            mark(buf, bytes, i);
        if (rank == ROOT && op == BCAST_ACK)
            post_replies(replies, requests);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        operate(op, src, buf, bytes, requests);
        double end = MPI_Wtime();
        if (folds(op) && received)
            check_doubles(buf, bytes, sum(op, i));
        for (int k = 0; !folds(op) && k < received; k++)
            check_mark(buf + (size_t)k * bytes, bytes, i + received_number(op, k));
        if (i >= 0 && (op != BCAST_ACK || rank == ROOT))
            times[i] = end - start;
    }
    free(requests);
    free(replies);
    free(buf);
    free(src);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(double *longest, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += longest[i];
    qsort(longest, (size_t)n, sizeof *longest, ascending);
    printf("micro %.3f %.3f %.3f\n", 1e6 * sum / n, 1e6 * longest[(n - 1) / 2], 1e6 * longest[(n - 1) * 99L / 100]);
    fflush(stdout);
}

/* Some versions of UCX hang in MPI_Finalize over TCP now and then: leave
 * without it where the launcher allows that. */
static void leave(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
#ifdef OPEN_MPI
    MPI_Finalize();
#else
    fflush(NULL);
    _exit(0);
#endif
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 6)
        fail("usage: micro OPERATION BYTES ITERATIONS WARMUPS LIMIT");
    enum operation op = parse_operation(argv[1]);
    int bytes = atoi(argv[2]), iterations = atoi(argv[3]), warmups = atoi(argv[4]), limit = atoi(argv[5]);
    if (folds(op) && bytes % 8)
        fail("BYTES are no doubles");
    if (bytes < 0 || iterations < 1 || warmups < 0 || limit < 1)
        fail("a number is out of range");
    alarm((unsigned)limit);
    double *times = allocate((size_t)iterations * sizeof *times);
    double *longest = allocate((size_t)iterations * sizeof *longest);
    measure(op, bytes, iterations, warmups, times);
    MPI_Reduce(times, longest, iterations, MPI_DOUBLE, MPI_MAX, ROOT, MPI_COMM_WORLD);
    if (rank == ROOT)
        print(longest, iterations);
    leave();
    return 0;
}
