/* Makes an MPI with MPICH's ABI say that it is Intel MPI. */
#include <string.h>

int PMPI_Get_library_version(char *version, int *length)
{
    strcpy(version, "Intel(R) MPI Library 2021.13 for Linux* OS\n");
    *length = (int)strlen(version);
    return 0;
}
