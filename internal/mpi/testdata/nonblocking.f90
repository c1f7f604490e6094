! Nonblocking operations from Fortran, and all functions that complete them: module mpi, or mpi_f08 with
! -DMODERN.
program nonblocking
#ifdef MODERN
   use mpi_f08
   implicit none
   type(MPI_Comm) :: comm
   type(MPI_Request) :: q(3)
   type(MPI_Status) :: s(3), one_s
#else
   use mpi
   implicit none
   integer :: comm, q(3), s(MPI_STATUS_SIZE, 3), one_s(MPI_STATUS_SIZE)
#endif
   integer :: rank, ranks, err, i, k, wrong, index, done, indices(3)
   integer :: one(3), all(300)
   integer, allocatable :: counts(:), starts(:)
   double precision :: x, sum
   logical :: flag

   call MPI_Init(err)
   comm = MPI_COMM_WORLD
   call MPI_Comm_rank(comm, rank, err)
   call MPI_Comm_size(comm, ranks, err)
   wrong = 0

   call MPI_Ibarrier(comm, q(1), err)
   call MPI_Wait(q(1), one_s, err)
#ifdef MODERN
   call MPI_Ibarrier(comm, q(1))
   call MPI_Wait(q(1), MPI_STATUS_IGNORE)
   call MPI_Barrier(comm)
#else
   call MPI_Ibarrier(comm, q(1), err)
   call MPI_Wait(q(1), MPI_STATUS_IGNORE, err)
   call MPI_Barrier(comm, err)
#endif

   do k = 1, 6
      x = rank + k
      sum = 0
      one = 0
      if (rank == ranks - 1) one = (/4, 5, k/)
      call MPI_Iallreduce(x, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm, q(1), err)
      q(2) = MPI_REQUEST_NULL
      call MPI_Ibcast(one, 3, MPI_INTEGER, ranks - 1, comm, q(3), err)
      flag = .false.
      select case (k)
      case (1)
         call MPI_Waitall(3, q, s, err)
      case (2)
         do i = 1, 2
            call MPI_Waitany(3, q, index, one_s, err) ! MPICH 4.0.2 returns a wrong index in mpi_f08
         end do
      case (3)
         i = 0
         do while (i < 2)
            call MPI_Waitsome(3, q, done, indices, MPI_STATUSES_IGNORE, err)
            if (done < 1 .or. done > 2) wrong = wrong + 1
            i = i + done
         end do
      case (4)
         do while (.not. flag)
            call MPI_Testall(3, q, flag, MPI_STATUSES_IGNORE, err)
         end do
      case (5)
         i = 0
         do while (i < 2)
            call MPI_Testany(3, q, index, flag, one_s, err)
            if (flag) i = i + 1
         end do
      case (6)
         i = 0
         do while (i < 2)
            call MPI_Testsome(3, q, done, indices, s, err)
            i = i + done
         end do
      end select
      if (sum /= ranks * (ranks - 1) / 2d0 + k * ranks) wrong = wrong + 1
      if (any(one /= (/4, 5, k/))) wrong = wrong + 1
      if (q(1) /= MPI_REQUEST_NULL .or. q(3) /= MPI_REQUEST_NULL) wrong = wrong + 1
   end do

   x = rank
   call MPI_Iallreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm, q(1), err)
   flag = .false.
   do while (.not. flag)
      call MPI_Request_get_status(q(1), flag, one_s, err)
   end do
   flag = .false.
   do while (.not. flag)
      call MPI_Test(q(1), flag, MPI_STATUS_IGNORE, err)
   end do
   if (x /= ranks - 1) wrong = wrong + 1
   call MPI_Iallreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm, q(1), err)
   call MPI_Wait(q(1), MPI_STATUS_IGNORE, err)

   one = rank
   call MPI_Iallgather(one, 3, MPI_INTEGER, all, 3, MPI_INTEGER, comm, q(1), err)
   call MPI_Wait(q(1), MPI_STATUS_IGNORE, err)
   do i = 0, ranks - 1
      if (any(all(3 * i + 1:3 * i + 3) /= i)) wrong = wrong + 1
   end do
   call MPI_Ireduce(rank, i, 1, MPI_INTEGER, MPI_SUM, 0, comm, q(1), err)
   call MPI_Wait(q(1), MPI_STATUS_IGNORE, err)
   if (rank == 0 .and. i /= ranks * (ranks - 1) / 2) wrong = wrong + 1
   allocate (counts(ranks), starts(ranks))
   counts = 3
   starts = (/ (3 * (ranks - 1 - i), i = 0, ranks - 1) /)
   one = rank
   call MPI_Iallgatherv(one, 3, MPI_INTEGER, all, counts, starts, MPI_INTEGER, comm, q(1), err)
   call MPI_Wait(q(1), MPI_STATUS_IGNORE, err)
   do i = 0, ranks - 1
      if (any(all(3 * i + 1:3 * i + 3) /= ranks - 1 - i)) wrong = wrong + 1
   end do
   call MPI_Ibarrier(comm, q(1), err)
   call MPI_Wait(q(1), MPI_STATUS_IGNORE, err)

   if (wrong /= 0) call MPI_Abort(comm, 3, err)
   call MPI_Finalize(err)
end program
