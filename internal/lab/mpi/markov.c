/*
 * Squares the matrix of a Markov chain until its rows agree: the chain's stationary distribution. Each
 * rank has some of the rows. In each squaring, the ranks broadcast their rows in turn, and each rank
 * multiplies its own rows by them, as in SUMMA. A short allreduce says how far the rows differ.
 *
 *   markov [states [blocks of rows of each rank]]
 *
 * It prints the distribution's checksum, which does not depend on the MPI, and the seconds.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, n, parts;

static double *zeros(size_t count)
{
    double *all = calloc(count ? count : 1, sizeof *all);
    if (!all) {
        fprintf(stderr, "markov: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return all;
}

/* The first row of part p of rank r; the rows of the ranks follow each other. */
static int first(int r, int p) { return (int)((long long)n * (r * parts + p) / (ranks * parts)); }

/* A random number in [0, 1) that depends on i and j alone. */
static double random_of(uint64_t i, uint64_t j)
{
    uint64_t x = (i << 32 | j) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* Row i: the chain mostly stays, or goes to a neighbor, and rarely jumps. */
static void make_row(int i, double *row)
{
    double sum = 0;
    int j;
    for (j = 0; j < n; j++)
        sum += row[j] = 1e-4 * random_of((uint64_t)i, (uint64_t)j) / n;
    row[(i + 1) % n] += (1 - sum) * random_of((uint64_t)i, (uint64_t)n);
    for (sum = 0, j = 0; j < n; j++)
        sum += row[j];
    row[i] += 1 - sum;
}

/* Adds the product of columns [from, to) of a and the rows b to c. */
static void multiply(int rows, const double *a, int from, int to, const double *b, double *c)
{
    int i, j, k;
    for (i = 0; i < rows; i++)
        for (k = from; k < to; k++) {
            const double x = a[(size_t)i * n + k], *y = b + (size_t)(k - from) * n;
            double *z = c + (size_t)i * n;
            for (j = 0; j < n; j++)
                z[j] += x * y[j];
        }
}

/* The greatest difference of an element from that of row 0, and the greatest element. */
static void spread(int rows, const double *a, const double *top, double *out)
{
    size_t i;
    out[0] = out[1] = 0;
    for (i = 0; i < (size_t)rows * n; i++) {
        const double d = a[i] > top[i % n] ? a[i] - top[i % n] : top[i % n] - a[i];
        out[0] = d > out[0] ? d : out[0];
        out[1] = a[i] > out[1] ? a[i] : out[1];
    }
}

int main(int argc, char **argv)
{
    double *own, *next, *block, *swap, *top, most[2], began, moving = 0;
    int r, p, i, rows, squarings = 0;
    uint64_t sum = 0, word;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    n = argc > 1 ? atoi(argv[1]) : 1000;
    parts = argc > 2 ? atoi(argv[2]) : 1;
    if (n < 2 || n > 1 << 15 || parts < 1 || parts > n) {
        fprintf(stderr, "markov: 2 to 32768 states, and at least 1 block\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    rows = first(rank + 1, 0) - first(rank, 0);
    own = zeros((size_t)rows * n);
    next = zeros((size_t)rows * n);
    block = zeros((size_t)(n / (ranks * parts) + 1) * n);
    top = zeros((size_t)n);
    for (i = 0; i < rows; i++)
        make_row(first(rank, 0) + i, own + (size_t)i * n);
    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    do {
        memset(next, 0, (size_t)rows * n * sizeof *next);
        for (r = 0; r < ranks; r++)
            for (p = 0; p < parts; p++) {
                const int from = first(r, p), to = first(r, p + 1);
                double start;
                if (r == rank)
                    memcpy(block, own + (size_t)(from - first(rank, 0)) * n, (size_t)(to - from) * n * sizeof *block);
                start = MPI_Wtime();
                MPI_Bcast(block, (to - from) * n, MPI_DOUBLE, r, MPI_COMM_WORLD);
                moving += MPI_Wtime() - start;
                multiply(rows, own, from, to, block, next);
            }
        swap = own, own = next, next = swap;
        if (rank == 0)
            memcpy(top, own, (size_t)n * sizeof *top);
        MPI_Bcast(top, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        spread(rows, own, top, most);
        MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        squarings++;
    } while (most[0] > 1e-6 * most[1] && squarings < 64);
    began = MPI_Wtime() - began;
    if (rank == 0) {
        for (i = 0; i < n; i++) {
            memcpy(&word, top + i, sizeof word);
            sum = (sum << 7 | sum >> 57) ^ word;
        }
        printf("%d squarings, checksum %016llx, %.2f s, of which %.2f s in MPI_Bcast at rank 0\n", squarings, (unsigned long long)sum, began, moving);
    }
    free(own), free(next), free(block), free(top);
    MPI_Finalize();
    return 0;
}
