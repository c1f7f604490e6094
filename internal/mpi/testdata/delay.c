/*
 * The root of multicasts begins one, and does not tell the others before it has looked for its end
 * often ("held") or has seen it ("free"). With a delay that waits for another rank it cannot end
 * before. Without an argument, all ranks broadcast, and compare every byte.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

static void check(int ok, int line)
{
    if (!ok) {
        fprintf(stderr, "rank %d: line %d\n", rank, line);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define CHECK(condition) check(condition, __LINE__)

enum { BYTES = 400, LOOKS = 1000 };

static void fill(unsigned char *b, int i)
{
    int k;
    for (k = 0; k < BYTES; k++)
        b[k] = (unsigned char)(i * 31 + k);
}

/* Broadcasts once and compares the bytes. */
static void broadcast(int i, const char *when)
{
    static unsigned char want[BYTES], got[BYTES];
    const int root = i % ranks;
    MPI_Request q;
    int looks, ended = 0, token = i;
    fill(want, i);
    memset(got, 0, sizeof got);
    if (rank == root)
        memcpy(got, want, sizeof got);
    if (when && rank != root)
        MPI_Recv(&token, 1, MPI_INT, root, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibcast(got, BYTES, MPI_BYTE, root, MPI_COMM_WORLD, &q);
    if (when && rank == root) {
        for (looks = 0; !ended && (looks < LOOKS || !strcmp(when, "free")); looks++)
            MPI_Test(&q, &ended, MPI_STATUS_IGNORE);
        CHECK(ended == !strcmp(when, "free"));
        for (looks = 0; looks < ranks; looks++)
            if (looks != root)
                MPI_Send(&token, 1, MPI_INT, looks, i, MPI_COMM_WORLD);
    }
    if (!ended)
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    CHECK(!memcmp(got, want, sizeof got));
}

int main(int argc, char **argv)
{
    int i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (i = 0; i < 20; i++)
        broadcast(i, argc > 1 ? argv[1] : NULL);
    MPI_Finalize();
    return 0;
}
