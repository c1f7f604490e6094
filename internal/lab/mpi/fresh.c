/*
 * Measures operations on new communicators: MPI_Comm_dup, a number of barriers, and MPI_Comm_free, with barriers of
 * the library and of the MPI in turn. Start it with the library:
 *
 *     mpicc -O2 -o fresh internal/lab/mpi/fresh.c
 *     schedgen mpi -- mpirun -n 4 ./fresh SECONDS BARRIERS...
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 20, MOST = 20000 };

static double times[2][MOST], longest[MOST];

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double once(int barriers, int ours)
{
    MPI_Comm comm;
    double begin;
    PMPI_Barrier(MPI_COMM_WORLD);
    begin = PMPI_Wtime();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    while (barriers-- > 0)
        if (ours)
            MPI_Barrier(comm);
        else
            PMPI_Barrier(comm);
    MPI_Comm_free(&comm);
    return PMPI_Wtime() - begin;
}

int main(int argc, char **argv)
{
    double p10[2], median[2];
    int rank, ranks, arg, i, ours;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (arg = 2; arg < argc; arg++) {
        double begin = PMPI_Wtime();
        int n = atoi(argv[arg]), count = 0, go = 1;
        do {
            for (ours = 0; ours < 2; ours++)
                for (i = 0; i < BLOCK; i++)
                    times[ours][count + i] = once(n, ours);
            count += BLOCK;
            go = PMPI_Wtime() - begin < atof(argv[1]) && count + BLOCK <= MOST;
            PMPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        } while (go);
        for (ours = 0; ours < 2; ours++) {
            PMPI_Reduce(times[ours], longest, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            qsort(longest, (size_t)count, sizeof *longest, ascending);
            p10[ours] = longest[count / 10] * 1e6;
            median[ours] = longest[count / 2] * 1e6;
        }
        if (rank == 0)
            printf("dup, %d barriers, free  P=%-2d  MPI %9.2f %9.2f  schedgen %9.2f %9.2f  ratio %5.2f %5.2f  (%d)\n", n, ranks, p10[0],
                   median[0], p10[1], median[1], p10[1] / p10[0], median[1] / median[0], count);
    }
    return MPI_Finalize();
}
