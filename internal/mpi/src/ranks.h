/*
 * Which ranks have loaded the library. `schedgen mpi` becomes the command that starts them, and names
 * a folder in SCHEDGEN_MPI_RANKS, where each rank on this host makes a file in MPI_Init. When the
 * command ends, the library in its process counts the files, and reports ranks that have not loaded
 * the library, for example because their LD_PRELOAD was replaced. SCHEDGEN_MPI_COUNTS says which
 * process counts, "PID HOST", and SCHEDGEN_MPI_ELSEWHERE that all ranks may be on other hosts.
 */
static const char *ranks_dir(void) { return getenv("SCHEDGEN_MPI_RANKS"); }

/* The number of ranks on this host, as the launcher says, or 0. */
static int local_ranks(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"};
    const char *value;
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if ((value = getenv(names[i])))
            return atoi(value);
    return 0;
}

/* Notes in MPI_Init that this rank has loaded the library. On another host there is no such folder. */
static void note_rank(void)
{
    const char *dir = ranks_dir();
    char path[4096];
    int file;
    if (!dir || snprintf(path, sizeof path, "%s/%d.%ld", dir, local_ranks(), (long)getpid()) >= (int)sizeof path)
        return;
    if ((file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) >= 0)
        close(file);
}

#ifdef __GLIBC__
static int counts_ranks(void)
{
    const char *who = getenv("SCHEDGEN_MPI_COUNTS"), *dir = ranks_dir();
    char host[256] = "", name[256] = "";
    long pid;
    return who && dir && !gethostname(host, sizeof host - 1) && sscanf(who, "%ld %255s", &pid, name) == 2 && pid == (long)getpid() &&
           !strcmp(host, name);
}

/* Counts the ranks, when the command ends with a status. If it fails, it says itself why there are none. */
static void count_ranks(int status, void *unused)
{
    const char *dir = ranks_dir();
    DIR *d;
    struct dirent *e;
    int found = 0, most = 0, ranks;
    (void)unused;
    if (!counts_ranks() || !(d = opendir(dir))) /* a child of the command may end here as well */
        return;
    while ((e = readdir(d))) {
        char path[4096];
        if (*e->d_name == '.' || sscanf(e->d_name, "%d.", &ranks) != 1)
            continue;
        found++;
        most = ranks > most ? ranks : most;
        if (snprintf(path, sizeof path, "%s/%s", dir, e->d_name) < (int)sizeof path)
            unlink(path);
    }
    closedir(d);
    rmdir(dir);
    if (found && found < most)
        fprintf(stderr, "schedgen: mpi: %d of the %d ranks on this host ran without schedgen: they have not loaded its library\n", most - found, most);
    else if (!found && status == 0 && !getenv("SCHEDGEN_MPI_ELSEWHERE"))
        fprintf(stderr, "schedgen: mpi: all ranks ran without schedgen: none has loaded its library and called MPI_Init\n");
}

__attribute__((constructor)) static void count_ranks_at_end(void)
{
    if (counts_ranks())
        on_exit(count_ranks, NULL);
}
#endif
