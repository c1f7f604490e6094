! Every function of mpi_f08 that the library defines, without its optional last argument.
program optional
   use mpi_f08
   implicit none
   type(MPI_Comm) :: comm
   type(MPI_Request) :: q(2)
   type(MPI_Status) :: s(2)
   integer :: rank, ranks, i, n, level, done, indices(2), wrong
   integer, allocatable :: counts(:), starts(:), all(:), back(:)
   logical :: flag
   character(len=8) :: how

   call get_command_argument(1, how)
   if (how == 'thread') then
      call MPI_Init_thread(MPI_THREAD_FUNNELED, level)
   else
      call MPI_Init()
   end if
   comm = MPI_COMM_WORLD
   call MPI_Comm_rank(comm, rank)
   call MPI_Comm_size(comm, ranks)
   wrong = 0
   n = ranks*(ranks - 1)/2
   counts = [(1, i=1, ranks)]
   starts = [(i - 1, i=1, ranks)]
   allocate (all(ranks), back(ranks))

   call MPI_Barrier(comm)
   i = rank + 7
   call MPI_Bcast(i, 1, MPI_INTEGER, 0, comm)
   call check(i == 7)
   call MPI_Reduce(rank, i, 1, MPI_INTEGER, MPI_SUM, 0, comm)
   call check(rank /= 0 .or. i == n)
   call MPI_Allreduce(rank, i, 1, MPI_INTEGER, MPI_SUM, comm)
   call check(i == n)
   call MPI_Scan(rank, i, 1, MPI_INTEGER, MPI_SUM, comm)
   call check(i == rank*(rank + 1)/2)
   call MPI_Exscan(rank, i, 1, MPI_INTEGER, MPI_SUM, comm)
   call check(rank == 0 .or. i == rank*(rank - 1)/2)
   all = rank
   call MPI_Reduce_scatter_block(all, i, 1, MPI_INTEGER, MPI_SUM, comm)
   call check(i == n)
   call MPI_Reduce_scatter(all, i, counts, MPI_INTEGER, MPI_SUM, comm)
   call check(i == n)
   call MPI_Allgather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, comm)
   call check(sum(all) == n)
   call MPI_Alltoall(all, 1, MPI_INTEGER, back, 1, MPI_INTEGER, comm)
   call check(sum(back) == rank*ranks)
   call MPI_Gather(rank, 1, MPI_INTEGER, back, 1, MPI_INTEGER, 0, comm)
   call check(rank /= 0 .or. sum(back) == n)
   call MPI_Scatter(all, 1, MPI_INTEGER, i, 1, MPI_INTEGER, 0, comm)
   call check(i == rank)
   call MPI_Allgatherv(rank, 1, MPI_INTEGER, back, counts, starts, MPI_INTEGER, comm)
   call check(sum(back) == n)
   call MPI_Gatherv(rank, 1, MPI_INTEGER, back, counts, starts, MPI_INTEGER, 0, comm)
   call check(sum(back) == n)
   call MPI_Scatterv(all, counts, starts, MPI_INTEGER, i, 1, MPI_INTEGER, 0, comm)
   call check(i == rank)
   call MPI_Alltoallv(all, counts, starts, MPI_INTEGER, back, counts, starts, MPI_INTEGER, comm)
   call check(sum(back) == rank*ranks)

   call MPI_Ibarrier(comm, q(1))
   call MPI_Wait(q(1), MPI_STATUS_IGNORE)
   i = rank + 7
   call MPI_Ibcast(i, 1, MPI_INTEGER, 0, comm, q(1))
   call MPI_Wait(q(1), s(1))
   call check(i == 7)
   call MPI_Ireduce(rank, i, 1, MPI_INTEGER, MPI_SUM, 0, comm, q(1))
   call MPI_Waitall(1, q, MPI_STATUSES_IGNORE)
   call check(rank /= 0 .or. i == n)
   call MPI_Iallreduce(rank, i, 1, MPI_INTEGER, MPI_SUM, comm, q(1))
   flag = .false.
   do while (.not. flag)
      call MPI_Request_get_status(q(1), flag, s(1)) ! Open MPI 4.1.4 hangs with MPI_STATUS_IGNORE
   end do
   flag = .false.
   do while (.not. flag)
      call MPI_Test(q(1), flag, MPI_STATUS_IGNORE)
   end do
   call check(i == n)
   call MPI_Iscan(rank, i, 1, MPI_INTEGER, MPI_SUM, comm, q(1))
   flag = .false.
   do while (.not. flag)
      call MPI_Testall(1, q, flag, MPI_STATUSES_IGNORE)
   end do
   call check(i == rank*(rank + 1)/2)
   call MPI_Iexscan(rank, i, 1, MPI_INTEGER, MPI_SUM, comm, q(1))
   flag = .false.
   do while (.not. flag)
      call MPI_Testany(1, q, done, flag, MPI_STATUS_IGNORE)
   end do
   call check(rank == 0 .or. i == rank*(rank - 1)/2)
   all = rank
   call MPI_Ireduce_scatter_block(all, i, 1, MPI_INTEGER, MPI_SUM, comm, q(1))
   done = 0
   do while (done == 0)
      call MPI_Testsome(1, q, done, indices, MPI_STATUSES_IGNORE)
   end do
   call check(i == n)
   call MPI_Ireduce_scatter(all, i, counts, MPI_INTEGER, MPI_SUM, comm, q(1))
   call MPI_Waitany(1, q, done, MPI_STATUS_IGNORE)
   call check(i == n)
   call MPI_Iallgather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, comm, q(1))
   call MPI_Waitsome(1, q, done, indices, MPI_STATUSES_IGNORE)
   call check(sum(all) == n)
   call MPI_Ialltoall(all, 1, MPI_INTEGER, back, 1, MPI_INTEGER, comm, q(1))
   call MPI_Wait(q(1), MPI_STATUS_IGNORE)
   call check(sum(back) == rank*ranks)
   call MPI_Igather(rank, 1, MPI_INTEGER, back, 1, MPI_INTEGER, 0, comm, q(1))
   call MPI_Wait(q(1), MPI_STATUS_IGNORE)
   call check(rank /= 0 .or. sum(back) == n)
   call MPI_Iscatter(all, 1, MPI_INTEGER, i, 1, MPI_INTEGER, 0, comm, q(1))
   call MPI_Wait(q(1), MPI_STATUS_IGNORE)
   call check(i == rank)
   call MPI_Iallgatherv(rank, 1, MPI_INTEGER, back, counts, starts, MPI_INTEGER, comm, q(1))
   call MPI_Wait(q(1), MPI_STATUS_IGNORE)
   call check(sum(back) == n)
   call MPI_Igatherv(rank, 1, MPI_INTEGER, back, counts, starts, MPI_INTEGER, 0, comm, q(1))
   call MPI_Wait(q(1), MPI_STATUS_IGNORE)
   call check(sum(back) == n)
   call MPI_Iscatterv(all, counts, starts, MPI_INTEGER, i, 1, MPI_INTEGER, 0, comm, q(1))
   call MPI_Wait(q(1), MPI_STATUS_IGNORE)
   call check(i == rank)
   call MPI_Ialltoallv(all, counts, starts, MPI_INTEGER, back, counts, starts, MPI_INTEGER, comm, q(1))
   call MPI_Wait(q(1), MPI_STATUS_IGNORE)
   call check(sum(back) == rank*ranks)

   call MPI_Recv_init(i, 1, MPI_INTEGER, MPI_PROC_NULL, 0, comm, q(1))
   call MPI_Start(q(1))
   call MPI_Wait(q(1), MPI_STATUS_IGNORE)
   call MPI_Startall(1, q)
   call MPI_Wait(q(1), MPI_STATUS_IGNORE)
   call MPI_Request_free(q(1))
   call check(q(1) == MPI_REQUEST_NULL)

   if (wrong /= 0) call MPI_Abort(comm, 3)
   call MPI_Finalize()

contains
   subroutine check(ok)
      logical, intent(in) :: ok
      if (.not. ok) wrong = wrong + 1
   end subroutine
end program
