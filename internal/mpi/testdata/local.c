/*
 * Calls that do not wait for other ranks, by MPI's standard. Rank 0 makes them before it sends a message, and the
 * other ranks make theirs after they have received it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ENOUGH = 2, BEGUN = 30, KINDS = 11 };

static int rank, ranks;

static void fail(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Lets the other ranks go on. Rank 0 calls it after its own call, and the others before. */
static void after_rank_0(int calls)
{
    int x = 0, i;
    if ((rank == 0) != calls)
        return;
    for (i = 1; rank == 0 && i < ranks; i++)
        MPI_Send(&x, 1, MPI_INT, i, 0, MPI_COMM_WORLD);
    if (rank != 0)
        MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A duplicate that has had some operations. */
static MPI_Comm used(void)
{
    MPI_Comm comm;
    int i;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (i = 0; i < ENOUGH; i++)
        MPI_Barrier(comm);
    return comm;
}

static void look_at(MPI_Comm comm)
{
    MPI_Group group, world;
    int result, size, flag;
    void *value;
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    MPI_Comm_size(comm, &size);
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &flag);
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &flag);
    if (result != MPI_CONGRUENT || flag != MPI_IDENT || size != ranks)
        fail("a communicator");
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

/* Rank 0 frees a communicator, and two in another order than the other ranks. */
static void frees(void)
{
    MPI_Comm a = used(), b = used(), c = used();
    after_rank_0(0);
    look_at(a);
    MPI_Comm_free(&a);
    after_rank_0(1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(rank ? &b : &c);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(rank ? &c : &b);
}

/* Rank 0 begins many operations, tests them and frees their communicator. */
static void begins(void)
{
    enum { N = BEGUN * KINDS };
    static MPI_Request q[N];
    static int in[N][8], out[N][8];
    MPI_Comm comm = used();
    int i, k, flag;
    after_rank_0(0);
    for (i = k = 0; k < BEGUN; k++) {
        in[i + 2][0] = rank;
        out[i + 1][0] = rank == 0 ? 7 : 0;
        MPI_Ibarrier(comm, &q[i]), i++;
        MPI_Ibcast(out[i], 1, MPI_INT, 0, comm, &q[i]), i++;
        MPI_Iallreduce(in[i], out[i], 1, MPI_INT, MPI_SUM, comm, &q[i]), i++;
        MPI_Ireduce(in[i], out[i], 1, MPI_INT, MPI_SUM, 0, comm, &q[i]), i++;
        MPI_Iscan(in[i], out[i], 1, MPI_INT, MPI_SUM, comm, &q[i]), i++;
        MPI_Iexscan(in[i], out[i], 1, MPI_INT, MPI_SUM, comm, &q[i]), i++;
        MPI_Ireduce_scatter_block(in[i], out[i], 1, MPI_INT, MPI_SUM, comm, &q[i]), i++;
        MPI_Iallgather(in[i], 1, MPI_INT, out[i], 1, MPI_INT, comm, &q[i]), i++;
        MPI_Ialltoall(in[i], 1, MPI_INT, out[i], 1, MPI_INT, comm, &q[i]), i++;
        MPI_Igather(in[i], 1, MPI_INT, out[i], 1, MPI_INT, 0, comm, &q[i]), i++;
        MPI_Iscatter(in[i], 1, MPI_INT, out[i], 1, MPI_INT, 0, comm, &q[i]), i++;
    }
    MPI_Test(&q[0], &flag, MPI_STATUS_IGNORE);
    if (rank == 0 && flag)
        fail("a barrier has ended that other ranks have not begun");
    MPI_Testall(N, q, &flag, MPI_STATUSES_IGNORE);
    MPI_Request_get_status(q[0], &flag, MPI_STATUS_IGNORE);
    look_at(comm);
    MPI_Comm_free(&comm);
    after_rank_0(1);
    MPI_Waitall(N, q, MPI_STATUSES_IGNORE);
    for (i = 0; i < N; i += KINDS)
        if (out[i + 1][0] != 7 || out[i + 2][0] != ranks * (ranks - 1) / 2)
            fail("a result");
}

int main(int argc, char **argv)
{
    int i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    frees();
    begins();
    for (i = 0; i < 18; i++) { /* more than may be in engine go at a time, if none left it */
        MPI_Comm comm = used();
        MPI_Comm_free(&comm);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
