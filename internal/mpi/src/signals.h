/*
 * Signals while Go runs. Code in Go has small stacks, on which no handler of the program may run.
 * So a thread blocks signals while it is in Go if a handler runs on the current stack. For the
 * other handlers, it has a signal stack larger than Go's. Threads of Go block all asynchronous
 * signals except SIGPROF, which Go requires. So a handler of the library receives SIGPROF, and
 * forwards a signal that arrives at a thread of Go to the program's first thread.
 */
static int stays;       /* a handler runs on the current stack */
static int go_is_there; /* the library in Go is open, or about to be */
static sigset_t held_back;
static pthread_key_t stack_key;
static struct sigaction profiler; /* the program's handler of SIGPROF */
enum { HANDLER_STACK = 256 << 10, GO_STACK = 32 << 10 };

static int real_sigaction(int signal, const struct sigaction *act, struct sigaction *old)
{
    static int (*next)(int, const struct sigaction *, struct sigaction *);
    if (!next)
        next = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
    return next(signal, act, old);
}

/* The handler of SIGPROF. It recognizes a thread of Go by the size of its signal stack. */
static void on_profile(int signal, siginfo_t *info, void *context)
{
    stack_t stack;
    if (!sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK && stack.ss_size == GO_STACK) {
        syscall(SYS_tgkill, getpid(), getpid(), signal);
        return;
    }
    if (profiler.sa_flags & SA_SIGINFO)
        profiler.sa_sigaction(signal, info, context);
    else
        profiler.sa_handler(signal);
}

/*
 * Reports whether a handler belongs to the MPI or to a library below it. Such handlers are short,
 * and return.
 */
static int is_of_mpi(void (*handler)(int))
{
    static const char *const names[] = {"libmpi", "libopen-", "libucs", "libprrte", "libpmix"};
    const char *slash, *name;
    Dl_info info;
    size_t i;
    if (!dladdr((void *)handler, &info) || !info.dli_fname)
        return 0;
    slash = strrchr(info.dli_fname, '/');
    name = slash ? slash + 1 : info.dli_fname;
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return 1;
    return 0;
}

/* Records a handler of the program. */
static void note_handler(int signal, const struct sigaction *act)
{
    struct sigaction ours = *act;
    if (act->sa_handler == SIG_DFL || act->sa_handler == SIG_IGN || sigismember(&held_back, signal) == 0)
        return;
    if (signal == SIGPROF) {
        profiler = *act;
        ours.sa_sigaction = on_profile;
        ours.sa_flags |= SA_ONSTACK | SA_SIGINFO;
        real_sigaction(signal, &ours, NULL);
    } else if (act->sa_flags & SA_ONSTACK) {
        return;
    } else if (is_of_mpi(act->sa_handler)) {
        ours.sa_flags |= SA_ONSTACK;
        real_sigaction(signal, &ours, NULL);
    } else {
        __atomic_store_n(&stays, 1, __ATOMIC_RELEASE);
    }
}

static void look_at(int signal)
{
    struct sigaction act;
    if (!real_sigaction(signal, NULL, &act) && act.sa_sigaction != on_profile)
        note_handler(signal, &act);
}

/* Runs before Go is loaded. Go's threads block what is blocked then. */
static void prepare_signals(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    size_t i;
    int signal;
    sigfillset(&held_back);
    for (i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&held_back, faults[i]);
    go_is_there = 1;
    for (signal = 1; signal < SIGRTMAX; signal++)
        look_at(signal);
}

__attribute__((visibility("default"))) int sigaction(int signal, const struct sigaction *act, struct sigaction *old)
{
    int err, shown = go_is_there && signal == SIGPROF;
    struct sigaction before = profiler;
    if ((err = real_sigaction(signal, act, old)))
        return err;
    if (shown && old && old->sa_sigaction == on_profile)
        *old = before;
    if (act && go_is_there)
        note_handler(signal, act);
    return 0;
}

#define SIGNAL(name) \
    __attribute__((visibility("default"))) void (*name(int number, void (*handler)(int)))(int) \
    { \
        static void (*(*next)(int, void (*)(int)))(int); \
        void (*old)(int), (*before)(int) = profiler.sa_handler; \
        if (!next) \
            next = (void (*(*)(int, void (*)(int)))(int))dlsym(RTLD_NEXT, #name); \
        old = next(number, handler); \
        if (old != SIG_ERR && go_is_there) \
            look_at(number); \
        if (number == SIGPROF && old == (void (*)(int))(void *)on_profile) \
            old = before; \
        return old; \
    }
SIGNAL(signal)
SIGNAL(bsd_signal)
SIGNAL(sysv_signal)
SIGNAL(__sysv_signal)
SIGNAL(sigset)

static void drop_stack(void *at)
{
    stack_t none = {.ss_flags = SS_DISABLE};
    if (!sigaltstack(&none, NULL))
        munmap(at, HANDLER_STACK);
}

/* Gives the thread a signal stack, unless it has one. */
static void need_stack(void)
{
    static __thread int has;
    stack_t old, own = {.ss_size = HANDLER_STACK};
    if (has)
        return;
    has = 1;
    if (sigaltstack(NULL, &old) || !(old.ss_flags & SS_DISABLE))
        return;
    own.ss_sp = mmap(NULL, HANDLER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own.ss_sp == MAP_FAILED)
        return;
    if (sigaltstack(&own, NULL))
        munmap(own.ss_sp, HANDLER_STACK);
    else
        pthread_setspecific(stack_key, own.ss_sp);
}

/* What a thread does before and after a call of Go. */
static int hold_back(sigset_t *old)
{
    int holds = __atomic_load_n(&stays, __ATOMIC_ACQUIRE);
    need_stack();
    if (holds)
        pthread_sigmask(SIG_BLOCK, &held_back, old);
    return holds;
}

static void let_through(int holds, const sigset_t *old)
{
    if (holds)
        pthread_sigmask(SIG_SETMASK, old, NULL);
}
