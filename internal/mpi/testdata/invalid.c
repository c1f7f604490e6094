/*
 * Calls every operation with arguments that are not valid, and prints the classes of the errors that
 * the ranks get, which are those of the MPI alone. After each call the communicator must still work.
 * The argument "begun" selects the nonblocking forms, and "rooted" adds an error of the root alone.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { BCAST, REDUCE, ALLREDUCE, REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, SCAN, EXSCAN, ALLGATHER, GATHER, SCATTER, ALLTOALL,
       ALLGATHERV, GATHERV, SCATTERV, ALLTOALLV, OPERATIONS };
static const char *const names[] = {"bcast", "reduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "scan", "exscan", "allgather",
                                    "gather", "scatter", "alltoall", "allgatherv", "gatherv", "scatterv", "alltoallv"};
static int folds(int operation) { return operation >= REDUCE && operation <= EXSCAN; }
static int has_root(int operation)
{
    return operation == BCAST || operation == REDUCE || operation == GATHER || operation == SCATTER || operation == GATHERV || operation == SCATTERV;
}

static int rank, ranks, begun;
static void *in, *out;
static int n, root, counts[16], starts[16];
static MPI_Datatype type;
static MPI_Op op;

static int call(int operation, MPI_Comm c, MPI_Request *q)
{
#define EITHER(blocking, started, ...) return begun ? MPI_##started(__VA_ARGS__, q) : MPI_##blocking(__VA_ARGS__)
    switch (operation) {
    case BCAST:
        EITHER(Bcast, Ibcast, out, n, type, root, c);
    case REDUCE:
        EITHER(Reduce, Ireduce, in, out, n, type, op, root, c);
    case ALLREDUCE:
        EITHER(Allreduce, Iallreduce, in, out, n, type, op, c);
    case REDUCE_SCATTER_BLOCK:
        EITHER(Reduce_scatter_block, Ireduce_scatter_block, in, out, n, type, op, c);
    case REDUCE_SCATTER:
        EITHER(Reduce_scatter, Ireduce_scatter, in, out, counts, type, op, c);
    case SCAN:
        EITHER(Scan, Iscan, in, out, n, type, op, c);
    case EXSCAN:
        EITHER(Exscan, Iexscan, in, out, n, type, op, c);
    case ALLGATHER:
        EITHER(Allgather, Iallgather, in, n, type, out, n, type, c);
    case GATHER:
        EITHER(Gather, Igather, in, n, type, out, n, type, root, c);
    case SCATTER:
        EITHER(Scatter, Iscatter, in, n, type, out, n, type, root, c);
    case ALLTOALL:
        EITHER(Alltoall, Ialltoall, in, n, type, out, n, type, c);
    case ALLGATHERV:
        EITHER(Allgatherv, Iallgatherv, in, n, type, out, counts, starts, type, c);
    case GATHERV:
        EITHER(Gatherv, Igatherv, in, n, type, out, counts, starts, type, root, c);
    case SCATTERV:
        EITHER(Scatterv, Iscatterv, in, counts, starts, type, out, n, type, root, c);
    default:
        EITHER(Alltoallv, Ialltoallv, in, counts, starts, type, out, counts, starts, type, c);
    }
}

/* The classes of the errors at all ranks. rank 0 prints them. */
static void expect(int operation, const char *what, MPI_Comm c)
{
    MPI_Request q;
    int err, class, all[16], i, sum = -1, one = 1;
    fflush(stdout);
    err = call(operation, c, &q);
    if (!err && begun)
        err = MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Error_class(err, &class);
    PMPI_Gather(&class, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c) || sum != ranks)
        printf("rank %d: the communicator does not work after %s: %s\n", rank, names[operation], what);
    if (rank > 0)
        return;
    printf("%s: %s:", names[operation], what);
    for (i = 0; i < ranks; i++)
        printf(" %d", all[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    static double memory[4][256];
    MPI_Datatype pair, committed;
    MPI_Comm comm;
    int operation, i, own, rooted = argc > 1 && !strcmp(argv[1], "rooted");
    begun = argc > 1 && !strcmp(argv[1], "begun");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPIs use that of MPI_COMM_WORLD for some errors */
    MPI_Barrier(comm);
    MPI_Type_contiguous(2, MPI_INT, &committed);
    MPI_Type_commit(&committed);
#define VALID() \
    do { \
        in = memory[0]; \
        out = memory[1]; \
        n = 1; \
        root = 0; \
        type = MPI_INT; \
        op = MPI_SUM; \
        for (i = 0; i < ranks; i++) \
            counts[i] = 1, starts[i] = i; \
    } while (0)
#define WITH(change, what) \
    do { \
        VALID(); \
        change; \
        expect(operation, what, comm); \
    } while (0)
    for (operation = 0; operation < OPERATIONS; operation++) {
        WITH(, "valid");
        if (operation != SCATTERV) { /* Open MPI 4.1.4 hangs */
            MPI_Type_contiguous(2, MPI_INT, &pair);
            WITH(type = pair, "a type that is not committed");
            MPI_Type_free(&pair);
        }
        WITH(type = MPI_DATATYPE_NULL, "no type");
        if (operation == BCAST) /* MPICH 4.0.2 crashes in others */
            WITH(n = -1, "a negative count");
        if (operation == ALLREDUCE)
            WITH(in = out = MPI_IN_PLACE, "both in place");
        own = operation == ALLGATHER || operation == ALLGATHERV ? rank : 0;
        if (has_root(operation))
            WITH(root = ranks, "no such root");
        else
            WITH(out = (int *)in - own, "one buffer as both");
        if (!folds(operation))
            continue;
        WITH(op = MPI_OP_NULL, "no operation");
        WITH(op = MPI_MINLOC, "minloc of int");
        WITH(op = MPI_BXOR; type = MPI_FLOAT, "bxor of float");
        WITH(type = MPI_DOUBLE_INT, "sum of double and int");
        WITH(type = committed, "sum of a derived type");
    }
    if (rooted) {
        operation = GATHER;
        WITH(out = rank == 0 ? MPI_IN_PLACE : out, "the root's result in place");
    }
    MPI_Type_free(&committed);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
