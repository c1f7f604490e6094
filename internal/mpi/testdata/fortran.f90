! Collective operations from Fortran, with MPI_IN_PLACE: module mpi, or mpi_f08 with -DMODERN.
program fortran
#ifdef MODERN
   use mpi_f08
   implicit none
   type(MPI_Comm) :: comm
#else
   use mpi
   implicit none
   integer :: comm
#endif
   integer :: rank, ranks, err, i, wrong
   integer :: one(3), all(300), counts(100), starts(100)
   double precision :: x, sum

   call MPI_Init(err)
   comm = MPI_COMM_WORLD
   call MPI_Comm_rank(comm, rank, err)
   call MPI_Comm_size(comm, ranks, err)
   wrong = 0

   one = 0
   if (rank == ranks - 1) one = (/4, 5, 6/)
   call MPI_Bcast(one, 3, MPI_INTEGER, ranks - 1, comm, err)
   if (any(one /= (/4, 5, 6/))) wrong = wrong + 1

   x = rank + 0.5d0
   call MPI_Allreduce(x, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm, err)
   if (sum /= ranks * ranks / 2d0) wrong = wrong + 1
   call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm, err)
   if (x /= sum) wrong = wrong + 1

   one = rank
   call MPI_Allgather(one, 3, MPI_INTEGER, all, 3, MPI_INTEGER, comm, err)
   do i = 0, ranks - 1
      if (any(all(3 * i + 1:3 * i + 3) /= i)) wrong = wrong + 1
      counts(i + 1) = 2
      starts(i + 1) = 3 * i
   end do
   all = -1
   call MPI_Gatherv(one, 2, MPI_INTEGER, all, counts, starts, MPI_INTEGER, 0, comm, err)
   if (rank == 0 .and. (all(1) /= 0 .or. all(3 * ranks - 1) /= ranks - 1 .or. all(3 * ranks) /= -1)) wrong = wrong + 1

   i = rank + 1
   call MPI_Scan(MPI_IN_PLACE, i, 1, MPI_INTEGER, MPI_SUM, comm, err)
   if (i /= (rank + 1) * (rank + 2) / 2) wrong = wrong + 1
   call MPI_Barrier(comm, err)

   call MPI_Reduce(wrong, i, 1, MPI_INTEGER, MPI_MAX, 0, comm, err)
   if (wrong /= 0) call MPI_Abort(comm, 3, err)
   call MPI_Finalize(err)
end program
