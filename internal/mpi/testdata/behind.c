/* Calls the MPI's own function by its second name, so the library is not in front of it. */
#include <schedgen.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    double x = 1, sum;
    MPI_Init(&argc, &argv);
    PMPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, SCHEDGEN_EXACT_SUM, MPI_COMM_WORLD);
    printf("it has a sum\n");
    MPI_Finalize();
    return 0;
}
