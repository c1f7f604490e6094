/*
 * A shim for LD_PRELOAD that helps MPICH (over UCX) if there are more ranks than
 * cores. MPICH's ranks poll without ever giving up their core, so a rank with
 * work waits for the end of another rank's time slice. With this shim a poll
 * that finds nothing yields.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <sys/epoll.h>

typedef unsigned (*progress_function)(void *worker);
typedef int (*wait_function)(int, struct epoll_event *, int, int);

/* Called for every poll, whatever the transports; it counts what it found. */
unsigned ucp_worker_progress(void *worker)
{
    static progress_function real;
    if (!real)
        real = (progress_function)dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned found = real(worker);
    if (!found)
        sched_yield();
    return found;
}

/* The same for polls of TCP from elsewhere. */
int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
    static wait_function real;
    if (!real)
        real = (wait_function)dlsym(RTLD_NEXT, "epoll_wait");
    int found = real(fd, events, n, timeout);
    if (!found && timeout == 0)
        sched_yield();
    return found;
}
