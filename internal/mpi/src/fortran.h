/*
 * The functions that programs in Fortran call, under the names that compilers use. MPICH's
 * functions call the functions in C and so reach this library. Open MPI's functions call PMPI_
 * functions, so the library implements them: it converts handles to handles of C and knows the
 * addresses of MPI_IN_PLACE and MPI_BOTTOM. In module mpi_f08 a handle is a structure of one
 * integer, which has the same address.
 */

/*
 * In module mpi_f08 the last argument may be missing; err is then NULL. Functions of mpif.h write to
 * it, so every function here begins with this.
 */
#define NEED_ERR(err) \
    int ignored; \
    if (!(err)) \
        (err) = &ignored
static handle (*f2c_comm)(int), (*f2c_type)(int), (*f2c_op)(int), (*f2c_request)(int), (*f2c_info)(int);
static int (*c2f_request)(handle);
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

/* Reports whether handles are converted here, that is, whether the MPI is Open MPI. */
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
        f2c_request = (handle(*)(int))symbol("PMPI_Request_f2c");
        c2f_request = (int (*)(handle))symbol("PMPI_Request_c2f");
        f2c_info = (handle(*)(int))symbol("PMPI_Info_f2c");
        f2c_comm = (handle(*)(int))symbol("PMPI_Comm_f2c");
        __atomic_store_n(&known_now, 1, __ATOMIC_RELEASE);
    }
    return f2c_comm && f2c_type && f2c_op && f2c_info && f2c_request && c2f_request;
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

