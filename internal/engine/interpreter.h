/*
 * The interpreter of plans. A plan says what one rank does in one operation: the messages that the rank
 * receives and sends, its folds, and the rules that say when. A rule fires when all messages and folds
 * that it waits for are there. It then sends and folds. The operation ends when all messages are
 * received, all rules have fired and all sends are complete.
 *
 * Each message of an operation has a tag of its own between its two ranks, so it does not matter in
 * which order they are sent. Messages of two operations that follow each other may have the same tag.
 * They still reach the right operation: MPI does not let one overtake the other, and a rank begins the
 * second operation only when it has received and sent all messages of the first.
 *
 * Every message has its own place in memory, so its receive may be posted before the message is due.
 * The receives of a plan stand in an order in which they can come: no receive depends on a later one.
 * So it is enough to keep some receives posted, always the first ones.
 *
 * The interpreter sends and folds by functions that are defined after it: sg_isend, sg_irecv,
 * sg_receive_any, sg_wait_sends, sg_cancel, sg_reduce and sg_copy. A result other than 0 is an error and
 * ends the operation. The interpreter then cancels the receives, so that MPI writes nothing any more, and
 * does not free memory from which MPI may still send.
 */
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Receives that are posted at once. */
enum { SG_POSTED = 128 };

/* Errors of the interpreter itself. Errors of the functions below are positive. */
enum { SG_NO_MEMORY = -1, SG_TOO_LONG = -2 };

/* The tables of a plan. A place is SG_BUFFERS * number + buffer: part `number` of a buffer. */
enum { SG_SEND, SG_RECEIVE, SG_SCRATCH, SG_BUFFERS };

struct sg_message {
    int peer, tag;       /* the other rank; no other message in this direction between the two has this tag */
    int place, places;   /* where its bytes are: the first item in `places`, and how many items */
    int waiter, waiters; /* of a received message: the rules that wait for it, in `waiters` */
};

struct sg_fold {
    int made;            /* the place of the result */
    int place, places;   /* the operands, from left to right */
    int waiter, waiters; /* the rules that wait for the result */
};

struct sg_rule {
    int need;            /* messages and folds that it waits for */
    int action, actions; /* what it does: n sends message n, -1-n makes fold n */
};

struct sg_plan {
    int receives, sends, folds, rules;
    const struct sg_message *receive, *send;
    const struct sg_fold *fold;
    const struct sg_rule *rule;
    const int *action, *place, *waiter;
    const int *scratch; /* by number of a place in scratch memory: which part it has room for */
    int scratches;
    int per;                     /* parts of a block */
    int held, wanted;            /* blocks in the send buffer and in the receive buffer */
    int own_held, own_wanted;    /* position of the first block that is in both buffers; or -1 */
};

/* A buffer of blocks. */
struct sg_buffer {
    char *at;
    ptrdiff_t extent;        /* bytes from one element to the next */
    const int *counts;       /* elements of each block, or NULL if all have sg_call.count */
    const ptrdiff_t *starts; /* where each block begins, in elements; with counts */
};

/* An operation. The caller sets the first part, and clears the second. */
struct sg_call {
    const struct sg_plan *plan;
    struct sg_buffer buffer[2]; /* SG_SEND, SG_RECEIVE */
    int count;                  /* elements of a block */
    ptrdiff_t extent;           /* bytes from one element to the next in memory of the interpreter */
    ptrdiff_t lead, trail;      /* bytes that an element has before its address, and beyond its extent */
    int commutes;               /* whether a fold of two operands may swap them */
    void *with;                 /* for the functions below */
    char *lent;                 /* memory that the caller lends, aligned for a pointer: enough for short operations */
    size_t lent_size;           /* bytes of it */

