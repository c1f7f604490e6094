/*
 * MPI_Alltoallw puts the same into memory as the MPI's own, for types with gaps, types that differ at
 * the two ends of a message, empty blocks and MPI_BOTTOM, and so does MPI_Ialltoallw. Operations among neighbors and between two
 * groups are the MPI's.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, LONG = 600 };

int main(int argc, char **argv)
{
    int counts[MOST], back[MOST], at[MOST], to[MOST], i, k, round, rank, ranks, *in, *out, *want, x, all[MOST];
    MPI_Datatype types[MOST], theirs[MOST], again[MOST], gaps, triple;
    MPI_Comm ring, half, inter;
    MPI_Request q;
    size_t bytes;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bytes = (size_t)ranks * 8 * LONG * sizeof(int);
    in = malloc(bytes);
    out = malloc(bytes);
    want = malloc(bytes);
    MPI_Type_vector(3, 1, 2, MPI_INT, &gaps); /* 3 numbers in the place of 5 */
    MPI_Type_contiguous(3, MPI_INT, &triple);
    MPI_Type_commit(&gaps);
    MPI_Type_commit(&triple);
    for (round = 0; round < 40; round++) {
        const int n = round % 4 == 3 ? LONG : round % 4;
        for (i = 0; i < ranks; i++) {
            const int pair = rank + i, kind = pair % 3; /* the same at both ends */
            counts[i] = back[i] = (pair + round) % 2 ? n : 0;
            types[i] = kind ? gaps : MPI_INT;
            theirs[i] = kind == 1 ? gaps : kind == 2 ? triple : MPI_INT;
            at[i] = (int)sizeof(int) * 8 * LONG * i;
            to[i] = (int)sizeof(int) * 8 * LONG * (ranks - 1 - i);
        }
        for (i = 0; i < ranks * 8 * LONG; i++) {
            in[i] = rank * 100000 + i + round;
            out[i] = want[i] = -1;
        }
        PMPI_Alltoallw(in, counts, at, types, want, back, to, theirs, MPI_COMM_WORLD);
        MPI_Alltoallw(in, counts, at, types, out, back, to, theirs, MPI_COMM_WORLD);
        if (memcmp(out, want, bytes)) {
            fprintf(stderr, "rank %d, round %d: has another result\n", rank, round);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        memset(out, -1, bytes);
        for (i = 0; i < ranks; i++)
            MPI_Type_dup(theirs[i], &again[i]);
        MPI_Ialltoallw(in, counts, at, types, out, back, to, again, MPI_COMM_WORLD, &q);
        for (i = 0; i < ranks; i++) { /* the operation still needs it */
            MPI_Datatype freed = again[i];
            MPI_Type_free(&freed);
        }
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        if (memcmp(out, want, bytes)) {
            fprintf(stderr, "rank %d, round %d: the nonblocking one has another result\n", rank, round);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (i = 0; i < ranks; i++) { /* absolute addresses */
        MPI_Aint address;
        int one = 1;
        MPI_Get_address(&in[i], &address);
        MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &types[i]);
        MPI_Type_commit(&types[i]);
        theirs[i] = MPI_INT;
        counts[i] = 1;
        at[i] = 0;
        to[i] = i * (int)sizeof(int);
        in[i] = rank * 10 + i;
    }
    MPI_Alltoallw(MPI_BOTTOM, counts, at, types, out, counts, to, theirs, MPI_COMM_WORLD);
    for (i = 0; i < ranks; i++)
        if (out[i] != i * 10 + rank)
            MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Bcast(MPI_BOTTOM, 1, types[0], ranks - 1, MPI_COMM_WORLD);
    if (in[0] != (ranks - 1) * 10)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (i = 0; i < ranks; i++)
        MPI_Type_free(&types[i]);
    MPI_Type_free(&gaps);
    MPI_Type_free(&triple);

    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, (int[]){1}, 0, &ring);
    for (k = 0; k < 3; k++)
        MPI_Neighbor_allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, ring);
    MPI_Ineighbor_alltoall(all, 1, MPI_INT, out, 1, MPI_INT, ring, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (all[0] != (rank + ranks - 1) % ranks || all[1] != (rank + 1) % ranks)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_free(&ring);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
    MPI_Allreduce(&rank, &x, 1, MPI_INT, MPI_SUM, inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    free(in);
    free(out);
    free(want);
    MPI_Finalize();
    return 0;
}