/* The next function in Fortran, under whichever name the compiler uses. */
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
        NEED_ERR(err); \
        if (converts()) { \
            *err = call; \
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

/* Open MPI's function calls PMPI_Finalize, and the profile must be informed before. */
static void fortran_finalize(int *err)
{
    static void (*next)(int *);
    NEED_ERR(err);
    if (profile_file && converts()) {
        *err = MPI_Finalize();
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

/* A function that begins an operation. */
static int fortran_begun(int err, handle request, int *q)
{
    if (!err)
        *q = c2f_request(request);
    return err;
}
#define BEGUN(call) ({ handle begun = 0; int begun_error = call; fortran_begun(begun_error, read_handle(&begun), q); })

FORTRAN(ibarrier, IBARRIER, (int *comm, int *q, int *err), (comm, q, err), BEGUN(MPI_Ibarrier(COMM, &begun)))
FORTRAN(ibcast, IBCAST, (void *b, int *n, int *t, int *root, int *comm, int *q, int *err), (b, n, t, root, comm, q, err),
        BEGUN(MPI_Ibcast(address(b), *n, TYPE(t), *root, COMM, &begun)))
FORTRAN(ireduce, IREDUCE, (void *in, void *out, int *n, int *t, int *op, int *root, int *comm, int *q, int *err),
        (in, out, n, t, op, root, comm, q, err), BEGUN(MPI_Ireduce(address(in), address(out), *n, TYPE(t), OP, *root, COMM, &begun)))
FORTRAN(iallreduce, IALLREDUCE, (void *in, void *out, int *n, int *t, int *op, int *comm, int *q, int *err), (in, out, n, t, op, comm, q, err),
        BEGUN(MPI_Iallreduce(address(in), address(out), *n, TYPE(t), OP, COMM, &begun)))
FORTRAN(iscan, ISCAN, (void *in, void *out, int *n, int *t, int *op, int *comm, int *q, int *err), (in, out, n, t, op, comm, q, err),
        BEGUN(MPI_Iscan(address(in), address(out), *n, TYPE(t), OP, COMM, &begun)))
FORTRAN(iexscan, IEXSCAN, (void *in, void *out, int *n, int *t, int *op, int *comm, int *q, int *err), (in, out, n, t, op, comm, q, err),
        BEGUN(MPI_Iexscan(address(in), address(out), *n, TYPE(t), OP, COMM, &begun)))
FORTRAN(ireduce_scatter_block, IREDUCE_SCATTER_BLOCK, (void *in, void *out, int *n, int *t, int *op, int *comm, int *q, int *err),
        (in, out, n, t, op, comm, q, err), BEGUN(MPI_Ireduce_scatter_block(address(in), address(out), *n, TYPE(t), OP, COMM, &begun)))
FORTRAN(ireduce_scatter, IREDUCE_SCATTER, (void *in, void *out, int *n, int *t, int *op, int *comm, int *q, int *err),
        (in, out, n, t, op, comm, q, err), BEGUN(MPI_Ireduce_scatter(address(in), address(out), n, TYPE(t), OP, COMM, &begun)))
FORTRAN(iallgather, IALLGATHER, (void *in, int *n, int *t, void *out, int *m, int *s, int *comm, int *q, int *err),
        (in, n, t, out, m, s, comm, q, err), BEGUN(MPI_Iallgather(address(in), *n, TYPE(t), address(out), *m, TYPE(s), COMM, &begun)))
FORTRAN(ialltoall, IALLTOALL, (void *in, int *n, int *t, void *out, int *m, int *s, int *comm, int *q, int *err),
        (in, n, t, out, m, s, comm, q, err), BEGUN(MPI_Ialltoall(address(in), *n, TYPE(t), address(out), *m, TYPE(s), COMM, &begun)))
FORTRAN(igather, IGATHER, (void *in, int *n, int *t, void *out, int *m, int *s, int *root, int *comm, int *q, int *err),
        (in, n, t, out, m, s, root, comm, q, err), BEGUN(MPI_Igather(address(in), *n, TYPE(t), address(out), *m, TYPE(s), *root, COMM, &begun)))
FORTRAN(iscatter, ISCATTER, (void *in, int *n, int *t, void *out, int *m, int *s, int *root, int *comm, int *q, int *err),
        (in, n, t, out, m, s, root, comm, q, err), BEGUN(MPI_Iscatter(address(in), *n, TYPE(t), address(out), *m, TYPE(s), *root, COMM, &begun)))
FORTRAN(iallgatherv, IALLGATHERV, (void *in, int *n, int *t, void *out, int *m, int *d, int *s, int *comm, int *q, int *err),
        (in, n, t, out, m, d, s, comm, q, err), BEGUN(MPI_Iallgatherv(address(in), *n, TYPE(t), address(out), m, d, TYPE(s), COMM, &begun)))
FORTRAN(igatherv, IGATHERV, (void *in, int *n, int *t, void *out, int *m, int *d, int *s, int *root, int *comm, int *q, int *err),
        (in, n, t, out, m, d, s, root, comm, q, err), BEGUN(MPI_Igatherv(address(in), *n, TYPE(t), address(out), m, d, TYPE(s), *root, COMM, &begun)))
FORTRAN(iscatterv, ISCATTERV, (void *in, int *n, int *d, int *t, void *out, int *m, int *s, int *root, int *comm, int *q, int *err),
        (in, n, d, t, out, m, s, root, comm, q, err), BEGUN(MPI_Iscatterv(address(in), n, d, TYPE(t), address(out), *m, TYPE(s), *root, COMM, &begun)))
FORTRAN(ialltoallv, IALLTOALLV, (void *in, int *n, int *d, int *t, void *out, int *m, int *e, int *s, int *comm, int *q, int *err),
        (in, n, d, t, out, m, e, s, comm, q, err), BEGUN(MPI_Ialltoallv(address(in), n, d, TYPE(t), address(out), m, e, TYPE(s), COMM, &begun)))

/*
 * Functions that prepare persistent operations. Open MPI 4 has none, so a program that calls one is
 * linked with this library.
 */
#define INFO f2c_info(*info)
#define PREPARES(lower, UPPER, arguments, values, call) \
    FORTRAN(lower##_init, UPPER##_INIT, (UNPACKED arguments, int *info, int *q, int *err), (UNPACKED values, info, q, err), BEGUN(call))
PREPARES(barrier, BARRIER, (int *comm), (comm), MPI_Barrier_init(COMM, INFO, &begun))
PREPARES(bcast, BCAST, (void *b, int *n, int *t, int *root, int *comm), (b, n, t, root, comm), MPI_Bcast_init(address(b), *n, TYPE(t), *root, COMM, INFO, &begun))
PREPARES(reduce, REDUCE, (void *in, void *out, int *n, int *t, int *op, int *root, int *comm), (in, out, n, t, op, root, comm), MPI_Reduce_init(address(in), address(out), *n, TYPE(t), OP, *root, COMM, INFO, &begun))
PREPARES(allreduce, ALLREDUCE, (void *in, void *out, int *n, int *t, int *op, int *comm), (in, out, n, t, op, comm), MPI_Allreduce_init(address(in), address(out), *n, TYPE(t), OP, COMM, INFO, &begun))
PREPARES(scan, SCAN, (void *in, void *out, int *n, int *t, int *op, int *comm), (in, out, n, t, op, comm), MPI_Scan_init(address(in), address(out), *n, TYPE(t), OP, COMM, INFO, &begun))
PREPARES(exscan, EXSCAN, (void *in, void *out, int *n, int *t, int *op, int *comm), (in, out, n, t, op, comm), MPI_Exscan_init(address(in), address(out), *n, TYPE(t), OP, COMM, INFO, &begun))
PREPARES(reduce_scatter_block, REDUCE_SCATTER_BLOCK, (void *in, void *out, int *n, int *t, int *op, int *comm), (in, out, n, t, op, comm), MPI_Reduce_scatter_block_init(address(in), address(out), *n, TYPE(t), OP, COMM, INFO, &begun))
PREPARES(reduce_scatter, REDUCE_SCATTER, (void *in, void *out, int *n, int *t, int *op, int *comm), (in, out, n, t, op, comm), MPI_Reduce_scatter_init(address(in), address(out), n, TYPE(t), OP, COMM, INFO, &begun))
PREPARES(allgather, ALLGATHER, (void *in, int *n, int *t, void *out, int *m, int *s, int *comm), (in, n, t, out, m, s, comm), MPI_Allgather_init(address(in), *n, TYPE(t), address(out), *m, TYPE(s), COMM, INFO, &begun))
PREPARES(alltoall, ALLTOALL, (void *in, int *n, int *t, void *out, int *m, int *s, int *comm), (in, n, t, out, m, s, comm), MPI_Alltoall_init(address(in), *n, TYPE(t), address(out), *m, TYPE(s), COMM, INFO, &begun))
PREPARES(gather, GATHER, (void *in, int *n, int *t, void *out, int *m, int *s, int *root, int *comm), (in, n, t, out, m, s, root, comm), MPI_Gather_init(address(in), *n, TYPE(t), address(out), *m, TYPE(s), *root, COMM, INFO, &begun))
PREPARES(scatter, SCATTER, (void *in, int *n, int *t, void *out, int *m, int *s, int *root, int *comm), (in, n, t, out, m, s, root, comm), MPI_Scatter_init(address(in), *n, TYPE(t), address(out), *m, TYPE(s), *root, COMM, INFO, &begun))
PREPARES(allgatherv, ALLGATHERV, (void *in, int *n, int *t, void *out, int *m, int *d, int *s, int *comm), (in, n, t, out, m, d, s, comm), MPI_Allgatherv_init(address(in), *n, TYPE(t), address(out), m, d, TYPE(s), COMM, INFO, &begun))
PREPARES(gatherv, GATHERV, (void *in, int *n, int *t, void *out, int *m, int *d, int *s, int *root, int *comm), (in, n, t, out, m, d, s, root, comm), MPI_Gatherv_init(address(in), *n, TYPE(t), address(out), m, d, TYPE(s), *root, COMM, INFO, &begun))
PREPARES(scatterv, SCATTERV, (void *in, int *n, int *d, int *t, void *out, int *m, int *s, int *root, int *comm), (in, n, d, t, out, m, s, root, comm), MPI_Scatterv_init(address(in), n, d, TYPE(t), address(out), *m, TYPE(s), *root, COMM, INFO, &begun))
PREPARES(alltoallv, ALLTOALLV, (void *in, int *n, int *d, int *t, void *out, int *m, int *e, int *s, int *comm), (in, n, d, t, out, m, e, s, comm), MPI_Alltoallv_init(address(in), n, d, TYPE(t), address(out), m, e, TYPE(s), COMM, INFO, &begun))

/*
 * Functions that wait or test. All functions of Open MPI, and the functions of module mpi_f08 of
 * MPICH, call PMPI_ functions. The work before the call is done for the handles in Fortran. The
 * functions of mpi_f08 have their own names and statuses, and so their own next functions.
 */
static void *next_wait(int modern, const char *lower, const char *upper)
{
    char name[64];
    void *p = NULL;
    snprintf(name, sizeof name, "mpi_%s_f08_", lower);
    if (modern)
        p = symbol(name);
    return p ? p : next_fortran(lower, upper);
}

/* Calls a function with requests converted to C. */
static int with_requests(int (*what)(int, const void *), int n, const int *q)
{
    handle few[64], *all = few;
    int i, result;
    if (n <= 0)
        return 0;
    if (mpi.handle_size == sizeof(int))
        return what(n, q);
    if (!converts() || (n > 64 && !(all = malloc((size_t)n * sizeof *all))))
        return 0;
    for (i = 0; i < n; i++)
        all[i] = f2c_request(q[i]);
    result = what(n, all);
    if (all != few)
        free(all);
    return result;
}

static int wait_before(int n, const void *requests)
{
    wait_for_mine(n, requests);
    return 0;
}

#define WAIT_FORM(modern, prefix, lower, UPPER, arguments, values, before) \
    static void prefix##lower arguments \
    { \
        static void(*next) arguments; \
        NEED_ERR(err); \
        if (IS_MINE) \
            before; \
        if (!next) \
            next = (void(*) arguments)next_wait(modern, #lower, #UPPER); \
        next values; \
    }
#define WAIT_NAMES(lower, UPPER, arguments) \
    ALIAS(mpi_##lower, fortran_##lower, arguments) \
    ALIAS(mpi_##lower##_, fortran_##lower, arguments) \
    ALIAS(mpi_##lower##__, fortran_##lower, arguments) \
    ALIAS(mpi_##lower##_f08_, modern_##lower, arguments) \
    ALIAS(MPI_##UPPER, fortran_##lower, arguments)
#define FORTRAN_WAIT(lower, UPPER, arguments, values, before) \
    WAIT_FORM(0, fortran_, lower, UPPER, arguments, values, before) \
    WAIT_FORM(1, modern_, lower, UPPER, arguments, values, before) \
    WAIT_NAMES(lower, UPPER, arguments)

/*
 * Waits for one of several requests by testing them until one is complete. done is the condition.
 */
#define WAIT_SOME_FORM(modern, prefix, lower, UPPER, test, TEST, arguments, values, test_arguments, test_values, done) \
    static void prefix##lower arguments \
    { \
        static void(*next) arguments; \
        static void(*next_test) test_arguments; \
        int rounds, flag = 0; \
        NEED_ERR(err); \
        if (!next_test) \
            next_test = (void(*) test_arguments)next_wait(modern, #test, #TEST); \
        for (rounds = 0; IS_MINE && with_requests(test_mine, *n, q); rounds++) { \
            next_test test_values; \
            if (*err || (done)) \
                return; \
            pause_after(rounds); \
        } \
        (void)flag; \
        if (!next) \
            next = (void(*) arguments)next_wait(modern, #lower, #UPPER); \
        next values; \
    }
#define FORTRAN_WAIT_SOME(lower, UPPER, test, TEST, arguments, values, test_arguments, test_values, done) \
    WAIT_SOME_FORM(0, fortran_, lower, UPPER, test, TEST, arguments, values, test_arguments, test_values, done) \
    WAIT_SOME_FORM(1, modern_, lower, UPPER, test, TEST, arguments, values, test_arguments, test_values, done) \
    WAIT_NAMES(lower, UPPER, arguments)

FORTRAN_WAIT(wait, WAIT, (int *q, void *status, int *err), (q, status, err), with_requests(wait_before, 1, q))
FORTRAN_WAIT(waitall, WAITALL, (int *n, int *q, void *statuses, int *err), (n, q, statuses, err), with_requests(wait_before, *n, q))
FORTRAN_WAIT(test, TEST, (int *q, int *flag, void *status, int *err), (q, flag, status, err), with_requests(test_mine, 1, q))
FORTRAN_WAIT(testall, TESTALL, (int *n, int *q, int *flag, void *statuses, int *err), (n, q, flag, statuses, err), with_requests(test_mine, *n, q))
FORTRAN_WAIT(testany, TESTANY, (int *n, int *q, int *index, int *flag, void *status, int *err), (n, q, index, flag, status, err),
             with_requests(test_mine, *n, q))
FORTRAN_WAIT(testsome, TESTSOME, (int *n, int *q, int *done, int *indices, void *statuses, int *err), (n, q, done, indices, statuses, err),
             with_requests(test_mine, *n, q))
FORTRAN_WAIT(request_get_status, REQUEST_GET_STATUS, (int *q, int *flag, void *status, int *err), (q, flag, status, err),
             with_requests(test_mine, 1, q))
FORTRAN_WAIT_SOME(waitany, WAITANY, testany, TESTANY, (int *n, int *q, int *index, void *status, int *err), (n, q, index, status, err),
                  (int *, int *, int *, int *, void *, int *), (n, q, index, &flag, status, err), flag)
FORTRAN_WAIT_SOME(waitsome, WAITSOME, testsome, TESTSOME, (int *n, int *q, int *done, int *indices, void *statuses, int *err),
                  (n, q, done, indices, statuses, err), (int *, int *, int *, int *, void *, int *), (n, q, done, indices, statuses, err), *done)

/* Open MPI's functions call PMPI_Init. */
#define BEGIN_FORM(modern, prefix, lower, UPPER, arguments, values) \
    static void prefix##lower arguments \
    { \
        static void(*next) arguments; \
        NEED_ERR(err); \
        if (!next) \
            next = (void(*) arguments)next_wait(modern, #lower, #UPPER); \
        next values; \
        if (!*err) \
            arrive(); \
    }
#define FORTRAN_BEGIN(lower, UPPER, arguments, values) \
    BEGIN_FORM(0, fortran_, lower, UPPER, arguments, values) \
    BEGIN_FORM(1, modern_, lower, UPPER, arguments, values) \
    WAIT_NAMES(lower, UPPER, arguments)
FORTRAN_BEGIN(init, INIT, (int *err), (err))
FORTRAN_BEGIN(init_thread, INIT_THREAD, (int *required, int *provided, int *err), (required, provided, err))

/*
 * Functions that start or free persistent requests. Those of Open MPI, and those of module mpi_f08 of
 * MPICH, call PMPI_ functions.
 */
static int any_persistent(int n, const int *q)
{
    int i;
    if (!__atomic_load_n(&persistent, __ATOMIC_RELAXED))
        return 0;
    for (i = 0; i < n; i++)
        if (find_persistent(mpi.handle_size == sizeof(int) ? (handle)(unsigned)q[i] : converts() ? f2c_request(q[i]) : 0))
            return 1;
    return 0;
}

/* Calls a function for each of some requests. */
static int with_each(int (*what)(void *), int n, int *q)
{
    int i, err = 0;
    for (i = 0; !err && i < n; i++) {
        handle h;
        if (mpi.handle_size == sizeof(int)) {
            err = what(q + i);
        } else {
            h = f2c_request(q[i]);
            err = what(&h);
            q[i] = c2f_request(h);
        }
    }
    return err;
}

#define START_FORM(modern, prefix, lower, UPPER, arguments, values, n, call) \
    static void prefix##lower arguments \
    { \
        static void(*next) arguments; \
        NEED_ERR(err); \
        if (any_persistent(n, q)) { \
            *err = call; \
            return; \
        } \
        if (!next) \
            next = (void(*) arguments)next_wait(modern, #lower, #UPPER); \
        next values; \
    }
#define FORTRAN_START(lower, UPPER, arguments, values, n, call) \
    START_FORM(0, fortran_, lower, UPPER, arguments, values, n, call) \
    START_FORM(1, modern_, lower, UPPER, arguments, values, n, call) \
    WAIT_NAMES(lower, UPPER, arguments)
FORTRAN_START(start, START, (int *q, int *err), (q, err), 1, with_each(MPI_Start, 1, q))
FORTRAN_START(startall, STARTALL, (int *n, int *q, int *err), (n, q, err), *n, with_each(MPI_Start, *n, q))
FORTRAN_START(request_free, REQUEST_FREE, (int *q, int *err), (q, err), 1, with_each(MPI_Request_free, 1, q))
