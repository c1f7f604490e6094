/* Functions with counts of 64 bits. Few elements are enough, except for some of no bytes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks;

static void check(int ok, int line)
{
    if (!ok) {
        fprintf(stderr, "rank %d: line %d\n", rank, line);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define CHECK(condition) check(condition, __LINE__)

int main(int argc, char **argv)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    const MPI_Datatype t = MPI_INT;
    const MPI_Count many = (MPI_Count)1 << 31;
    MPI_Datatype none;
    MPI_Request q;
    int i, k, all, x, in[16], out[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    all = ranks * (ranks - 1) / 2;
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_commit(&none);
    for (i = 0; i < 40; i++) {
        const int root = i % ranks, is_root = rank == root;
        x = is_root ? i : -1;
        MPI_Bcast_c(&x, 1, t, root, comm);
        CHECK(x == i);
        MPI_Bcast_c(&x, rank % 2 ? many : 7, none, root, comm);
        x = is_root ? i : -1;
        MPI_Ibcast_c(&x, 1, t, root, comm, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        CHECK(x == i);
        MPI_Allreduce_c(&rank, &x, 1, t, MPI_SUM, comm);
        CHECK(x == all);
        MPI_Reduce_c(&rank, &x, 1, t, MPI_SUM, root, comm);
        CHECK(x == all);
        MPI_Iallreduce_c(&rank, &x, 1, t, MPI_SUM, comm, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        CHECK(x == all);
        MPI_Ireduce_c(&rank, &x, 1, t, MPI_SUM, root, comm, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        CHECK(x == all);
        MPI_Scan_c(&rank, &x, 1, t, MPI_SUM, comm);
        CHECK(x == rank * (rank + 1) / 2);
        MPI_Exscan_c(&rank, &x, 1, t, MPI_SUM, comm);
        CHECK(!rank || x == rank * (rank - 1) / 2);
        for (k = 0; k < ranks; k++)
            in[k] = rank;
        MPI_Reduce_scatter_block_c(in, &x, 1, t, MPI_SUM, comm);
        CHECK(x == all);
        MPI_Allgather_c(&rank, 1, t, out, 1, t, comm);
        for (k = 0; k < ranks; k++)
            CHECK(out[k] == k);
        MPI_Alltoall_c(in, 1, t, out, 1, t, comm);
        for (k = 0; k < ranks; k++)
            CHECK(out[k] == k);
        MPI_Gather_c(&rank, 1, t, out, is_root ? 1 : many, t, root, comm); /* the second count matters at the root alone */
        MPI_Scatter_c(out, is_root ? 1 : many, t, &x, 1, t, root, comm);
        CHECK(x == rank);
        MPI_Igather_c(&rank, 1, t, out, is_root ? 1 : many, t, root, comm, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        MPI_Iscatter_c(out, is_root ? 1 : many, t, &x, 1, t, root, comm, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        CHECK(x == rank);
    }
    MPI_Type_free(&none);
    MPI_Finalize();
    return 0;
}
