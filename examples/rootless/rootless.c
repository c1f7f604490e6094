/*
 * The ranks search, each in its own numbers. The rank that finds something tells the others, which
 * do not expect it: each looks for messages between two steps. Any rank asks how far all are, and
 * all add up what they have seen, exactly.
 *
 *     schedgen mpi --header DIR
 *     mpicc -IDIR -o rootless rootless.c -LDIR -lschedgen -Wl,-rpath,DIR
 *     mpirun -n 4 ./rootless
 */
#include <schedgen.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int err)
{
    if (err)
        MPI_Abort(MPI_COMM_WORLD, err); /* schedgen has said why */
}

static int steps; /* of this rank; also read by schedgen's thread */

static void how_far(int origin, const void *question, size_t bytes, void *values, void *with)
{
    (void)origin, (void)question, (void)bytes, (void)with;
    *(int *)values = __atomic_load_n(&steps, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
    int rank, ranks, origin, there = 0, found = -1, all;
    double seen = 0, sum, ordered;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(schedgen_open(MPI_COMM_WORLD));
    check(schedgen_answer(MPI_COMM_WORLD, 1, MPI_INT, MPI_SUM, how_far, NULL, NULL));
    while (found < 0) {
        int number = steps * ranks + rank;
        seen += number / 10.0;
        __atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
        if (number == 4321) {
            check(schedgen_publish(MPI_COMM_WORLD, &number, sizeof number));
            check(schedgen_ask(MPI_COMM_WORLD, NULL, 0, &all));
            printf("rank %d has found %d\n", rank, number);
            if (all < steps)
                MPI_Abort(MPI_COMM_WORLD, 1);
            found = number;
        } else {
            check(schedgen_try_next(MPI_COMM_WORLD, &number, sizeof number, &origin, NULL, &there));
            if (there)
                found = number;
        }
    }
    check(MPI_Allreduce(&seen, &sum, 1, MPI_DOUBLE, SCHEDGEN_EXACT_SUM, MPI_COMM_WORLD));
    check(schedgen_reproducible_allreduce(&seen, &ordered, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    if (rank == 0)
        printf("all know of %d; the sums are %s\n", found, sum - ordered < 1e-3 && ordered - sum < 1e-3 ? "close" : "apart");
    MPI_Finalize();
    return 0;
}
