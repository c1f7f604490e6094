/*
 * How an operation reaches its communicator. The library identifies a communicator by an attribute,
 * which the first blocking collective operation on the communicator sets. So split, dup, create and
 * free need no special treatment: the attribute is not copied, and its deletion frees its data.
 */
/* The attribute is not copied: a duplicate has its own. */
static int copy_attribute(handle comm, int k, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)k, (void)extra, (void)in, (void)out;
    *flag = 0;
    return 0;
}

static int delete_attribute(handle comm, int k, void *value, void *extra)
{
    struct communicator *c = value;
    int err = 0;
    (void)comm, (void)k, (void)extra;
    __atomic_fetch_add(&deletions, 1, __ATOMIC_RELEASE);
    if (is_passed(c) || finished)
        return 0;
    inside++;
    if (c->go >= 0) {
        wait_for_ends(c->go);
        leave_one(c);
    }
    err = P_Comm_free(&c->inner);
    inside--;
    free(c->rules);
    free(c);
    return err;
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first, while MPI still works. */
static int finalize(handle comm, int k, void *value, void *extra)
{
    (void)comm, (void)k, (void)value, (void)extra;
    inside++;
    wait_for_ends(-1);
    leave_all();
    inside--;
    finished = 1;
    if (reports && world_rank == 0)
        report();
    return 0;
}

/* Runs at the first collective operation, when MPI is initialized, whoever initialized it. */
static void start(void)
{
    pthread_mutex_lock(&start_lock);
    if (!started) {
        const char *mode = getenv("SCHEDGEN_MPI"), *missing;
        engine = !mode || !strcmp(mode, "auto") ? AUTO_ENGINE : !strcmp(mode, "c") ? C_ENGINE : !strcmp(mode, "go") ? GO_ENGINE : OFF;
        reports = getenv("SCHEDGEN_MPI_REPORT") != NULL;
        if (engine == AUTO_ENGINE && getenv("SCHEDGEN_MPI_TUNE"))
            tune_seconds = atof(getenv("SCHEDGEN_MPI_TUNE"));
        if (getenv("SCHEDGEN_MPI_JOIN"))
            go_after = (unsigned)atoi(getenv("SCHEDGEN_MPI_JOIN"));
        if (engine != OFF || getenv("SCHEDGEN_MPI_PROFILE")) {
            if ((missing = resolve())) {
                fprintf(stderr, "schedgen: MPI serves all operations itself: there is no %s\n", missing);
                engine = OFF;
            }
            resolved = !missing;
        }
        if (engine != OFF) {
            int self;
            if (P_Comm_create_keyval((void *)copy_attribute, (void *)delete_attribute, &key, NULL) ||
                       P_Comm_create_keyval((void *)copy_attribute, (void *)finalize, &self, NULL) || P_Comm_set_attr(mpi.comm_self, self, passed)) {
                engine = OFF;
            }
        }
        if (engine != OFF) {
            P_Comm_rank(mpi.comm_world, &world_rank);
            know_types();
        }
        __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&start_lock);
}

/* Creates the attribute of a communicator. All its ranks do so in the same operation. */
static struct communicator *make(handle comm)
{
    struct communicator *c = &passed[NO_TABLES], *new;
    int inter, size, rank;
    handle inner = 0;
    if (P_Comm_test_inter(comm, &inter) || P_Comm_size(comm, &size) || P_Comm_rank(comm, &rank)) {
        return c;
    } else if (inter) {
        c = &passed[INTER];
    } else if (size == 1) {
        c = &passed[ONE_RANK];
    } else if (!split(comm, rank, &inner)) {
        new = calloc(1, sizeof *new);
        if (all_say(new != NULL, inner) && ((new->tables = agree_on_tables(inner, rank, size)) || engine == GO_ENGINE)) {
            new->go = GO_LATER;
            new->inner = inner;
            new->rank = rank;
            new->size = size;
            new->together = on_one_host(inner);
            if (engine == AUTO_ENGINE)
                set_rules(new, agree_on_rules(inner, rank, size, new->together));
            c = new;
        } else {
            P_Comm_free(&inner);
            free(new);
        }
    }
    if (P_Comm_set_attr(comm, key, c))
        c = &passed[NO_TABLES];
    return c;
}

/* Measures engines by operations, which reach their communicator too. */
static void tune(struct communicator *c, double seconds);

/*
 * The attribute of a communicator, which the first blocking operation creates. NULL if the library
 * is off.
 */
static struct communicator *reach(handle comm)
{
    static __thread handle last;
    static __thread struct communicator *last_found;
    static __thread unsigned long last_deletions;
    struct communicator *c = NULL;
    unsigned long now;
    int found = 0;
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE) && !inside)
        start();
    if (inside || finished || engine == OFF || comm == mpi.comm_null)
        return NULL;
    now = __atomic_load_n(&deletions, __ATOMIC_ACQUIRE);
    if (comm == last && now == last_deletions && last_found) {
        c = last_found;
    } else {
        inside++;
        if (P_Comm_get_attr(comm, key, &c, &found))
            c = &passed[NO_TABLES];
        else if (!found)
            c = make(comm);
        inside--;
        last = comm;
        last_found = c;
        last_deletions = now;
    }
    if (tune_seconds > 0 && comm == mpi.comm_world && !is_passed(c)) {
        double seconds = tune_seconds;
        tune_seconds = 0;
        tune(c, seconds);
    }
    if (c->go == GO_LATER && !is_passed(c) && (engine == GO_ENGINE || (c->rules && c->rules->go)) &&
        (comm == mpi.comm_world || c->operations++ >= go_after)) {
        inside++;
        join(c);
        inside--;
    }
    return c;
}

/* The communicator of an operation that the library performs, or NULL if MPI is to perform it. */
static struct communicator *enter(enum operation op, handle comm)
{
    struct communicator *c = reach(comm);
    if (c && is_passed(c)) {
        note_passed(op, (enum reason)(c - passed));
        c = NULL;
    }
    return c;
}

/*
 * The communicator of a nonblocking operation. It must have joined the engine go, because the
 * engine c makes progress only in its own calls. No attribute is created here, because a rank that
 * begins such an operation does not wait for others.
 */
static struct communicator *enter_nonblocking(enum operation op, handle comm)
{
    struct communicator *c = NULL;
    enum reason why = ONLY_GO;
    int found = 0;
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE) && !inside)
        start();
    if (inside || finished || engine == OFF || comm == mpi.comm_null)
        return NULL;
    if (engine == GO_ENGINE) {
        inside++;
        if (P_Comm_get_attr(comm, key, &c, &found) || !found)
            c = NULL;
        inside--;
        if (c && !is_passed(c) && c->go >= 0)
            return c;
        why = c && is_passed(c) ? (enum reason)(c - passed) : NOT_JOINED;
    }
    note_passed(NONBLOCKING + op, why);
    return NULL;
}
