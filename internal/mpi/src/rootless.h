/*
 * The functions of schedgen.h. schedgen_open makes the ranks of a communicator of the program join
 * the engine go once more, whichever engine performs collective operations, because messages and
 * questions need no call of the other ranks. Several functions run on threads of the engine, where
 * MPI must not be called.
 */
struct opened {
    handle comm, inner; /* of the program, and one of the library, for progress */
    int go;             /* number in the engine go */
    struct opened *next;
};

static struct opened *all_opened; /* list, guarded by go_lock */
static int open_key, knows_open;  /* the attribute by which MPI tells that a communicator is freed, and whether it is there */
static int ever_open;             /* a communicator has been opened */
static int rootless_over;         /* MPI_Finalize has begun */

/* This thread is in a function of the program that answers or learns, on a thread of the engine. */
static __thread int answering;

/* This thread is one of the program, and waits in the engine. */
static __thread int waits;

/* Calls a function of the engine that may wait. */
#define WAIT_IN_GO(result, call) \
    do { \
        waits = !answering; \
        GO(result, call); \
        waits = 0; \
    } while (0)

/*
 * Lets MPI make progress. There is never a message on that communicator; MPICH makes no progress if
 * it finds one, or on MPI_COMM_SELF.
 */
static void probe(handle inner)
{
    int found;
    P_Iprobe(mpi.any_source, 0, inner, &found, mpi.status_ignore);
}

/* The engine calls this while it waits, also on its own threads. */
static void progress_if_waiting(void *with)
{
    const struct opened *o = with;
    if (waits)
        probe(o->inner);
}

/* Results of the engine. goengine/rootless.go has the same numbers. */
enum { ROOTLESS_FAILED = -1, ROOTLESS_LONG = -2, ROOTLESS_NOTHING = 1, ROOTLESS_TRUNCATE = 2 };

static int class_of(int result)
{
    return result == ROOTLESS_LONG ? mpi.err_count : result == ROOTLESS_TRUNCATE ? mpi.err_truncate : result < 0 ? mpi.err_other : 0;
}

/* Reports whether a function may be called now: 0, or an error class after it has said why not. */
static int usable(const char *name)
{
    const char *missing = resolve_once();
    int begun = 0, over = 0;
    if (missing)
        return refused(name, 16, "there is no %s", missing); /* MPI_ERR_OTHER of most MPIs */
    if (forked)
        return refused(name, mpi.err_other, "a process that a rank has forked has no engine");
    if (P_Initialized(&begun) || !begun)
        return refused(name, mpi.err_other, "it is called before MPI_Init");
    if (rootless_over || P_Finalized(&over) || over)
        return refused(name, mpi.err_other, "it is called after MPI_Finalize");
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
        start();
    know_mpi();
    return 0;
}

/* Finds an open communicator. Returns an error class, after it has said why. */
static int find_open(const char *name, handle comm, struct opened *found)
{
    struct opened *o;
    int err;
    if ((err = usable(name)))
        return err;
    comm = whole(comm);
    pthread_mutex_lock(&go_lock);
    for (o = all_opened; o && o->comm != comm; o = o->next)
        ;
    if (o)
        *found = *o;
    pthread_mutex_unlock(&go_lock);
    return o ? 0 : refused(name, ERR_COMM, "the communicator is not open: all its ranks call schedgen_open first");
}

/* Takes one out of the list, or reports that it is not there. */
static int take_out(struct opened *o)
{
    struct opened **p;
    int there;
    pthread_mutex_lock(&go_lock);
    for (p = &all_opened; *p && *p != o; p = &(*p)->next)
        ;
    if ((there = *p != NULL))
        *p = o->next;
    pthread_mutex_unlock(&go_lock);
    return there;
}

/* MPI frees a communicator. That does not wait for other ranks. */
static int delete_open(handle comm, int k, void *value, void *extra)
{
    struct opened *o = value;
    int ok;
    (void)comm, (void)k, (void)extra;
    if (take_out(o)) {
        GO(ok, go_leave(o->go, answering));
        P_Comm_free(&o->inner);
        free(o);
    }
    (void)ok;
    return 0;
}

