/*
 * The differences between implementations of MPI, and the functions of the implementation in this
 * process.
 *
 * The library does not use mpi.h, so that one binary serves all of them. A handle in a register is
 * a number of 64 bits. In MPICH it is an int, in Open MPI and in the standard ABI a pointer. In
 * memory, as in an array of requests, it has `handle_size` bytes. Where the library itself calls
 * MPI, a pointer to a status is always the constant that ignores it; otherwise it is the program's.
 */
typedef uintptr_t handle;

struct constants {
    const char *library;  /* the beginning of its text of MPI_Get_library_version, or a part of it */
    const char *word;     /* for names of files */
    size_t handle_size;
    handle comm_world, comm_self, comm_null, type_null, op_null, type_byte, type_int, op_min, errors_return, request_null;
    const char *names[10]; /* of the variables whose addresses are these handles, in this order, or NULL */
    void *in_place, *status_ignore;
    int any_source, combiner_named;
    int err_count, err_other, err_no_mem, err_op, err_arg, err_truncate;
};

/* Error classes that have the same numbers everywhere. */
enum { ERR_BUFFER = 1, ERR_TYPE = 3, ERR_COMM = 5 };

/* The constants of MPICH, which several MPIs share. */
#define MPICH_CONSTANTS \
    sizeof(int), 0x44000000, 0x44000001, 0x04000000, 0x0c000000, 0x18000000, 0x4c00010d, 0x4c000405, 0x58000002, 0x54000001, 0x2c000000, \
    {NULL}, (void *)-1, (void *)1, -2, 1, 2, 15, 34, 9, 12, 14

static const struct constants known[] = {
    {"Open MPI", "openmpi", sizeof(void *), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
     {"ompi_mpi_comm_world", "ompi_mpi_comm_self", "ompi_mpi_comm_null", "ompi_mpi_datatype_null", "ompi_mpi_op_null",
      "ompi_mpi_byte", "ompi_mpi_int", "ompi_mpi_op_min", "ompi_mpi_errors_return", "ompi_request_null"},
     (void *)1, NULL, -1, 0, 2, 16, 39, 10, 13, 15},
    {"MPICH", "mpich", MPICH_CONSTANTS},
    {"Intel(R) MPI", "intelmpi", MPICH_CONSTANTS},
    {"MVAPICH", "mvapich", MPICH_CONSTANTS},
};

/*
 * The standard ABI of MPI 5, for any implementation. It is recognized by the name of its library.
 */
static const struct constants standard = {
    "", "abi", sizeof(void *), 0x101, 0x102, 0x100, 0x200, 0x20, 0x247, 0x209, 0x22, 0x143, 0x180,
    {NULL}, (void *)1, NULL, -1, 101, 2, 16, 39, 10, 13, 15,
};

static struct constants mpi;

/* Functions of MPI, by their names without PMPI_. */
#define FUNCTIONS(F) \
    F(Abort, (handle, int)) \
    F(Allgather, (const void *, int, handle, void *, int, handle, handle)) \
    F(Allreduce, (const void *, void *, int, handle, handle, handle)) \
    F(Allgatherv, (const void *, int, handle, void *, const int *, const int *, handle, handle)) \
    F(Alltoall, (const void *, int, handle, void *, int, handle, handle)) \
    F(Alltoallv, (const void *, const int *, const int *, handle, void *, const int *, const int *, handle, handle)) \
    F(Barrier, (handle)) \
    F(Bcast, (void *, int, handle, int, handle)) \
    F(Cancel, (void *)) \
    F(Comm_call_errhandler, (handle, int)) \
    F(Comm_create_keyval, (void *, void *, int *, void *)) \
    F(Comm_delete_attr, (handle, int)) \
    F(Comm_free, (void *)) \
    F(Comm_get_attr, (handle, int, void *, int *)) \
    F(Comm_get_errhandler, (handle, void *)) \
    F(Comm_rank, (handle, int *)) \
    F(Comm_set_attr, (handle, int, void *)) \
    F(Comm_set_errhandler, (handle, handle)) \
    F(Comm_size, (handle, int *)) \
    F(Comm_split, (handle, int, int, void *)) \
    F(Comm_test_inter, (handle, int *)) \
    F(Errhandler_free, (void *)) \
    F(Finalized, (int *)) \
    F(Exscan, (const void *, void *, int, handle, handle, handle)) \
    F(Gather, (const void *, int, handle, void *, int, handle, int, handle)) \
    F(Gatherv, (const void *, int, handle, void *, const int *, const int *, handle, int, handle)) \
    F(Grequest_complete, (handle)) \
    F(Grequest_start, (void *, void *, void *, void *, void *)) \
    F(Ibarrier, (handle, void *)) \
    F(Initialized, (int *)) \
    F(Iprobe, (int, int, handle, int *, void *)) \
    F(Irecv, (void *, int, handle, int, int, handle, void *)) \
    F(Isend, (const void *, int, handle, int, int, handle, void *)) \
    F(Op_commutative, (handle, int *)) \
    F(Op_create, (void *, int, void *)) \
    F(Pack, (const void *, int, handle, void *, int, int *, handle)) \
    F(Query_thread, (int *)) \
    F(Recv, (void *, int, handle, int, int, handle, void *)) \
    F(Recv_init, (void *, int, handle, int, int, handle, void *)) \
    F(Reduce, (const void *, void *, int, handle, handle, int, handle)) \
    F(Reduce_local, (const void *, void *, int, handle, handle)) \
    F(Reduce_scatter_block, (const void *, void *, int, handle, handle, handle)) \
    F(Scan, (const void *, void *, int, handle, handle, handle)) \
    F(Scatter, (const void *, int, handle, void *, int, handle, int, handle)) \
    F(Request_free, (void *)) \
    F(Scatterv, (const void *, const int *, const int *, handle, void *, int, handle, int, handle)) \
    F(Send, (const void *, int, handle, int, int, handle)) \
    F(Sendrecv, (const void *, int, handle, int, int, void *, int, handle, int, int, handle, void *)) \
    F(Start, (void *)) \
    F(Status_set_cancelled, (void *, int)) \
    F(Status_set_elements, (void *, handle, int)) \
    F(Test, (void *, int *, void *)) \
    F(Testany, (int, void *, int *, int *, void *)) \
    F(Testsome, (int, void *, int *, int *, void *)) \
    F(Type_commit, (void *)) \
    F(Type_contiguous, (int, handle, void *)) \
    F(Type_create_hindexed, (int, const int *, const intptr_t *, handle, void *)) \
    F(Type_free, (void *)) \
    F(Type_get_envelope, (handle, int *, int *, int *, int *)) \
    F(Type_get_extent, (handle, intptr_t *, intptr_t *)) \
    F(Type_get_true_extent, (handle, intptr_t *, intptr_t *)) \
    F(Type_size, (handle, int *)) \
    F(Unpack, (const void *, int, int *, void *, int, handle, handle)) \
    F(Wait, (void *, void *)) \
    F(Waitany, (int, void *, int *, void *))

