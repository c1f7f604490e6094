/*
 * Things that programs do around collective operations, and that have broken libraries like ours. The first
 * argument names one.
 */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, ranks, slack_before;

static void fail(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A long send is under way while the sender is in a collective operation that its receiver enters later. */
static void rendezvous(void)
{
    enum { LONG = 4 << 20 };
    char *b = malloc(LONG);
    MPI_Request q;
    int i, x = 0;
    for (i = 0; i < 4; i++) {
        if (rank == 0) {
            memset(b, i, LONG);
            MPI_Isend(b, LONG, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &q);
        } else if (rank == 1) {
            MPI_Recv(b, LONG, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (i % 2)
            MPI_Barrier(MPI_COMM_WORLD);
        else
            MPI_Bcast(&x, 1, MPI_INT, 1, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    free(b);
}

/* A rank has returned from a long broadcast, and waits for a message that the last rank sends after it. */
static void forwarding(void)
{
    enum { LONG = 8 << 20 };
    char *b = malloc(LONG), y = 0;
    int i, k;
    for (i = 0; i < 3; i++) {
        memset(b, rank == 0 ? i + 1 : 0, LONG);
        MPI_Bcast(b, LONG, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (b[LONG - 1] != i + 1)
            fail("a byte of a broadcast");
        if (rank == ranks - 1)
            for (k = 0; k < ranks - 1; k++)
                MPI_Send(&y, 1, MPI_BYTE, k, 9, MPI_COMM_WORLD);
        else
            MPI_Recv(&y, 1, MPI_BYTE, ranks - 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(b);
}

static void *operate(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg;
    char *b = malloc(70000);
    int i, n;
    for (i = 0; i < 100; i++) {
        n = i % 2 ? 70000 : 8;
        memset(b, rank == 0 ? i : -1, (size_t)n);
        MPI_Bcast(b, n, MPI_BYTE, 0, comm);
        if (b[0] != (char)i || b[n - 1] != (char)i)
            fail("a byte of a thread's broadcast");
        MPI_Barrier(comm);
    }
    free(b);
    return NULL;
}

/* Threads with a communicator each. The library sees some of these for the first time at the same time. */
static void threads(void)
{
    MPI_Comm comm[4];
    pthread_t t[4];
    int i;
    for (i = 0; i < 4; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    for (i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, operate, &comm[i]);
    for (i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    for (i = 0; i < 4; i++)
        MPI_Comm_free(&comm[i]);
}

static void communicators(int count)
{
    static MPI_Comm comm[300];
    int i, sum;
    for (i = 0; i < count; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    for (i = 0; i < count; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm[i]);
        if (sum != ranks * (ranks - 1) / 2)
            fail("a sum");
    }
    for (i = 0; i < count; i++)
        MPI_Comm_free(&comm[i]);
}

/* Hundreds of communicators at once. */
static void many(void) { communicators(300); }

/* A short program for tests of everything but communicators. */
static void few(void) { communicators(12); }

/* As many communicators as MPI allows, or thousands. The MPI serves those for which the library gets none. */
static void exhausted(void)
{
    enum { MOST = 3000 };
    static MPI_Comm comm[MOST];
    int n = 0, i, sum, ok = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (ok && n < MOST) {
        int mine = MPI_Comm_dup(MPI_COMM_WORLD, &comm[n]) == MPI_SUCCESS;
        PMPI_Allreduce(&mine, &ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        n += ok;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    for (i = 0; i < 20 && n > 100; i++)
        MPI_Comm_free(&comm[--n]);
    for (i = 0; i < n; i++) {
        MPI_Comm_set_errhandler(comm[i], MPI_ERRORS_ARE_FATAL);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm[i]);
        if (sum != ranks * (ranks - 1) / 2)
            fail("a sum");
    }
    for (i = 0; i < n; i++)
        MPI_Comm_free(&comm[i]);
}

/* As many communicators as MPI allows, up to some number, all of them used. */
static void alive(void)
{
    enum { MOST = 2100 };
    static MPI_Comm comm[MOST];
    int n = 0, sum;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (n < MOST && MPI_Comm_dup(MPI_COMM_WORLD, &comm[n]) == MPI_SUCCESS) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm[n++]);
        if (sum != ranks * (ranks - 1) / 2)
            fail("a sum");
    }
    if (rank == 0)
        fprintf(stderr, "alive: %d\n", n);
    while (n > 0)
        MPI_Comm_free(&comm[--n]);
}

/* Communicators that are freed soon, and one that is not. */
static void one_after_another(int communicators, int operations)
{
    MPI_Comm comm;
    int i;
    for (; communicators > 0; communicators--) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (i = 0; i < operations; i++)
            MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }
}

static void short_lived(void) { one_after_another(5, 32); }
static void not_for_long(void) { one_after_another(10, 40); }

static void long_lived(void)
{
    enum { BLOCK = 64 << 10 };
    char *in = calloc(1, BLOCK), *out = malloc((size_t)(BLOCK * ranks));
    MPI_Comm comm;
    int i;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (i = 0; i < 40; i++)
        MPI_Barrier(comm);
    in[BLOCK - 1] = 1;
    MPI_Allgather(in, BLOCK, MPI_BYTE, out, BLOCK, MPI_BYTE, comm);
    if (!out[BLOCK * ranks - 1])
        fail("a byte of an allgather");
    MPI_Comm_free(&comm);
    free(in);
    free(out);
}

/* Child processes of the program do not use MPI. */
static void children(void)
{
    int status, x = 0;
    pid_t child;
    MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (system("exit 3") == -1)
        fail("system");
    child = fork();
    if (child == 0)
        _exit(7);
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
        fail("a child");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Signals at any moment, whose handlers need more than a small stack. */
static volatile long ticks;

static void on_tick(int number)
{
    volatile char frame[64 << 10];
    size_t i;
    for (i = 0; i < sizeof frame; i += 512)
        frame[i] = (char)number;
    ticks++;
}

static void handle(int number, int flags)
{
    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = on_tick;
    act.sa_flags = SA_RESTART | flags;
    sigaction(number, &act, NULL);
}

static void tick(void)
{
    struct itimerval every = {{0, 500}, {0, 500}};
    double begin;
    int x = 0, go = 1;
    setitimer(ITIMER_PROF, &every, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    begin = MPI_Wtime();
    while (go) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(&rank, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (x != ranks * (ranks - 1) / 2)
            fail("a sum");
        go = MPI_Wtime() - begin < 1;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    memset(&every, 0, sizeof every);
    setitimer(ITIMER_PROF, &every, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    if (ticks < 100)
        fail("the handler was not called");
}

static void profiled(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    handle(SIGPROF, 0);
    signal(SIGALRM, on_tick);
    tick();
}

static void profiled_before(void)
{
    handle(SIGPROF, 0);
    handle(SIGALRM, 0);
    tick();
}

static void profiled_on_stack(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    handle(SIGALRM, SA_ONSTACK);
    handle(SIGPROF, SA_ONSTACK);
    tick();
}

/* A child of a rank in a long computation calls nothing, and ends with exit. */
static void forks(void)
{
    int status, i;
    for (i = 0; i < 20; i++) {
        pid_t child;
        MPI_Barrier(MPI_COMM_WORLD);
        child = fork();
        if (child == 0) {
            free(malloc(1000));
            setenv("X", "1", 1);
            execlp("true", "true", (char *)NULL);
            _exit(9);
        }
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail("a child");
    }
}

/* Communicators that are never freed, made by threads in a different order at each rank. */
static void *one_sum(void *arg)
{
    int sum;
    usleep((useconds_t)(rank * 997 % 5) * 1000);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, *(MPI_Comm *)arg);
    if (sum != ranks * (ranks - 1) / 2)
        fail("a sum");
    return NULL;
}

static void order(void)
{
    static MPI_Comm comm[4];
    pthread_t t[4];
    int i;
    for (i = 0; i < 4; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    for (i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, one_sum, &comm[(i + rank) % 4]);
    for (i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

/*
 * Ranks that disagree on the length get an error from the handler of their communicator. MPICH calls that of
 * MPI_COMM_WORLD first, whenever it waits for a message.
 */
static int handled;
static void handler(MPI_Comm *comm, int *err, ...)
{
    (void)comm, (void)err;
    handled++;
}

static void mismatch(void)
{
    int x[4] = {1, 2, 3, 4}, err;
    MPI_Comm comm;
    MPI_Errhandler h;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &comm);
    MPI_Barrier(comm);
    MPI_Comm_create_errhandler(handler, &h);
    MPI_Comm_set_errhandler(comm, h);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
    err = MPI_Bcast(x, rank % 2 == 0 ? 4 : 2, MPI_INT, 0, comm);
    if (rank % 2 == 1 && (err == MPI_SUCCESS || !handled))
        fail("no error");
    PMPI_Barrier(MPI_COMM_WORLD);
}

/* Ranks that start such an operation without blocking get the error when they wait, at the latest. */
static void mismatch_begun(void)
{
    int x[4] = {1, 2, 3, 4}, err;
    MPI_Request q;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    err = MPI_Ibcast(x, rank % 2 == 0 ? 4 : 2, MPI_INT, 0, MPI_COMM_WORLD, &q);
    if (!err)
        err = MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (rank % 2 == 1 && err == MPI_SUCCESS)
        fail("no error");
    PMPI_Barrier(MPI_COMM_WORLD);
}

/* Threads begin operations, each on its communicator, and wait for them at the same time. */
static void *begin(void *arg)
{
    enum { AT_ONCE = 5 };
    MPI_Comm comm = *(MPI_Comm *)arg;
    MPI_Request q[AT_ONCE];
    int i, k, sum[AT_ONCE], flag;
    for (k = 0; k < 60; k++) {
        for (i = 0; i < AT_ONCE; i++)
            MPI_Iallreduce(&rank, &sum[i], 1, MPI_INT, MPI_SUM, comm, &q[i]);
        for (flag = k % 3 == 0; !flag;)
            MPI_Testall(AT_ONCE, q, &flag, MPI_STATUSES_IGNORE);
        if (k % 3 == 0)
            MPI_Waitall(AT_ONCE, q, MPI_STATUSES_IGNORE);
        for (i = 0; i < AT_ONCE; i++)
            if (sum[i] != ranks * (ranks - 1) / 2)
                fail("a sum of a thread");
    }
    return NULL;
}

static void threads_begin(void)
{
    static MPI_Comm comm[4];
    pthread_t t[4];
    int i;
    for (i = 0; i < 4; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
        MPI_Barrier(comm[i]);
    }
    for (i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, begin, &comm[i]);
    for (i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    for (i = 0; i < 4; i++)
        MPI_Comm_free(&comm[i]);
}

/*
 * Threads of Go sleep a millisecond longer than they ask for, so they take no cores from ranks that compute. The
 * program's own threads sleep as before.
 */
static void slack(void)
{
    DIR *threads = opendir("/proc/self/task");
    struct dirent *d;
    char path[300];
    long ns;
    int known = 0, lazy = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (prctl(PR_GET_TIMERSLACK) != slack_before)
        fail("the program's thread has another timer slack");
    while (threads && (d = readdir(threads))) {
        FILE *f;
        snprintf(path, sizeof path, "/proc/%s/timerslack_ns", d->d_name);
        if (atoi(d->d_name) == getpid() || !(f = fopen(path, "r")))
            continue;
        if (fscanf(f, "%ld", &ns) == 1) { /* some systems tell only root */
            known++;
            lazy += ns == 1000000;
        }
        fclose(f);
    }
    if (threads)
        closedir(threads);
    if (known && !lazy)
        fail("no thread of Go has timer slack");
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } all[] = {
        {"rendezvous", rendezvous}, {"forwarding", forwarding}, {"threads", threads}, {"many", many}, {"few", few}, {"exhausted", exhausted}, {"alive", alive},
        {"short-lived", short_lived}, {"not-for-long", not_for_long}, {"long-lived", long_lived}, {"children", children}, {"mismatch", mismatch},
        {"profiled", profiled}, {"profiled-before", profiled_before}, {"profiled-on-stack", profiled_on_stack}, {"fork", forks}, {"order", order},
        {"mismatch-begun", mismatch_begun}, {"threads-begin", threads_begin}, {"slack", slack},
    };
    int provided, i, multiple;
    if (argc != 2)
        return 2;
    slack_before = prctl(PR_GET_TIMERSLACK);
    multiple = !strncmp(argv[1], "threads", 7) || !strcmp(argv[1], "order");
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (multiple && provided != MPI_THREAD_MULTIPLE)
        fail("this MPI has no threads");
    for (i = 0; i < (int)(sizeof all / sizeof *all); i++)
        if (!strcmp(argv[1], all[i].name))
            all[i].run();
    MPI_Finalize();
    return 0;
}
