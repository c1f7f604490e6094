/*
 * Measures nonblocking operations beside a computation. It calls the MPI_ functions, which a library may have
 * taken over, and the PMPI_ functions, which are the MPI's own, in turn inside one process.
 *
 *     overlap bytes [rounds]
 *
 * For each operation it prints a line with these values of both: the time without a computation in µs; the
 * time with a computation that takes as long as the MPI's own operation and begins after it; and the share of
 * the operation that the computation hides. Times are 10th percentiles of the slowest rank.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 4, MOST = 4000 };

static int rank, ranks, bytes;
static double *in, *out;
static volatile double sink;

static void compute(long work)
{
    double x = sink;
    long i;
    for (i = 0; i < work; i++)
        x = x * 0.999999 + 1e-6;
    sink = x;
}

static void operate(int ours, int op, long work)
{
    MPI_Request q;
    int n = bytes / (int)sizeof *in;
    if (op == 0 && ours)
        MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &q);
    else if (op == 0)
        PMPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &q);
    else if (ours)
        MPI_Ibcast(in, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &q);
    else
        PMPI_Ibcast(in, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &q);
    if (work)
        compute(work);
    if (ours)
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    else
        PMPI_Wait(&q, MPI_STATUS_IGNORE);
}

static double once(int ours, int op, long work)
{
    double begin, mine, longest;
    int i;
    PMPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (i = 0; i < CALLS; i++)
        operate(ours, op, work);
    mine = (MPI_Wtime() - begin) / CALLS;
    PMPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double low(double *t, int n)
{
    qsort(t, (size_t)n, sizeof *t, ascending);
    return t[n / 10];
}

static double computing(long work)
{
    static double t[30];
    double mine, longest;
    int i;
    for (i = 0; i < 30; i++) {
        double begin = MPI_Wtime();
        compute(work);
        mine = MPI_Wtime() - begin;
        PMPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        t[i] = longest;
    }
    return low(t, 30);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"iallreduce", "ibcast"};
    static double alone[2][MOST], both[2][MOST];
    double a[2], b[2], c;
    int rounds, op, i, k;
    long work;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bytes = argc > 1 ? atoi(argv[1]) : 1 << 20;
    rounds = argc > 2 ? atoi(argv[2]) : 40;
    if (rounds > MOST)
        rounds = MOST;
    in = calloc(1, (size_t)bytes);
    out = calloc(1, (size_t)bytes);
    for (op = 0; op < 2; op++) {
        for (i = 0; i < rounds; i++)
            for (k = 0; k < 2; k++)
                alone[k][i] = once(k, op, 0);
        for (k = 0; k < 2; k++)
            a[k] = low(alone[k], rounds);
        work = 1000000;
        work = (long)((double)work * a[0] / computing(work));
        PMPI_Bcast(&work, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        c = computing(work);
        for (i = 0; i < rounds; i++)
            for (k = 0; k < 2; k++)
                both[k][i] = once(k, op, work);
        for (k = 0; k < 2; k++)
            b[k] = low(both[k], rounds);
        if (rank == 0)
            printf("%s %d ranks %d bytes: alone %.0f, MPI %.0f; with %.0f of computing %.0f, MPI %.0f: ratio %.2f; hidden %.0f %%, MPI %.0f %%\n",
                   names[op], ranks, bytes, a[1] * 1e6, a[0] * 1e6, c * 1e6, b[1] * 1e6, b[0] * 1e6, b[1] / b[0],
                   100 * (1 - (b[1] - c) / a[1]), 100 * (1 - (b[0] - c) / a[0]));
    }
    MPI_Finalize();
    return 0;
}
