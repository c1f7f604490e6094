/*
 * Checks emitted functions at every rank of MPI_COMM_WORLD: it calls each with several counts, types
 * and operations, three times back to back, and compares every byte with computed results. The test
 * appends this text to the functions and their table.
 *
 * Element i of block b of the k-th operation has the value mark(k, b, i). Contributions are values of
 * the same kind, where b encodes rank and block. Folded results are compared with the term of package
 * internal/ir/term, such as ((01)(23)), so the order of operands and of folds counts.
 */

enum { OPERATIONS = 3 };

static int rank, ranks, failures;

static void fail(const struct check *c, const char *what, int count, int k)
{
    if (failures++ < 5)
        fprintf(stderr, "rank %d of %d: %s: %s, count %d, operation %d\n", rank, ranks, c->name, what, count, k);
}

static unsigned mark(int k, int b, long i)
{
    unsigned x = (unsigned)k * 2654435761u ^ (unsigned)b * 40503u ^ (unsigned)i * 69069u;
    x ^= x >> 13;
    return x * 2246822519u + 1;
}

/* Two operations that are not associative: the first does not commute, the second does. */
static unsigned apply(unsigned a, unsigned b, int commutes)
{
    return commutes ? (a + b) * 31u + a * b : a * 31u + b * 17u + 5u;
}

static void apply_all(void *in, void *inout, int *count, MPI_Datatype *type, int commutes)
{
    unsigned *a = in, *b = inout;
    int size, i;
    MPI_Aint low, extent;
    MPI_Type_size(*type, &size);
    MPI_Type_get_extent(*type, &low, &extent);
    for (i = 0; i < *count; i++, a += extent / (MPI_Aint)sizeof *a, b += extent / (MPI_Aint)sizeof *b)
        *b = apply(*a, *b, commutes);
}

static void ordered(void *in, void *inout, int *count, MPI_Datatype *type) { apply_all(in, inout, count, type, 0); }
static void swapped(void *in, void *inout, int *count, MPI_Datatype *type) { apply_all(in, inout, count, type, 1); }

/* The value of a term; *term moves behind it. Contributions are marked by rank and block. */
static unsigned value(const char **term, int k, int block, long i, int commutes)
{
    unsigned left, right;
    if (**term != '(') {
        int r = *(*term)++ - '0';
        return mark(k, r * ranks + block, i);
    }
    ++*term;
    left = value(term, k, block, i, commutes);
    right = value(term, k, block, i, commutes);
    ++*term;
    return apply(left, right, commutes);
}

/* Elements are words of 4 bytes, one in `stride` words of memory. The words between must not change. */
static int check_out(const unsigned *out, long i, int stride, unsigned want)
{
    int j;
    if (out[i * stride] != want)
        return 0;
    for (j = 1; j < stride; j++)
        if (out[i * stride + j] != 0xa5a5a5a5u)
            return 0;
    return 1;
}

/* The first count elements of part f of F begin here, as in schedgen's ir.ChunkBounds. */
static long bound(long count, int parts, int f) { return f * (count / parts) + f * (count % parts) / parts; }

/* The value that element i of wanted block w must have. */
static unsigned wanted(const struct check *c, int k, int w, long i, int count, int commutes)
{
    const int *w3 = c->wanted[rank];
    int block = w3[0] + w * w3[1], f = 0;
    const char *term;
    if (!c->inputs)
        return mark(k, block, i);
    while (bound(count, c->per, f + 1) <= i)
        f++;
    term = c->terms[block * c->per + f];
    if (!term) /* a question, which one rank holds */
        return mark(k, ranks * ranks + block, i);
    return value(&term, k, block % c->inputs, i, commutes);
}

static void check(const struct check *c, int count, MPI_Datatype type, int stride, int commutes, MPI_Op op, int in_place)
{
    const int *h3 = c->held[rank], *w3 = c->wanted[rank];
    int held = c->inputs + h3[2], blocks = w3[2], most = held > blocks ? held : blocks, k, b, err;
    size_t words = (size_t)most * (size_t)count * (size_t)stride + 4;
    unsigned *in[OPERATIONS], *out[OPERATIONS];
    long i;
    for (k = 0; k < OPERATIONS; k++) {
        in[k] = malloc(words * sizeof **in);
        out[k] = malloc(words * sizeof **out);
        if (!in[k] || !out[k])
            MPI_Abort(MPI_COMM_WORLD, 1);
        memset(in[k], 0xa5, words * sizeof **in);
        memset(out[k], 0xa5, words * sizeof **out);
        for (b = 0; b < held; b++) {
            int name = c->inputs ? rank * ranks + b : h3[0] + b * h3[1];
            if (c->inputs && b >= c->inputs)
                name = ranks * ranks + h3[0] + (b - c->inputs) * h3[1];
            unsigned *to = in[k];
            long at = (long)b * count;
            if (c->buffers == 1 || (in_place && (c->inputs || !c->one_held))) {
                to = out[k];
            } else if (in_place) { /* the block is already in its place */
                to = out[k];
                at = (long)((name - w3[0]) / w3[1]) * count;
            }
            for (i = 0; i < count; i++)
                to[(at + i) * stride] = mark(k, name, i);
        }
    }
    for (k = 0; k < OPERATIONS; k++) {
        const void *from = in_place ? MPI_IN_PLACE : in[k];
        if ((err = c->call(from, out[k], count, type, op, MPI_COMM_WORLD)))
            fail(c, "error", count, err);
    }
    for (k = 0; k < OPERATIONS && c->buffers; k++) {
        int wrong = 0;
        for (b = 0; b < blocks && !wrong; b++)
            for (i = 0; i < count && !wrong; i++)
                wrong = !check_out(out[k], (long)b * count + i, stride, wanted(c, k, b, i, count, commutes));
        if (wrong)
            fail(c, in_place ? "wrong in place" : "wrong", count, k);
        if (out[k][words - 1] != 0xa5a5a5a5u || in[k][words - 1] != 0xa5a5a5a5u)
            fail(c, "written beyond the end", count, k);
    }
    for (k = 0; k < OPERATIONS; k++) {
        free(in[k]);
        free(out[k]);
    }
}