    int *need;              /* by rule: what it still waits for */
    int *ready, first, end; /* the rules to fire: ready[first] ... ready[end - 1] */
    char *scratch;
    int own_scratch;   /* whether it is to be freed */
    ptrdiff_t *offset; /* by number of a place in scratch memory: its first element there */
    char **staged;     /* by message, received ones first: memory that brings its places together */
    char *spare[2];    /* room for a part each, of the folds of more than two operands */
    int room;          /* elements that a piece of spare has room for */
};

/* Starts to send elements. Its completion is awaited by sg_wait_sends. */
static int sg_isend(struct sg_call *call, int send, const void *at, int count, int to, int tag);
/* Starts to receive elements. Each posted receive has its own slot, 0 ... SG_POSTED - 1. */
static int sg_irecv(struct sg_call *call, int slot, void *at, int count, int from, int tag);
/* Waits until one of the posted receives is complete, and sets *slot to its slot, below slots. */
static int sg_receive_any(struct sg_call *call, int slots, int *slot);
/* Waits until all sends are complete. */
static int sg_wait_sends(struct sg_call *call, int sends);
/* Cancels the posted receives in slots 0 ... slots - 1, and waits until none is under way. */
static void sg_cancel(struct sg_call *call, int slots);
/* right = left * right, element by element. */
static int sg_reduce(struct sg_call *call, const void *left, void *right, int count);
/* Copies elements. */
static int sg_copy(struct sg_call *call, const void *from, void *to, int count);

/* Where part k of n begins among count elements: k * count / n, rounded down. */
static int sg_bound(int count, int n, int k)
{
    int each = count / n, rest = count % n;
    return k * each + (int)((long long)k * rest / n);
}

/* The elements of a part of a block: where they begin in it, and how many there are. */
static int sg_part(int count, int per, int part, int *elements)
{
    int begin = 0;
    *elements = count;
    if (per > 1) {
        begin = sg_bound(count, per, part);
        *elements = sg_bound(count, per, part + 1) - begin;
    }
    return begin;
}

/* The number of elements of a part of the contributions. */
static int sg_length(const struct sg_call *call, int number)
{
    int per = call->plan->per, elements;
    const int *counts = call->buffer[SG_SEND].counts;
    sg_part(counts ? counts[number / per] : call->count, per, number % per, &elements);
    return elements;
}

/* The address of a place, and how many elements it has. */
static char *sg_at(const struct sg_call *call, int place, int *count)
{
    int kind = place % SG_BUFFERS, number = place / SG_BUFFERS, per = call->plan->per, block = number, part = 0;
    const struct sg_buffer *b;
    ptrdiff_t first;
    if (kind == SG_SCRATCH) {
        *count = sg_length(call, call->plan->scratch[number]);
        return call->scratch + call->offset[number] * call->extent;
    }
    if (per > 1) {
        block = number / per;
        part = number % per;
    }
    b = &call->buffer[kind];
    first = b->counts ? b->starts[block] : (ptrdiff_t)block * call->count;
    first += sg_part(b->counts ? b->counts[block] : call->count, per, part, count);
    return b->at + first * b->extent;
}

/* Memory for count elements, or NULL if there is none. */
static char *sg_new(const struct sg_call *call, ptrdiff_t count)
{
    char *p = malloc((size_t)(count * call->extent + call->lead + call->trail) + 1);
    return p ? p + call->lead : NULL;
}

static void sg_free(const struct sg_call *call, char *p)
{
    if (p)
        free(p - call->lead);
}

/* Finds the bytes of a message. If they are in several pieces, allocates memory to stage them. */
static int sg_find(struct sg_call *call, const struct sg_message *m, char **staged, char **at, int *count)
{
    const int *place = call->plan->place + m->place;
    ptrdiff_t sum = 0;
    int pieces = 0, i, n;
    char *next = NULL;
    *at = NULL;
    for (i = 0; i < m->places; i++) {
        char *p = sg_at(call, place[i], &n);
        if (n == 0)
            continue;
        if (pieces == 0)
            *at = p;
        if (pieces == 0 || p != next)
            pieces++;
        next = p + (ptrdiff_t)n * call->extent; /* where messages have parts, all memory has one extent */
        sum += n;
    }
    if (sum > INT_MAX)
        return SG_TOO_LONG;
    *count = (int)sum;
    if (pieces < 2)
        return 0;
    *at = *staged = sg_new(call, sum);
    return *at ? 0 : SG_NO_MEMORY;
}

