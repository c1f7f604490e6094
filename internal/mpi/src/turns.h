/*
 * Operations that the engine go leaves to MPI. By SCHEDGEN_LEARN the engine tries its algorithms in
 * turn, and MPI's own among them. Only this library can call MPI. So it asks the engine whose turn a
 * call is, lets that one perform it, and tells the engine how long a call took that counts. The
 * engine counts calls alike at all ranks, and the ranks add up their times, so all get the same
 * answer. An answer is for many calls when the engine tries nothing, and then they cost no more than
 * to count them. Without learning, the rules of SCHEDGEN_RULES say what is left to MPI.
 */
/* In place of the length of a block if not all ranks know all lengths: times are not learned. */
enum { UNKNOWN_TO_SOME = -1 };

/*
 * The calls about which the engine need not be asked: those of the engine are positive, and those of
 * MPI negative. Calls of a place all belong to the same lesson of the engine.
 */
enum { ANY_ORDER, IN_ORDER, WHOLE_NUMBERS, LEAST_OR_GREATEST, ROUNDED, FOLDS };
struct turns {
    int calls[OPERATIONS][LENGTHS][FOLDS];
};

/* The call of this thread that is timed for the engine. go is 1 + the number of its communicator, or 0. */
static __thread struct {
    int go;
    unsigned long long begin;
} turn;

static int fold_of(int ordered, int kernel)
{
    int element = (kernel - 1) / FOLD_OPERATIONS;
    if (kernel <= 0)
        return ordered ? IN_ORDER : ANY_ORDER;
    if (element <= UINT_8 || element == BOOLEAN)
        return WHOLE_NUMBERS;
    return (kernel - 1) % FOLD_OPERATIONS <= PROD ? ROUNDED : LEAST_OR_GREATEST;
}

/* A collective with counts is in the lesson of the one without. */
static enum operation lesson_of(enum operation op) { return op == ALLGATHERV ? ALLGATHER : op; }

static int *place_of(enum operation op, const struct communicator *c, long long block, int ordered, int kernel)
{
    op = lesson_of(op);
    return &c->turns->calls[op][block > 0 ? length_class(block - 1) : 0][fold_of(ordered, kernel)];
}

/*
 * Reports whether MPI is to perform a call because the engine has said so, and will say no more.
 * Then nothing else is looked up. block is 0 if its length is not known at once.
 */
static int is_settled(enum operation op, const struct communicator *c, long long block, int kernel)
{
    int *calls;
    if (!c->turns || (block <= 0 && op != BARRIER) || measured != NOT_MEASURED)
        return 0;
    calls = place_of(op, c, block, 0, kernel);
    if (*calls >= 0)
        return 0;
    ++*calls;
    note_passed(op, LEARNED);
    return 1;
}

/* Asks the engine. *calls is its answer. */
static void ask_for_turn(enum operation op, const struct communicator *c, long long block, int ordered, int kernel, int *calls)
{
    struct part part = begin_part();
    int answer;
    GO(answer, go_turn(c->go, (int)lesson_of(op), (size_t)block, ordered, kernel, calls));
    end_part(&part, LEARNING, 1);
    if (answer > 0) {
        turn.go = 1 + c->go;
        turn.begin = nanoseconds();
    }
}

/* Reports whether MPI is to perform a call in place of the engine. block is the length of the longest block. */
static int is_turn_of_mpi(enum operation op, const struct communicator *c, long long block, int ordered, int kernel)
{
    int *calls;
    if (!c->turns)
        return c->left && rule_for(c->left, lesson_of(op), op == REDUCE_SCATTER ? block * c->size : block, c->size) == OFF;
    calls = place_of(op, c, block, ordered, kernel);
    if (*calls == 0)
        ask_for_turn(op, c, block, ordered, kernel, calls);
    if (*calls > 0) {
        --*calls;
        return 0;
    }
    ++*calls;
    return 1;
}

/* Tells the engine how long the call took that has ended. */
static void end_turn(unsigned long long end)
{
    unsigned long long begin = nanoseconds();
    int go = turn.go - 1, ok;
    turn.go = 0;
    GO(ok, go_took(go, end - turn.begin));
    (void)ok; /* the engine has reported the error, and the next operation gets it */
    add_to(&setups[LEARNING], 0, 0, nanoseconds() - begin);
}

/* Reads from the engine what its rules leave to MPI. */
static void read_left(const struct communicator *c, struct rules *r)
{
    int least[MOST_RULES], leaves[MOST_RULES], op, i, n;
    for (op = 0; op < OPERATIONS; op++) {
        n = 0;
        if (op <= ALLTOALL)
            GO(n, go_left(c->go, op, least, leaves, MOST_RULES));
        if (n <= 0)
            add_rule(r, (enum operation)op, 0, GO_ENGINE);
        for (i = 0; i < n; i++) {
            add_rule(r, (enum operation)op, least[i], leaves[i] ? OFF : GO_ENGINE);
            r->found |= leaves[i];
        }
    }
}

static void know_turns(struct communicator *c)
{
    const char *learned = getenv("SCHEDGEN_LEARN");
    struct turns *t = learned && *learned ? calloc(1, sizeof *t) : NULL;
    struct rules *r = calloc(1, sizeof *r);
    int op;
    if (all_say(t != NULL, c->inner)) {
        c->turns = t;
        free(r);
        return;
    }
    free(t);
    if (!all_say(r != NULL, c->inner)) {
        free(r);
        return;
    }
    if (c->rank == 0)
        read_left(c, r);
    if (P_Bcast(r, sizeof *r, mpi.type_byte, 0, c->inner) || !r->found) {
        free(r);
        return;
    }
    c->left = r;
    for (op = 0; engine == GO_ENGINE && op < OPERATIONS; op++)
        c->from[op] = least_for(r, (enum operation)op, c->size);
}
