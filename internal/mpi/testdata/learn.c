/*
 * Calls each operation often enough to be learned, and checks every result: whoever performs a call,
 * it is right. The argument is the number of calls.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 600 };
static int rank, size, in[16 * MOST], out[16 * MOST];

static void fail(const char *what, int call)
{
    printf("rank %d: %s: wrong in call %d\n", rank, what, call);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#define EXPECT(what, call, n, value) \
    for (int i = 0; i < (n); i++) \
        if (out[i] != (value)) \
            fail(what, call)

/* Digits, behind a power of ten for their number. To append digits does not commute. */
static void append(void *left, void *right, int *n, MPI_Datatype *type)
{
    const int *l = left;
    int *r = right;
    (void)type;
    for (int i = 0; i < 2 * *n; i += 2) {
        r[i + 1] += r[i] * l[i + 1];
        r[i] *= l[i];
    }
}

static void fill(int n, int call)
{
    for (int i = 0; i < n; i++)
        in[i] = 7 * i + call + rank;
    memset(out, -1, sizeof out);
}

static void once(MPI_Comm comm, MPI_Op joined, MPI_Datatype number, int n, int call)
{
    const int root = call % size, ranks = size * (size - 1) / 2;
    int counts[16], starts[16], digits = 0;
    double half = 0.5 + rank, sum = 0;
    MPI_Request request;
    MPI_Barrier(comm);
    fill(n, call);
    if (rank == root)
        memcpy(out, in, (size_t)n * sizeof *in);
    MPI_Bcast(out, n, MPI_INT, root, comm);
    EXPECT("bcast", call, n, 7 * i + call + root);
    MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, root, comm);
    if (rank == root)
        EXPECT("reduce", call, n, size * (7 * i + call) + ranks);
    MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
    EXPECT("allreduce", call, n, size * (7 * i + call) + ranks);
    MPI_Allreduce(&half, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (sum != 0.5 * size + ranks)
        fail("allreduce of doubles", call);
    for (int i = 0; i < size; i++)
        digits = 10 * digits + i + 1;
    in[0] = 10;
    in[1] = rank + 1;
    MPI_Allreduce(in, out, 1, number, joined, comm);
    if (out[1] != digits)
        fail("allreduce in order", call);
    fill(n * size > 8 * MOST ? n * size : 8 * MOST, call);
    MPI_Reduce_scatter_block(in, out, n, MPI_INT, MPI_MAX, comm);
    EXPECT("reduce-scatter", call, n, 7 * (rank * n + i) + call + size - 1);
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        starts[i] = i * (i + 1) / 2;
    }
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_MIN, comm);
    EXPECT("reduce-scatter with counts", call, rank + 1, 7 * (starts[rank] + i) + call);
    MPI_Scan(in, out, n, MPI_INT, MPI_SUM, comm);
    EXPECT("scan", call, n, (rank + 1) * (7 * i + call) + rank * (rank + 1) / 2);
    memset(out, 0, sizeof out);
    MPI_Exscan(in, out, n, MPI_INT, MPI_SUM, comm);
    if (rank > 0)
        EXPECT("exscan", call, n, rank * (7 * i + call) + rank * (rank - 1) / 2);
    MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, comm);
    EXPECT("allgather", call, n * size, 7 * (i % n) + call + i / n);
    memset(out, -1, sizeof out);
    MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, root, comm);
    if (rank == root)
        EXPECT("gather", call, n * size, 7 * (i % n) + call + i / n);
    MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, root, comm);
    EXPECT("scatter", call, n, 7 * (rank * n + i) + call + root);
    MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm);
    EXPECT("alltoall", call, n * size, 7 * (rank * n + i % n) + call + i / n);
    MPI_Allgatherv(in, rank + 1, MPI_INT, out, counts, starts, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        for (int i = 0; i <= r; i++)
            if (out[starts[r] + i] != 7 * i + call + r)
                fail("allgatherv", call);
    MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT("iallreduce", call, n, size * (7 * i + call) + ranks);
}

int main(int argc, char **argv)
{
    const int calls = argc > 1 ? atoi(argv[1]) : 60;
    MPI_Comm twin;
    MPI_Op joined;
    MPI_Datatype number;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(append, 0, &joined);
    MPI_Type_contiguous(2, MPI_INT, &number);
    MPI_Type_commit(&number);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    for (int call = 0; call < calls; call++)
        once(MPI_COMM_WORLD, joined, number, call % 2 ? 3 : MOST, call);
    for (int call = 0; call < 3; call++)
        once(twin, joined, number, 5, call);
    MPI_Comm_free(&twin);
    MPI_Op_free(&joined);
    MPI_Type_free(&number);
    if (rank == 0)
        printf("all calls are right\n");
    MPI_Finalize();
    return 0;
}