/* Copies the places of a message to its staged memory, or back. */
static int sg_stage(struct sg_call *call, const struct sg_message *m, char *staged, int back)
{
    int i, n, err;
    for (i = 0; i < m->places; i++) {
        char *p = sg_at(call, call->plan->place[m->place + i], &n);
        err = back ? sg_copy(call, staged, p, n) : sg_copy(call, p, staged, n);
        if (err)
            return err;
        staged += (ptrdiff_t)n * call->extent;
    }
    return 0;
}

static int sg_start_send(struct sg_call *call, int i)
{
    const struct sg_message *m = &call->plan->send[i];
    char **staged = &call->staged[call->plan->receives + i], *at;
    int count, err = sg_find(call, m, staged, &at, &count);
    if (!err && *staged)
        err = sg_stage(call, m, *staged, 0);
    return err ? err : sg_isend(call, i, at, count, m->peer, m->tag);
}

static int sg_post(struct sg_call *call, int slot, int i)
{
    const struct sg_message *m = &call->plan->receive[i];
    char *at;
    int count, err = sg_find(call, m, &call->staged[i], &at, &count);
    return err ? err : sg_irecv(call, slot, at, count, m->peer, m->tag);
}

/* Piece i of spare memory for folds. Both pieces have room for the largest part so far. */
static char *sg_spare(struct sg_call *call, int i, int count)
{
    if (count > call->room) {
        sg_free(call, call->spare[0]);
        sg_free(call, call->spare[1]);
        call->spare[0] = call->spare[1] = NULL;
        call->room = count;
    }
    if (!call->spare[i])
        call->spare[i] = sg_new(call, call->room);
    return call->spare[i];
}

/*
 * Makes ((A*B)*C)... of operands A, B, C .... sg_reduce writes left * right over right. So the right
 * operand is copied to the place of the result, and the left operand is folded onto it. If more operands
 * follow, the result of two is the left operand of the next fold. Unless the operation commutes, that
 * result is in spare memory, by turns in one piece or the other.
 */
static int sg_make(struct sg_call *call, const struct sg_fold *f)
{
    const int *operand = call->plan->place + f->place;
    int count, i, err;
    char *made = sg_at(call, f->made, &count), *left = sg_at(call, operand[0], &count);
    if (f->places == 1)
        return made == left ? 0 : sg_copy(call, left, made, count);
    for (i = 1; i < f->places; i++) {
        char *right = sg_at(call, operand[i], &count), *to = made;
        if (i > 1 && call->commutes) {
            if ((err = sg_reduce(call, right, made, count)))
                return err;
            continue;
        }
        if (!call->commutes && i < f->places - 1 && !(to = sg_spare(call, i % 2, count)))
            return SG_NO_MEMORY;
        if (to != right && (err = sg_copy(call, right, to, count)))
            return err;
        if ((err = sg_reduce(call, left, to, count)))
            return err;
        left = to;
    }
    return 0;
}

/* Counts down what rules wait for. A rule that waits for nothing more is ready. */
static void sg_note(struct sg_call *call, int waiter, int waiters)
{
    int i;
    for (i = waiter; i < waiter + waiters; i++) {
        int rule = call->plan->waiter[i];
        if (--call->need[rule] == 0)
            call->ready[call->end++] = rule;
    }
}

