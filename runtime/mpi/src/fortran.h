/*
 * The functions that programs in Fortran call, by the names that compilers make. Those of MPICH call the
 * functions in C, and find those of this library. Those of Open MPI call PMPI_ functions, so they are done
 * here: they turn handles into those of C and know the addresses that stand for MPI_IN_PLACE and MPI_BOTTOM.
 * In module mpi_f08 of Open MPI a handle is a structure of one integer, which has the same address, and
 * the last argument may be missing.
 */
static handle (*f2c_comm)(int), (*f2c_type)(int), (*f2c_op)(int);
static const void *f_in_place[5], *f_bottom[5];

static void find_names(const void **found, const char *lower, const char *upper)
{
    static const char *const tails[] = {"", "_", "__"};
    char name[64];
    int i;
    for (i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", lower, tails[i]);
        found[i] = variable(name);
    }
    found[3] = variable(upper);
    found[4] = NULL;
}

/* Whether handles are converted here: the MPI is Open MPI. */
static int converts(void)
{
    static volatile int known_now;
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
        start();
    if (!resolved || !mpi.names[0])
        return 0;
    if (!__atomic_load_n(&known_now, __ATOMIC_ACQUIRE)) {
        find_names(f_in_place, "mpi_fortran_in_place", "MPI_FORTRAN_IN_PLACE");
        find_names(f_bottom, "mpi_fortran_bottom", "MPI_FORTRAN_BOTTOM");
        f2c_type = (handle(*)(int))symbol("PMPI_Type_f2c");
        f2c_op = (handle(*)(int))symbol("PMPI_Op_f2c");
        f2c_comm = (handle(*)(int))symbol("PMPI_Comm_f2c");
        __atomic_store_n(&known_now, 1, __ATOMIC_RELEASE);
    }
    return f2c_comm && f2c_type && f2c_op;
}

static void *address(void *p)
{
    int i;
    for (i = 0; p && i < 4; i++) {
        if (p == f_in_place[i])
            return mpi.in_place;
        if (p == f_bottom[i])
            return NULL;
    }
    return p;
}

/* The next function in Fortran, whatever the compiler calls it. */
static void *next_fortran(const char *lower, const char *upper)
{
    static const char *const tails[] = {"_", "__", "", "_f08_"};
    char name[64];
    void *p;
    int i;
    for (i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "mpi_%s%s", lower, tails[i]);
        if ((p = dlsym(RTLD_NEXT, name)))
            return p;
    }
    snprintf(name, sizeof name, "MPI_%s", upper);
    return symbol(name);
}

#define ALIAS(name, target, arguments) __attribute__((visibility("default"), alias(#target))) void name arguments;

