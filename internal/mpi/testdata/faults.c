/* Folds that an MPI gets wrong, and engine go does not; docs/mpi.md lists them. Prints each wrong one. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { LONG = 200 };
static int rank;

/* Folds a at rank 0 and b at the others, in a vector of LONG elements. */
#define FOLD(element, type, a, b, op, want) \
    do { \
        element x[LONG], y[LONG]; \
        int i; \
        for (i = 0; i < LONG; i++) \
            x[i] = (element)(rank ? (b) : (a)); \
        MPI_Allreduce(x, y, LONG, type, op, MPI_COMM_WORLD); \
        for (i = 0; i < LONG && y[i] == (element)(want); i++) \
            ; \
        if (i < LONG && rank == 0) \
            printf("wrong: %s %s\n", #type, #op); \
    } while (0)
#define UNSIGNED(element, type, big) \
    FOLD(element, type, big, 1, MPI_MIN, 1); \
    FOLD(element, type, big, 1, MPI_MAX, big); \
    FOLD(element, type, big, big, MPI_SUM, (big) + (big))
#define SIGNED(element, type, big) \
    FOLD(element, type, -1, 1, MPI_MIN, -1); \
    FOLD(element, type, -1, 1, MPI_MAX, 1); \
    FOLD(element, type, big, big, MPI_SUM, 2 * (big))

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    UNSIGNED(unsigned char, MPI_UNSIGNED_CHAR, 200);
    UNSIGNED(unsigned short, MPI_UNSIGNED_SHORT, 60000);
    UNSIGNED(unsigned, MPI_UNSIGNED, 4000000000u);
    UNSIGNED(unsigned long, MPI_UNSIGNED_LONG, 1ul << 63);
    UNSIGNED(unsigned long long, MPI_UNSIGNED_LONG_LONG, 1ull << 63);
    UNSIGNED(uint8_t, MPI_UINT8_T, 200);
    UNSIGNED(uint16_t, MPI_UINT16_T, 60000);
    UNSIGNED(uint32_t, MPI_UINT32_T, 4000000000u);
    UNSIGNED(uint64_t, MPI_UINT64_T, (uint64_t)1 << 63);
    SIGNED(signed char, MPI_SIGNED_CHAR, 100);
    SIGNED(int8_t, MPI_INT8_T, 100);
    SIGNED(short, MPI_SHORT, 30000);
    SIGNED(int16_t, MPI_INT16_T, 30000);
    SIGNED(int32_t, MPI_INT32_T, 1 << 20);
    SIGNED(int64_t, MPI_INT64_T, (int64_t)1 << 40);
    if (rank == 0)
        printf("all folds are done\n");
    MPI_Finalize();
    return 0;
}
