/*
 * Persistent collective operations have, at every start, the result of the blocking ones. Open MPI
 * 4.1 does not declare them: there the program is linked with the library.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION < 4
int MPI_Barrier_init(MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Bcast_init(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Reduce_init(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Allreduce_init(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Scan_init(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Exscan_init(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Reduce_scatter_block_init(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Reduce_scatter_init(const void *, void *, const int *, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Allgather_init(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Alltoall_init(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Gather_init(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Scatter_init(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Allgatherv_init(const void *, int, MPI_Datatype, void *, const int *, const int *, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Gatherv_init(const void *, int, MPI_Datatype, void *, const int *, const int *, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Scatterv_init(const void *, const int *, const int *, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Alltoallv_init(const void *, const int *, const int *, MPI_Datatype, void *, const int *, const int *, MPI_Datatype, MPI_Comm, MPI_Info,
                       MPI_Request *);
#endif

enum { KINDS = 16, TIMES = 20, LONG = 3000, MOST = 16 };
static const char *const names[KINDS] = {"barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "reduce-scatter-block", "reduce-scatter",
                                         "allgather", "alltoall", "gather", "scatter", "allgatherv", "gatherv", "scatterv", "alltoallv"};
static int rank, ranks;

static void fail(const char *what, const char *name, int time)
{
    fprintf(stderr, "rank %d: %s: %s, start %d\n", rank, what, name, time);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Buffers for one operation, and what the blocking one makes of the same. */
struct buffers {
    int *in, *out, *want;
};

static int counts[MOST], starts[MOST], pair_counts[MOST], pair_starts[MOST];

/* Calls the blocking operation, or prepares the persistent one if there is a request. */
static int operate(int kind, MPI_Comm comm, int n, const struct buffers *b, int *out, int root, MPI_Request *q)
{
    const MPI_Info none = MPI_INFO_NULL;
    const MPI_Datatype t = MPI_INT;
    const MPI_Op sum = MPI_SUM;
    switch (kind) {
    case 0: return q ? MPI_Barrier_init(comm, none, q) : MPI_Barrier(comm);
    case 1: return q ? MPI_Bcast_init(out, n, t, root, comm, none, q) : MPI_Bcast(out, n, t, root, comm);
    case 2: return q ? MPI_Reduce_init(b->in, out, n, t, sum, root, comm, none, q) : MPI_Reduce(b->in, out, n, t, sum, root, comm);
    case 3: return q ? MPI_Allreduce_init(b->in, out, n, t, sum, comm, none, q) : MPI_Allreduce(b->in, out, n, t, sum, comm);
    case 4: return q ? MPI_Scan_init(b->in, out, n, t, sum, comm, none, q) : MPI_Scan(b->in, out, n, t, sum, comm);
    case 5: return q ? MPI_Exscan_init(b->in, out, n, t, sum, comm, none, q) : MPI_Exscan(b->in, out, n, t, sum, comm);
    case 6: return q ? MPI_Reduce_scatter_block_init(b->in, out, n, t, sum, comm, none, q) : MPI_Reduce_scatter_block(b->in, out, n, t, sum, comm);
    case 7: return q ? MPI_Reduce_scatter_init(b->in, out, counts, t, sum, comm, none, q) : MPI_Reduce_scatter(b->in, out, counts, t, sum, comm);
    case 8: return q ? MPI_Allgather_init(b->in, n, t, out, n, t, comm, none, q) : MPI_Allgather(b->in, n, t, out, n, t, comm);
    case 9: return q ? MPI_Alltoall_init(b->in, n, t, out, n, t, comm, none, q) : MPI_Alltoall(b->in, n, t, out, n, t, comm);
    case 10: return q ? MPI_Gather_init(b->in, n, t, out, n, t, root, comm, none, q) : MPI_Gather(b->in, n, t, out, n, t, root, comm);
    case 11: return q ? MPI_Scatter_init(b->in, n, t, out, n, t, root, comm, none, q) : MPI_Scatter(b->in, n, t, out, n, t, root, comm);
    case 12:
        return q ? MPI_Allgatherv_init(b->in, counts[rank], t, out, counts, starts, t, comm, none, q)
                 : MPI_Allgatherv(b->in, counts[rank], t, out, counts, starts, t, comm);
    case 13:
        return q ? MPI_Gatherv_init(b->in, counts[rank], t, out, counts, starts, t, root, comm, none, q)
                 : MPI_Gatherv(b->in, counts[rank], t, out, counts, starts, t, root, comm);
    case 14:
        return q ? MPI_Scatterv_init(b->in, counts, starts, t, out, counts[rank], t, root, comm, none, q)
                 : MPI_Scatterv(b->in, counts, starts, t, out, counts[rank], t, root, comm);
    default:
        return q ? MPI_Alltoallv_init(b->in, pair_counts, pair_starts, t, out, pair_counts, pair_starts, t, comm, none, q)
                 : MPI_Alltoallv(b->in, pair_counts, pair_starts, t, out, pair_counts, pair_starts, t, comm);
    }
}

/* Whether this rank gets a result. */
static int gets(int kind, int root) { return (kind != 2 && kind != 10 && kind != 13) || rank == root; }

static void fill(struct buffers *b, size_t all, int kind, int time, int root)
{
    size_t i;
    for (i = 0; i < all; i++) {
        b->in[i] = (int)i * 31 + rank * 1000 + time * 7 + kind;
        b->out[i] = b->want[i] = kind == 1 && rank == root ? b->in[i] : -1;
    }
}