/* Leaves all open communicators, and waits until the ranks of all have left. */
static void leave_rootless(void)
{
    struct opened *o, *first;
    int waiting;
    pthread_mutex_lock(&go_lock);
    first = all_opened;
    all_opened = NULL;
    rootless_over = 1;
    pthread_mutex_unlock(&go_lock);
    if (!ever_open)
        return;
    ever_open = 0;
    for (o = first; o; o = o->next)
        GO(waiting, go_leave(o->go, answering));
    do {
        GO(waiting, go_all_left());
        probe(first ? first->inner : mpi.comm_world);
    } while (waiting);
}

static int finalize_open(handle comm, int k, void *value, void *extra)
{
    (void)comm, (void)k, (void)value, (void)extra;
    inside++;
    leave_rootless();
    inside--;
    return 0;
}

/* Makes the attributes once. Reports whether they are there. */
static int know_open(void)
{
    int self;
    pthread_mutex_lock(&start_lock);
    if (!knows_open && !P_Comm_create_keyval((void *)copy_attribute, (void *)delete_open, &open_key, NULL) &&
        !P_Comm_create_keyval((void *)copy_attribute, (void *)finalize_open, &self, NULL) && !P_Comm_set_attr(mpi.comm_self, self, &open_key))
        knows_open = 1;
    pthread_mutex_unlock(&start_lock);
    return knows_open;
}

EXPORT schedgen_open(handle comm)
{
    static const char name[] = "schedgen_open", without[] = "schedgen_open fails";
    struct communicator c = {.program = whole(comm), .stage = MADE};
    struct opened *o = NULL, *found = NULL;
    char *requests = NULL;
    const char *wrong;
    int inter = 0, is_open = 0, err, mine[2], all[2] = {0}, id = GO_STOPPED, ok;
    if ((err = usable(name)))
        return err;
    if (c.program == mpi.comm_null || !c.program)
        return refused(name, ERR_COMM, "there is no communicator");
    inside++;
    if (P_Comm_test_inter(c.program, &inter) || inter || P_Comm_rank(c.program, &c.rank) || P_Comm_size(c.program, &c.size)) {
        inside--;
        return refused(name, ERR_COMM, "it is not for inter-communicators");
    }
    if (know_open() && !P_Comm_get_attr(c.program, open_key, &found, &is_open) && is_open) {
        inside--;
        return 0;
    }
    wrong = open_go();
    o = malloc(sizeof *o);
    requests = room_for_requests(&c);
    if (!wrong && (!knows_open || !o || !requests))
        wrong = "the MPI or the system has no memory for it";
    mine[0] = host_number();
    mine[1] = ~mine[0];
    if (all_can(&c, !wrong, wrong, without) && !P_Allreduce(mine, all, 2, mpi.type_int, mpi.op_min, c.program) && !split(c.program, c.rank, &c.inner)) {
        c.together = all[0] == ~all[1];
        o->comm = c.program;
        o->inner = c.inner;
        o->go = id = join_all(&c, 1, progress_if_waiting, o, requests, without);
        if (id >= 0) {
            ok = !P_Comm_set_attr(c.program, open_key, o);
            if (!all_say(ok, c.inner)) {
                if (ok)
                    P_Comm_delete_attr(c.program, open_key);
                GO(ok, go_close(id));
                id = GO_FAILED;
            } else {
                pthread_mutex_lock(&go_lock);
                o->next = all_opened;
                all_opened = o;
                ever_open = 1;
                pthread_mutex_unlock(&go_lock);
                o = NULL;
            }
        }
        if (id < 0)
            P_Comm_free(&c.inner);
    }
    inside--;
    free(o);
    free(requests);
    return id >= 0 ? 0 : mpi.err_other;
}

EXPORT schedgen_publish(handle comm, const void *message, size_t bytes)
{
    static const char name[] = "schedgen_publish";
    struct opened o;
    int err;
    if ((err = find_open(name, comm, &o)))
        return err;
    if (!message && bytes)
        return refused(name, ERR_BUFFER, "there is no message");
    WAIT_IN_GO(err, go_publish(o.go, message, bytes));
    return class_of(err);
}

EXPORT schedgen_flush(handle comm)
{
    struct opened o;
    int err;
    if ((err = find_open("schedgen_flush", comm, &o)))
        return err;
    WAIT_IN_GO(err, go_flush(o.go));
    return class_of(err);
}

