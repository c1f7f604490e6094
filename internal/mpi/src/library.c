/*
 * This library performs collective operations of an MPI program in place of MPI, without a change
 * to the program or to MPI. It is loaded before them (LD_PRELOAD), does nothing until the program's
 * first collective operation (with SCHEDGEN_MPI=go, until the end of MPI_Init), and leaves to MPI
 * every operation that it does not know. It creates nothing for a communicator before that has had
 * some operations, because then most of its operations are still to come.
 *
 * It is a single file for the compiler: the included files are in the same folder.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interpreter.h"

#include "ranks.h"
#include "handles.h"
#include "types.h"
#include "tables.h"
#include "rules.h"
#include "times.h"
#include "communicators.h"
#include "signals.h"
#include "go.h"
#include "turns.h"
#include "messages.h"
#include "collectives.h"
#include "requests.h"
#include "attributes.h"
#include "arguments.h"
#include "ordered.h"
#include "wrappers.h"
#include "tune.h"
#include "persistent.h"
#include "nonblocking.h"
#include "profile.h"
#include "large.h"
#include "rootless.h"
#include "fortran.h"
