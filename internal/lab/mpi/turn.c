/*
 * Measures collective operations of an MPI, and of the library that takes them over, in turn inside one process:
 *
 *     schedgen mpi --engine c -- mpirun -n 8 turn SECONDS OPERATION BYTES...
 *
 * Blocks of calls of MPI_ functions, which are the library's, and of PMPI_ functions, which are
 * MPI's own, alternate, so both meet the same load. Between two calls all ranks meet at a barrier
 * that is not timed. The time of a call is the slowest rank's time. Rank 0 prints a line for each
 * length: the 10th percentile and the median of both in microseconds, and the ratios.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100000, BLOCK = 10 };

static int rank, ranks;
static double times[2][MOST], longest[MOST];
static char *in, *out;

#define CALL(name, ...) (ours ? MPI_##name(__VA_ARGS__) : PMPI_##name(__VA_ARGS__))

static void call(const char *op, int n, int ours)
{
    int words = n / 8;
    if (!strcmp(op, "barrier"))
        CALL(Barrier, MPI_COMM_WORLD);
    else if (!strcmp(op, "bcast"))
        CALL(Bcast, out, n, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (!strcmp(op, "reduce"))
        CALL(Reduce, in, out, words, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    else if (!strcmp(op, "allreduce"))
        CALL(Allreduce, in, out, words, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(op, "reduce-scatter"))
        CALL(Reduce_scatter_block, in, out, words, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(op, "scan"))
        CALL(Scan, in, out, words, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(op, "exscan"))
        CALL(Exscan, in, out, words, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(op, "allgather"))
        CALL(Allgather, in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD);
    else if (!strcmp(op, "gather"))
        CALL(Gather, in, n, MPI_BYTE, out, n, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (!strcmp(op, "scatter"))
        CALL(Scatter, in, n, MPI_BYTE, out, n, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (!strcmp(op, "alltoall"))
        CALL(Alltoall, in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD);
    else {
        fprintf(stderr, "turn: no operation %s\n", op);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    double p10[2], median[2], seconds;
    int i, k, arg, ours;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    seconds = atof(argv[1]);
    for (arg = 3; arg < argc; arg++) {
        int n = atoi(argv[arg]), count = 0, go = 1;
        double begin;
        in = calloc((size_t)ranks, (size_t)n + 8);
        out = calloc((size_t)ranks, (size_t)n + 8);
        begin = PMPI_Wtime();
        for (k = 0; go && count + BLOCK <= MOST; k++) {
            for (ours = 0; ours < 2; ours++) {
                for (i = -2; i < BLOCK; i++) { /* the first two calls do not count */
                    double t;
                    PMPI_Barrier(MPI_COMM_WORLD);
                    t = PMPI_Wtime();
                    call(argv[2], n, ours);
                    if (i >= 0)
                        times[ours][count + i] = PMPI_Wtime() - t;
                }
            }
            if (k > 0) /* the first block does not count */
                count += BLOCK;
            go = count == 0 || PMPI_Wtime() - begin < seconds;
            PMPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
        for (ours = 0; ours < 2; ours++) {
            PMPI_Reduce(times[ours], longest, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            qsort(longest, (size_t)count, sizeof *longest, ascending);
            p10[ours] = longest[count / 10] * 1e6;
            median[ours] = longest[count / 2] * 1e6;
        }
        if (rank == 0) {
            printf("%-14s P=%-2d %8d B  MPI %9.2f %9.2f  schedgen %9.2f %9.2f  ratio %5.2f %5.2f  (%d)\n", argv[2], ranks, n, p10[0], median[0],
                   p10[1], median[1], p10[1] / p10[0], median[1] / median[0], count);
            fflush(stdout);
        }
        free(in);
        free(out);
    }
    MPI_Finalize();
    return 0;
}
