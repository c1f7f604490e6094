/* Makes known numbers of calls, for a profile to count. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    double x[1024] = {0}, y[1024], *all;
    int rank, ranks, i;
    MPI_Request q;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    all = malloc((size_t)ranks * sizeof x);
    for (i = 0; i < 10; i++)
        MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < 3; i++)
        MPI_Bcast(x, 1024, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allgather(x, 4, MPI_DOUBLE, all, 4, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 4, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Iallreduce(x, y, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (rank == 0 && argc > 1)
        MPI_Barrier(MPI_COMM_SELF); /* one rank alone */
    MPI_Barrier(MPI_COMM_WORLD);
    free(all);
    return MPI_Finalize();
}