/* Takes a message. flag is NULL if the call waits for one. */
static int take_message(const char *name, handle comm, void *buffer, size_t room, int *origin, size_t *bytes, int *flag)
{
    struct opened o;
    int from = -1, result;
    size_t length = 0;
    if ((result = find_open(name, comm, &o)))
        return result;
    if (!buffer && room)
        return refused(name, ERR_BUFFER, "there is no buffer");
    for (;;) {
        WAIT_IN_GO(result, go_next(o.go, buffer, room, &from, &length, flag == NULL));
        if (result != ROOTLESS_NOTHING || flag)
            break;
        if (!answering)
            probe(o.inner);
    }
    if (flag)
        *flag = result == 0 || result == ROOTLESS_TRUNCATE;
    if (origin)
        *origin = from;
    if (bytes)
        *bytes = length;
    return result == ROOTLESS_NOTHING ? 0 : class_of(result);
}

EXPORT schedgen_next(handle comm, void *buffer, size_t room, int *origin, size_t *bytes)
{
    return take_message("schedgen_next", comm, buffer, room, origin, bytes, NULL);
}

EXPORT schedgen_try_next(handle comm, void *buffer, size_t room, int *origin, size_t *bytes, int *flag)
{
    int unused;
    return take_message("schedgen_try_next", comm, buffer, room, origin, bytes, flag ? flag : &unused);
}

/* The functions of a program. They stay, because a last call may still be about to read them. */
struct functions {
    void (*answer)(int, const void *, size_t, void *, void *);
    void (*learn)(int, const void *, size_t, const void *, void *);
    void *with;
};

static void answer_by(int origin, const void *question, size_t bytes, void *values, void *with)
{
    const struct functions *f = with;
    answering++;
    f->answer(origin, question, bytes, values, f->with);
    answering--;
}

static void learn_by(int origin, const void *question, size_t bytes, void *values, void *with)
{
    const struct functions *f = with;
    answering++;
    f->learn(origin, question, bytes, values, f->with);
    answering--;
}

/* Checks the arguments of schedgen_answer. */
static int takes_answers(const char *name, int count, handle type, int kernel, void *answer, int *size)
{
    enum { MOST = 1 << 20 };
    if (count < 1)
        return refused(name, mpi.err_count, "an answer has %d elements", count);
    if (!is_type(type) || P_Type_size(type, size))
        return refused(name, ERR_TYPE, "there is no type");
    if (!kernel)
        return refused(name, mpi.err_op, "engine go does not fold this type by this operation");
    if ((long long)count * *size > MOST)
        return refused(name, mpi.err_count, "an answer has %lld bytes, at most %d", (long long)count * *size, MOST);
    return answer ? 0 : refused(name, mpi.err_arg, "there is no function that answers");
}

EXPORT schedgen_answer(handle comm, int count, handle type, handle op, void *answer, void *learn, void *with)
{
    static const char name[] = "schedgen_answer";
    struct functions *f = malloc(sizeof *f);
    struct opened o;
    int err, size = 0, kernel, i, mine[5], all[5] = {0}, ok;
    if ((err = find_open(name, comm, &o))) {
        free(f);
        return err;
    }
    comm = whole(comm);
    type = whole(type);
    kernel = kernel_of(type, whole(op));
    err = f ? takes_answers(name, count, type, kernel, answer, &size) : refused(name, mpi.err_no_mem, "no memory");
    mine[0] = err ? 0 : 1;
    mine[1] = count;
    mine[2] = -count;
    mine[3] = kernel;
    mine[4] = -kernel;
    inside++;
    if (P_Allreduce(mine, all, 5, mpi.type_int, mpi.op_min, comm) || !all[0])
        err = err ? err : refused(name, mpi.err_other, "another rank of the communicator has refused");
    for (i = 1; !err && i < 5; i += 2)
        if (all[i] != -all[i + 1])
            err = refused(name, mpi.err_arg, "the ranks differ in the count, the type or the operation");
    if (!err) {
        f->answer = (void (*)(int, const void *, size_t, void *, void *))answer;
        f->learn = (void (*)(int, const void *, size_t, const void *, void *))learn;
        f->with = with;
        GO(err, go_answer(o.go, kernel, (size_t)count * (size_t)size, (void *)answer_by, learn ? (void *)learn_by : NULL, f));
        ok = !err;
        err = class_of(err);
        if (ok)
            f = NULL;
        if (!all_say(ok, comm) && !err)
            err = refused(name, mpi.err_other, "another rank of the communicator cannot answer");
    }
    inside--;
    free(f);
    return err;
}