/* A function in Fortran: its arguments in Fortran, their names, and the call in C. */
#define FORTRAN(lower, UPPER, arguments, values, call) \
    static void fortran_##lower arguments \
    { \
        static void(*next) arguments; \
        int error; \
        if (converts()) { \
            error = call; \
            if (err) \
                *err = error; \
            return; \
        } \
        if (!next) \
            next = (void(*) arguments)next_fortran(#lower, #UPPER); \
        next values; \
    } \
    ALIAS(mpi_##lower, fortran_##lower, arguments) \
    ALIAS(mpi_##lower##_, fortran_##lower, arguments) \
    ALIAS(mpi_##lower##__, fortran_##lower, arguments) \
    ALIAS(mpi_##lower##_f08_, fortran_##lower, arguments) \
    ALIAS(MPI_##UPPER, fortran_##lower, arguments)

/* Open MPI's calls PMPI_Finalize, and a profile is to be told before that. */
static void fortran_finalize(int *err)
{
    static void (*next)(int *);
    int error;
    if (profile_file && converts()) {
        error = MPI_Finalize();
        if (err)
            *err = error;
        return;
    }
    if (!next)
        next = (void (*)(int *))next_fortran("finalize", "FINALIZE");
    next(err);
}
ALIAS(mpi_finalize, fortran_finalize, (int *))
ALIAS(mpi_finalize_, fortran_finalize, (int *))
ALIAS(mpi_finalize__, fortran_finalize, (int *))
ALIAS(mpi_finalize_f08_, fortran_finalize, (int *))
ALIAS(MPI_FINALIZE, fortran_finalize, (int *))

#define COMM f2c_comm(*comm)
#define TYPE(t) f2c_type(*t)
#define OP f2c_op(*op)

FORTRAN(barrier, BARRIER, (int *comm, int *err), (comm, err), MPI_Barrier(COMM))
FORTRAN(bcast, BCAST, (void *b, int *n, int *t, int *root, int *comm, int *err), (b, n, t, root, comm, err),
        MPI_Bcast(address(b), *n, TYPE(t), *root, COMM))
FORTRAN(reduce, REDUCE, (void *in, void *out, int *n, int *t, int *op, int *root, int *comm, int *err), (in, out, n, t, op, root, comm, err),
        MPI_Reduce(address(in), address(out), *n, TYPE(t), OP, *root, COMM))
FORTRAN(allreduce, ALLREDUCE, (void *in, void *out, int *n, int *t, int *op, int *comm, int *err), (in, out, n, t, op, comm, err),
        MPI_Allreduce(address(in), address(out), *n, TYPE(t), OP, COMM))
FORTRAN(scan, SCAN, (void *in, void *out, int *n, int *t, int *op, int *comm, int *err), (in, out, n, t, op, comm, err),
        MPI_Scan(address(in), address(out), *n, TYPE(t), OP, COMM))
FORTRAN(exscan, EXSCAN, (void *in, void *out, int *n, int *t, int *op, int *comm, int *err), (in, out, n, t, op, comm, err),
        MPI_Exscan(address(in), address(out), *n, TYPE(t), OP, COMM))
FORTRAN(reduce_scatter_block, REDUCE_SCATTER_BLOCK, (void *in, void *out, int *n, int *t, int *op, int *comm, int *err),
        (in, out, n, t, op, comm, err), MPI_Reduce_scatter_block(address(in), address(out), *n, TYPE(t), OP, COMM))
FORTRAN(reduce_scatter, REDUCE_SCATTER, (void *in, void *out, int *n, int *t, int *op, int *comm, int *err), (in, out, n, t, op, comm, err),
        MPI_Reduce_scatter(address(in), address(out), n, TYPE(t), OP, COMM))
FORTRAN(allgather, ALLGATHER, (void *in, int *n, int *t, void *out, int *m, int *s, int *comm, int *err), (in, n, t, out, m, s, comm, err),
        MPI_Allgather(address(in), *n, TYPE(t), address(out), *m, TYPE(s), COMM))
FORTRAN(alltoall, ALLTOALL, (void *in, int *n, int *t, void *out, int *m, int *s, int *comm, int *err), (in, n, t, out, m, s, comm, err),
        MPI_Alltoall(address(in), *n, TYPE(t), address(out), *m, TYPE(s), COMM))
FORTRAN(gather, GATHER, (void *in, int *n, int *t, void *out, int *m, int *s, int *root, int *comm, int *err),
        (in, n, t, out, m, s, root, comm, err), MPI_Gather(address(in), *n, TYPE(t), address(out), *m, TYPE(s), *root, COMM))
FORTRAN(scatter, SCATTER, (void *in, int *n, int *t, void *out, int *m, int *s, int *root, int *comm, int *err),
        (in, n, t, out, m, s, root, comm, err), MPI_Scatter(address(in), *n, TYPE(t), address(out), *m, TYPE(s), *root, COMM))
FORTRAN(allgatherv, ALLGATHERV, (void *in, int *n, int *t, void *out, int *m, int *d, int *s, int *comm, int *err),
        (in, n, t, out, m, d, s, comm, err), MPI_Allgatherv(address(in), *n, TYPE(t), address(out), m, d, TYPE(s), COMM))
FORTRAN(gatherv, GATHERV, (void *in, int *n, int *t, void *out, int *m, int *d, int *s, int *root, int *comm, int *err),
        (in, n, t, out, m, d, s, root, comm, err), MPI_Gatherv(address(in), *n, TYPE(t), address(out), m, d, TYPE(s), *root, COMM))
FORTRAN(scatterv, SCATTERV, (void *in, int *n, int *d, int *t, void *out, int *m, int *s, int *root, int *comm, int *err),
        (in, n, d, t, out, m, s, root, comm, err), MPI_Scatterv(address(in), n, d, TYPE(t), address(out), *m, TYPE(s), *root, COMM))
FORTRAN(alltoallv, ALLTOALLV, (void *in, int *n, int *d, int *t, void *out, int *m, int *e, int *s, int *comm, int *err),
        (in, n, d, t, out, m, e, s, comm, err), MPI_Alltoallv(address(in), n, d, TYPE(t), address(out), m, e, TYPE(s), COMM))