/* A time that all processes of this host share. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Some ranks come late: messages for them must wait, also those of the next operation. */
static void dawdle(int i)
{
    struct timespec t = {0, 2000000};
    if ((rank + i) % 3 == 0)
        nanosleep(&t, NULL);
}

static void check_schedule(const struct check *c, MPI_Datatype sparse, MPI_Op *ops)
{
    const int counts[] = {0, 1, 7, 25600 / c->blocks};
    int i, commutes;
    if (!c->buffers) {
        check(c, 0, MPI_UNSIGNED, 1, 1, MPI_OP_NULL, 0);
        return;
    }
    for (commutes = c->inputs && !c->ordered; commutes < (c->inputs ? 2 : 1); commutes++) {
        MPI_Op op = c->inputs ? ops[commutes] : MPI_OP_NULL;
        dawdle(c->per);
        for (i = 0; i < (int)(sizeof counts / sizeof *counts); i++)
            if (counts[i] == 7 || commutes == (c->inputs && !c->ordered))
                check(c, counts[i], MPI_UNSIGNED, 1, commutes, op, 0);
        check(c, 7, sparse, 3, commutes, op, 0);
        if (c->in_place)
            check(c, 53, MPI_UNSIGNED, 1, commutes, op, 1);
    }
}

/* A barrier keeps all ranks until the last one comes. */
static void check_barrier(const struct check *c)
{
    int late;
    for (late = 0; late < ranks; late += 1 + ranks / 3) {
        double enter, leave, last;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == late)
            dawdle(3 * ranks - rank);
        enter = now();
        if (c->call(NULL, NULL, 0, MPI_BYTE, MPI_OP_NULL, MPI_COMM_WORLD))
            fail(c, "error", 0, 0);
        leave = now();
        MPI_Allreduce(&enter, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (leave < last)
            fail(c, "left before the last rank came", 0, late);
    }
}

/* Wrong arguments are an error at all ranks, and nothing is sent. */
static void check_errors(const struct check *c, MPI_Op *ops)
{
    char byte = 0;
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    if (ranks > 1 && c->call(&byte, &byte, 1, MPI_BYTE, ops[1], half) != MPI_ERR_COMM)
        fail(c, "no error for a communicator of another size", 1, 0);
    MPI_Comm_free(&half);
    if (c->buffers && c->call(&byte, &byte, -1, MPI_BYTE, ops[1], MPI_COMM_WORLD) != MPI_ERR_COUNT)
        fail(c, "no error for a negative count", -1, 0);
    if (c->inputs && !c->ordered && c->call(&byte, &byte, 1, MPI_UNSIGNED, ops[0], MPI_COMM_WORLD) != MPI_ERR_OP)
        fail(c, "no error for an operation that does not commute", 1, 0);
}

/* Each duplicate of a communicator has its own messages, and its data is freed with it. */
static void check_duplicates(const struct check *c, MPI_Op *ops)
{
    unsigned word[64] = {1}, out[64];
    int i;
    if (ranks > 8)
        return;
    for (i = 0; i < 2; i++) {
        MPI_Comm dup;
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        if (c->call(word, out, 1, MPI_UNSIGNED, ops[1], dup))
            fail(c, "error on a duplicate", 1, i);
        MPI_Comm_free(&dup);
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype sparse;
    MPI_Op ops[2];
    int i, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_create_resized(MPI_UNSIGNED, 0, 3 * (MPI_Aint)sizeof(unsigned), &sparse);
    MPI_Type_commit(&sparse);
    MPI_Op_create(ordered, 0, &ops[0]);
    MPI_Op_create(swapped, 1, &ops[1]);
    for (i = 0; i < (int)(sizeof checks / sizeof *checks); i++) {
        const struct check *c = &checks[i];
        if (c->ranks != ranks)
            continue;
        check_schedule(c, sparse, ops);
        if (!c->buffers)
            check_barrier(c);
        check_errors(c, ops);
        check_duplicates(c, ops);
    }
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Op_free(&ops[0]);
    MPI_Op_free(&ops[1]);
    MPI_Type_free(&sparse);
    MPI_Finalize();
    return all != 0;
}