EXPORT schedgen_ask(handle comm, const void *question, size_t bytes, void *values)
{
    static const char name[] = "schedgen_ask";
    struct opened o;
    int err;
    if ((err = find_open(name, comm, &o)))
        return err;
    if ((!question && bytes) || !values)
        return refused(name, ERR_BUFFER, "there is no %s", values ? "question" : "room for the answers");
    WAIT_IN_GO(err, go_ask(o.go, question, bytes, values));
    return class_of(err);
}

__attribute__((visibility("default"))) handle schedgen_exact_sum(void)
{
    handle made = 0;
    if (usable("SCHEDGEN_EXACT_SUM"))
        return mpi.op_null;
    pthread_mutex_lock(&start_lock);
    if (!exact_op && !P_Op_create((void *)round_exact, 1, &made))
        __atomic_store_n(&exact_op, read_handle(&made), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&start_lock);
    return exact_op ? exact_op : mpi.op_null;
}

EXPORT schedgen_reproducible_allreduce(const void *in, void *out, int count, handle type, handle op, handle comm)
{
    static const char name[] = "schedgen_reproducible_allreduce";
    int err = usable(name);
    comm = whole(comm);
    if (!err && (comm == mpi.comm_null || !comm))
        err = refused(name, ERR_COMM, "there is no communicator");
    return err ? err : fold_by_rows(name, in, out, count, whole(type), whole(op), -1, comm);
}

/*
 * The same for Fortran, whose handles are integers. MPICH uses them in C, too.
 */
static handle from_fortran(handle (**convert)(int), const char *name, int f)
{
    if (usable("schedgen"))
        return 0;
    if (mpi.handle_size == sizeof(int))
        return (handle)(unsigned)f;
    if (!*convert)
        *convert = (handle(*)(int))symbol(name);
    return *convert ? (*convert)(f) : 0;
}

static handle comm_of(int f)
{
    static handle (*convert)(int);
    return from_fortran(&convert, "PMPI_Comm_f2c", f);
}

static handle type_of(int f)
{
    static handle (*convert)(int);
    return from_fortran(&convert, "PMPI_Type_f2c", f);
}

static handle op_of(int f)
{
    static handle (*convert)(int);
    return from_fortran(&convert, "PMPI_Op_f2c", f);
}

EXPORT schedgen_f_open(int comm) { return schedgen_open(comm_of(comm)); }
EXPORT schedgen_f_publish(int comm, const void *message, size_t bytes) { return schedgen_publish(comm_of(comm), message, bytes); }
EXPORT schedgen_f_flush(int comm) { return schedgen_flush(comm_of(comm)); }
EXPORT schedgen_f_next(int comm, void *buffer, size_t room, int *origin, size_t *bytes)
{
    return schedgen_next(comm_of(comm), buffer, room, origin, bytes);
}
EXPORT schedgen_f_try_next(int comm, void *buffer, size_t room, int *origin, size_t *bytes, int *flag)
{
    return schedgen_try_next(comm_of(comm), buffer, room, origin, bytes, flag);
}
EXPORT schedgen_f_answer(int comm, int count, int type, int op, void *answer, void *learn, void *with)
{
    return schedgen_answer(comm_of(comm), count, type_of(type), op_of(op), answer, learn, with);
}
EXPORT schedgen_f_ask(int comm, const void *question, size_t bytes, void *values) { return schedgen_ask(comm_of(comm), question, bytes, values); }
EXPORT schedgen_f_exact_sum(void)
{
    static int (*convert)(handle);
    const handle op = schedgen_exact_sum();
    if (mpi.handle_size == sizeof(int))
        return (int)op;
    if (!convert)
        convert = (int (*)(handle))symbol("PMPI_Op_c2f");
    return convert ? convert(op) : 0;
}
EXPORT schedgen_f_reproducible_allreduce(void *values, int count, int type, int op, int comm)
{
    return schedgen_reproducible_allreduce(mpi.in_place, values, count, type_of(type), op_of(op), comm_of(comm));
}
