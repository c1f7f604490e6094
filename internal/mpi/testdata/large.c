/* Functions with counts of 64 bits. Few elements are enough, except for some of no bytes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int rank, ranks;

static void check(int ok, int line)
{
    if (!ok) {
        fprintf(stderr, "rank %d: line %d\n", rank, line);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define CHECK(condition) check(condition, __LINE__)

/* Functions with a count for each rank. Blocks may be further apart than an int counts. */
static void with_counts(MPI_Comm comm)
{
    MPI_Count counts[16];
    MPI_Aint places[16];
    MPI_Datatype bytes, types[16];
    MPI_Request q;
    int own_ints[16];
    char *far[16], own[16], *base;
    int i, k, in[64], out[64], x;
    const size_t apart = (size_t)3 << 30;
    for (k = 0; k < 10; k++) {
        int sum = 0;
        for (i = 0; i < ranks; i++) {
            counts[i] = i + k % 2;
            places[i] = sum + 2 * i;
            sum += (int)counts[i];
        }
        for (i = 0; i < 64; i++) {
            in[i] = 10 * rank + i;
            out[i] = -1;
        }
        MPI_Allgatherv_c(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, comm);
        for (i = 0; i < ranks; i++)
            for (x = 0; x < counts[i]; x++)
                CHECK(out[places[i] + x] == 10 * i + x);
        CHECK(out[places[ranks - 1] + counts[ranks - 1]] == -1);
        MPI_Reduce_scatter_c(in, out, counts, MPI_INT, MPI_SUM, comm);
        for (x = 0; x < counts[rank]; x++)
            CHECK(out[x] == 5 * ranks * (ranks - 1) + ranks * ((int)(places[rank] - 2 * rank) + x));
    }
    /* These are left to the MPI. */
    for (i = 0; i < ranks; i++) {
        counts[i] = 1;
        places[i] = i;
        in[i] = 10 * rank + i;
        out[i] = -1;
    }
    MPI_Gatherv_c(in, 1, MPI_INT, out, counts, places, MPI_INT, 0, comm);
    for (i = 0; i < ranks; i++)
        CHECK(rank || out[i] == 10 * i);
    MPI_Scatterv_c(in, counts, places, MPI_INT, &x, 1, MPI_INT, 0, comm);
    CHECK(x == rank);
    MPI_Alltoallv_c(in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm);
    for (i = 0; i < ranks; i++)
        CHECK(out[i] == 10 * i + rank);
    MPI_Ialltoallv_c(in, counts, places, MPI_INT, own_ints, counts, places, MPI_INT, comm, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    CHECK(!memcmp(own_ints, out, (size_t)ranks * sizeof *out));
    for (i = 0; i < ranks; i++) {
        types[i] = MPI_INT;
        places[i] *= (MPI_Aint)sizeof *in;
    }
    MPI_Alltoallw_c(in, counts, places, types, own_ints, counts, places, types, comm);
    CHECK(!memcmp(own_ints, out, (size_t)ranks * sizeof *out));
    base = mmap(NULL, apart * (size_t)ranks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(base != MAP_FAILED);
    MPI_Type_vector(2, 1, 2, MPI_CHAR, &bytes); /* 2 bytes in the place of 3 */
    MPI_Type_commit(&bytes);
    for (k = 0; k < 2; k++) {
        for (i = 0; i < ranks; i++) {
            const size_t step = rank == ranks - 1 ? 30 : apart; /* near at one rank, which does not know the others */
            counts[i] = 1;
            places[i] = (MPI_Aint)(step / 3 * (size_t)i);
            far[i] = base + places[i] * 3;
            memset(far[i], '.', 3);
        }
        memcpy(own, "a.z", 3);
        own[0] = (char)('a' + rank);
        if (k == 1)
            memcpy(far[rank], own, 3);
        MPI_Allgatherv_c(k == 1 ? MPI_IN_PLACE : own, 1, bytes, base, counts, places, bytes, comm);
        for (i = 0; i < ranks; i++)
            CHECK(far[i][0] == 'a' + i && far[i][1] == '.' && far[i][2] == 'z');
    }
    MPI_Type_free(&bytes);
    if (ranks > 1) { /* between two groups, one count for each rank of the other */
        MPI_Comm half, inter;
        const int others = rank % 2 ? (ranks + 1) / 2 : ranks / 2;
        MPI_Comm_split(comm, rank % 2, 0, &half);
        MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, 3, &inter);
        for (i = 0; i < others; i++) {
            counts[i] = 1;
            places[i] = i;
        }
        MPI_Allgatherv_c(&rank, 1, MPI_INT, out, counts, places, MPI_INT, inter);
        for (i = 0; i < others; i++)
            CHECK(out[i] == 2 * i + 1 - rank % 2);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    munmap(base, apart * (size_t)ranks);
}

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
    with_counts(comm);
    MPI_Type_free(&none);
    MPI_Finalize();
    return 0;
}
