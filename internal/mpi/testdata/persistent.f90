! Persistent collective operations from Fortran.
program persistent
#ifdef MODERN
  use mpi_f08
  implicit none
  type(MPI_Request) :: q(2)
#else
  use mpi
  implicit none
  integer :: q(2)
#endif
  integer :: rank, ranks, err, i, all, ignored
  integer, asynchronous :: x, y, total
  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, err)
  call MPI_Allreduce_init(x, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, q(1), err)
  call MPI_Bcast_init(y, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, MPI_INFO_NULL, q(2), err)
  do i = 1, 10
    x = rank * i
    y = -1
    if (rank == ranks - 1) y = i
    if (i > 5) then
      call MPI_Startall(2, q, err)
    else
      call MPI_Start(q(1), err)
      call MPI_Start(q(2), err)
    end if
    if (mod(i, 2) == 0) then
      call MPI_Waitall(2, q, MPI_STATUSES_IGNORE, err)
    else
      call MPI_Wait(q(2), MPI_STATUS_IGNORE, err)
      call MPI_Wait(q(1), MPI_STATUS_IGNORE, err)
    end if
    all = i * ranks * (ranks - 1) / 2
    if (total /= all .or. y /= i) then
      print *, 'rank', rank, 'start', i, ': has', total, y
      call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
    end if
  end do
  call MPI_Request_free(q(1), err)
  call MPI_Request_free(q(2), err)
  call MPI_Finalize(err)
end program