/* Fires all rules that are ready, and all rules that their folds make ready. */
static int sg_fire(struct sg_call *call)
{
    while (call->first < call->end) {
        const struct sg_rule *rule = &call->plan->rule[call->ready[call->first++]];
        int i, err;
        for (i = rule->action; i < rule->action + rule->actions; i++) {
            int action = call->plan->action[i];
            const struct sg_fold *f;
            if (action >= 0) {
                if ((err = sg_start_send(call, action)))
                    return err;
                continue;
            }
            f = &call->plan->fold[-1 - action];
            if ((err = sg_make(call, f)))
                return err;
            sg_note(call, f->waiter, f->waiters);
        }
    }
    return 0;
}

/*
 * Allocates the memory of an operation: addresses, offsets and counters of rules in one piece, in the
 * caller's memory if they fit there. Scratch memory follows them there if it fits too. Otherwise it is a
 * piece of its own, like each staged message.
 */
static int sg_begin(struct sg_call *call)
{
    const struct sg_plan *plan = call->plan;
    size_t rules = (size_t)plan->rules, messages = (size_t)plan->receives + (size_t)plan->sends;
    size_t size = messages * sizeof *call->staged + (size_t)plan->scratches * sizeof *call->offset + 2 * rules * sizeof *call->need;
    ptrdiff_t sum = 0;
    int i;
    size = (size + 15) / 16 * 16; /* scratch memory behind it is aligned for any element */
    call->staged = (char **)call->lent;
    if (size > call->lent_size && !(call->staged = malloc(size)))
        return SG_NO_MEMORY;
    memset(call->staged, 0, messages * sizeof *call->staged);
    call->offset = (ptrdiff_t *)(call->staged + messages);
    call->need = (int *)(call->offset + plan->scratches);
    call->ready = call->need + rules;
    for (i = 0; i < plan->scratches; i++) {
        call->offset[i] = sum;
        sum += sg_length(call, plan->scratch[i]);
    }
    if (size + (size_t)(sum * call->extent + call->lead + call->trail) <= call->lent_size) {
        call->scratch = call->lent + size + call->lead;
    } else if (sum > 0) {
        if (!(call->scratch = sg_new(call, sum)))
            return SG_NO_MEMORY;
        call->own_scratch = 1;
    }
    for (i = 0; i < plan->rules; i++) {
        call->need[i] = plan->rule[i].need;
        if (call->need[i] == 0)
            call->ready[call->end++] = i;
    }
    return 0;
}

static void sg_end(struct sg_call *call)
{
    int i;
    for (i = 0; i < call->plan->receives + call->plan->sends; i++)
        if (call->staged[i])
            sg_free(call, call->staged[i]);
    for (i = 0; i < 2; i++)
        sg_free(call, call->spare[i]);
    if (call->own_scratch)
        sg_free(call, call->scratch);
    if (call->staged != (char **)call->lent)
        free(call->staged);
}

/* Executes a plan. */
static int sg_run(struct sg_call *call)
{
    const struct sg_plan *plan = call->plan;
    int in[SG_POSTED]; /* the receive in each slot */
    int posted = 0, left = plan->receives, slots, slot, err = sg_begin(call);
    while (!err && posted < plan->receives && posted < SG_POSTED) {
        in[posted] = posted;
        if (!(err = sg_post(call, posted, posted)))
            posted++;
    }
    slots = posted;
    if (!err)
        err = sg_fire(call);
    for (; !err && left > 0; left--) {
        const struct sg_message *m;
        if ((err = sg_receive_any(call, slots, &slot)))
            break;
        m = &plan->receive[in[slot]];
        if (call->staged[in[slot]] && (err = sg_stage(call, m, call->staged[in[slot]], 1)))
            break;
        sg_note(call, m->waiter, m->waiters);
        if (posted < plan->receives) {
            in[slot] = posted;
            if ((err = sg_post(call, slot, posted++)))
                break;
        }
        err = sg_fire(call);
    }
    if (!err)
        err = sg_wait_sends(call, plan->sends);
    if (err)
        sg_cancel(call, slots);
    else
        sg_end(call);
    return err;
}