#define DECLARE(name, arguments) static int (*P_##name) arguments;
FUNCTIONS(DECLARE)
#undef DECLARE

/* MPI's library, if the loader keeps it out of the global scope, as Python does. */
static void *mpi_library;

static int is_mpi(struct dl_phdr_info *info, size_t size, void *found)
{
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    if (strncmp(name, "libmpi.so", 9) && strncmp(name, "libmpich.so", 11) && strncmp(name, "libmpi_abi.so", 13) && strncmp(name, "libmpi-", 7))
        return 0;
    *(const char **)found = info->dlpi_name;
    return 1;
}

static const char *mpi_path(void)
{
    const char *path = NULL;
    dl_iterate_phdr(is_mpi, &path);
    return path;
}

/* The next function of that name after this library, such as a profiler's or MPI's. */
static void *symbol(const char *name)
{
    void *p = dlsym(RTLD_NEXT, name);
    const char *path;
    if (!p && !mpi_library && (path = mpi_path()))
        mpi_library = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    if (!p && mpi_library)
        p = dlsym(mpi_library, name);
    return p;
}

/* A variable of MPI. The program may have a copy of it, which RTLD_NEXT would skip. */
static void *variable(const char *name)
{
    void *p = dlsym(RTLD_DEFAULT, name);
    return p ? p : symbol(name);
}

/* A handle in a register. If handles are ints, the upper half has no meaning. */
static handle whole(handle h) { return mpi.handle_size == sizeof(int) ? (handle)(unsigned)h : h; }

/* A handle in memory. */
static handle read_handle(const void *at)
{
    return mpi.handle_size == sizeof(int) ? (handle)*(const unsigned *)at : *(const handle *)at;
}

/* Finds MPI's functions and constants. Returns the name of a missing one, or NULL. */
static const char *resolve(void)
{
    static char version[8192]; /* at least MPI_MAX_LIBRARY_VERSION_STRING of all of them */
    int (*get_version)(char *, int *) = (int (*)(char *, int *))symbol("PMPI_Get_library_version");
    const char *path;
    size_t i;
    int n;
    if (!get_version || get_version(version, &n))
        return "PMPI_Get_library_version";
    if ((path = mpi_path()) && strstr(path, "libmpi_abi")) {
        mpi = standard;
    } else {
        for (i = 0; i < sizeof known / sizeof *known && !strstr(version, known[i].library); i++)
            ;
        if (i == sizeof known / sizeof *known)
            return "a table of constants for this MPI";
        mpi = known[i];
    }
    if (mpi.names[0]) {
        handle *handles[] = {&mpi.comm_world, &mpi.comm_self, &mpi.comm_null, &mpi.type_null, &mpi.op_null,
                             &mpi.type_byte, &mpi.type_int, &mpi.op_min, &mpi.errors_return, &mpi.request_null};
        for (i = 0; i < sizeof handles / sizeof *handles; i++)
            if (!(*handles[i] = (handle)variable(mpi.names[i])))
                return mpi.names[i];
    }
#define FIND(name, arguments) \
    if (!(P_##name = (int(*) arguments)symbol("PMPI_" #name))) \
        return "PMPI_" #name;
    FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

/* The MPI is older than a function. */
static int lacks(const char *name)
{
    fprintf(stderr, "schedgen: this MPI has no %s\n", name);
    return mpi.err_other;
}

/* Leaves a call to the next function of its name, which may be MPI's or a profiler's. */
#define PASS(name, arguments, values) \
    do { \
        static int (*next) arguments; \
        if (!next) \
            next = (int(*) arguments)symbol("MPI_" #name); \
        return next ? next values : lacks("MPI_" #name); \
    } while (0)