int main(int argc, char **argv)
{
    struct buffers b[KINDS];
    MPI_Request q[KINDS], sends[2];
    MPI_Comm comm;
    MPI_Datatype pair;
    int i, k, n, time, index, flag, done, indices[KINDS], root, x[4], y = 0;
    size_t all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm); /* it joins engine go */
    for (n = 2; n <= LONG; n = n == 2 ? LONG : LONG + 1) {
        root = (n + 1) % ranks;
        for (i = all = 0; i < ranks; i++) {
            counts[i] = n - i % 2;
            starts[i] = (int)all;
            all += (size_t)counts[i];
            pair_counts[i] = n - (i + rank) % 2;
            pair_starts[i] = i ? pair_starts[i - 1] + pair_counts[i - 1] : 0;
        }
        all = (size_t)n * (size_t)ranks;
        for (k = 0; k < KINDS; k++) {
            b[k].in = malloc(all * sizeof(int));
            b[k].out = malloc(all * sizeof(int));
            b[k].want = malloc(all * sizeof(int));
            if (operate(k, comm, n, &b[k], b[k].out, root, &q[k]))
                fail("prepared", names[k], 0);
        }
        for (time = 0; time < TIMES; time++) {
            for (k = 0; k < KINDS; k++) {
                fill(&b[k], all, k, time, root);
                operate(k, comm, n, &b[k], b[k].want, root, NULL);
            }
            if (time % 2) {
                MPI_Startall(KINDS, q);
            } else {
                for (k = 0; k < KINDS; k++)
                    MPI_Start(&q[k]);
            }
            switch (time % 5) { /* every way to wait */
            case 0:
                MPI_Waitall(KINDS, q, MPI_STATUSES_IGNORE);
                break;
            case 1:
                for (k = 0; k < KINDS; k++)
                    MPI_Wait(&q[k], MPI_STATUS_IGNORE);
                break;
            case 2:
                for (k = 0; k < KINDS; k++)
                    MPI_Waitany(KINDS, q, &index, MPI_STATUS_IGNORE);
                break;
            case 3:
                do
                    MPI_Testall(KINDS, q, &flag, MPI_STATUSES_IGNORE);
                while (!flag);
                break;
            default:
                for (k = 0; k < KINDS; k += done)
                    MPI_Waitsome(KINDS, q, &done, indices, MPI_STATUSES_IGNORE);
            }
            for (k = 0; k < KINDS; k++)
                if (gets(k, root) && memcmp(b[k].out, b[k].want, all * sizeof(int)))
                    fail("has another result", names[k], time);
            MPI_Waitall(KINDS, q, MPI_STATUSES_IGNORE); /* of inactive requests */
        }
        MPI_Start(&q[3]);
        MPI_Request_free(&q[3]); /* it ends first */
        for (k = 0; k < KINDS; k++) {
            if (k != 3)
                MPI_Request_free(&q[k]);
            if (q[k] != MPI_REQUEST_NULL)
                fail("freed", names[k], 0);
        }
        MPI_Barrier(comm);
        for (k = 0; k < KINDS; k++) {
            free(b[k].in);
            free(b[k].out);
            free(b[k].want);
        }
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (argc > 1 && !strcmp(argv[1], "differ")) { /* ranks that differ hear of it when they prepare */
        if (!MPI_Bcast_init(x, rank ? 1 : 2, MPI_INT, 0, comm, MPI_INFO_NULL, &q[0]))
            fail("was prepared", "a broadcast of two lengths", 0);
        MPI_Finalize();
        return 0;
    }
    if (argc > 1) { /* what the MPI performs, if it can: elements with gaps at one rank, and a rank's invalid argument */
        MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        x[0] = x[2] = rank ? -1 : 5;
        MPI_Bcast_init(x, rank == 1 ? 1 : 2, rank == 1 ? pair : MPI_INT, 0, comm, MPI_INFO_NULL, &q[0]);
        if (!rank)
            x[1] = 5;
        MPI_Start(&q[0]);
        MPI_Wait(&q[0], MPI_STATUS_IGNORE);
        if (x[0] != 5 || x[rank == 1 ? 2 : 1] != 5)
            fail("has another result", "a type with gaps", 0);
        MPI_Request_free(&q[0]);
        MPI_Type_free(&pair);
    }
    /* Persistent requests of the MPI are its own, also among others. */
    MPI_Send_init(&rank, 1, MPI_INT, (rank + 1) % ranks, 3, comm, &sends[0]);
    MPI_Recv_init(&y, 1, MPI_INT, (rank + ranks - 1) % ranks, 3, comm, &sends[1]);
    MPI_Allreduce_init(&rank, x, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &q[0]);
    for (i = 0; i < 3; i++) {
        q[1] = sends[0];
        q[2] = sends[1];
        MPI_Startall(3, q);
        MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
        if (y != (rank + ranks - 1) % ranks || x[0] != ranks * (ranks - 1) / 2)
            fail("has another result", "mixed requests", i);
    }
    MPI_Request_free(&q[1]);
    MPI_Request_free(&q[2]);
    MPI_Comm_free(&comm);
    MPI_Request_free(&q[0]);
    MPI_Finalize();
    return 0;
}
