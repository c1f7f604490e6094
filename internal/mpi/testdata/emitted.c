/* An emitted function and the MPI's own alternate; messages of schedgen.h go between them. */
#include <mpi.h>
#include <schedgen.h>
#include <stdio.h>

int of_schedule(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

static void check(int ok, int line)
{
    if (!ok) {
        fprintf(stderr, "line %d\n", line);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define CHECK(condition) check(condition, __LINE__)

int main(int argc, char **argv)
{
    enum { N = 1000 };
    static int in[N], out[N];
    double exact, part;
    int rank, ranks, origin, i, k;
    size_t size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(!schedgen_open(MPI_COMM_WORLD));
    for (i = 0; i < 20; i++) {
        for (k = 0; k < N; k++)
            in[k] = (rank + 1) * (k + i);
        CHECK(!of_schedule(in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        for (k = 0; k < N; k++)
            CHECK(out[k] == ranks * (ranks + 1) / 2 * (k + i));
        CHECK(!MPI_Allreduce(in, out, N, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        for (k = 0; k < N; k++)
            CHECK(out[k] == ranks * (k + i));
        if (rank == i % ranks)
            CHECK(!schedgen_publish(MPI_COMM_WORLD, &i, sizeof i));
        else {
            CHECK(!schedgen_next(MPI_COMM_WORLD, &k, sizeof k, &origin, &size));
            CHECK(k == i && origin == i % ranks && size == sizeof k);
        }
    }
    part = rank == 0 ? 1e100 : rank == 1 ? 1 : -1e100;
    CHECK(!MPI_Allreduce(&part, &exact, 1, MPI_DOUBLE, SCHEDGEN_EXACT_SUM, MPI_COMM_WORLD));
    CHECK(exact == 1);
    MPI_Finalize();
    if (rank == 0)
        puts("all sums are right");
    return 0;
}
