! Persistent collective operations from Fortran.
program persistent
#ifdef MODERN
  use mpi_f08
  implicit none
  type(MPI_Request) :: q(2), one
#else
  use mpi
  implicit none
  integer :: q(2), one
#endif
  integer, parameter :: most = 16
  integer :: rank, ranks, err, i, all, ignored, ones(most), places(most)
  integer, asynchronous :: x, y, total, from(most), to(most)
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
    call expect(total == all .and. y == i, 'allreduce and bcast')
  end do
  call MPI_Request_free(q(1), err)
  call MPI_Request_free(q(2), err)
  call expect(q(1) == MPI_REQUEST_NULL .and. q(2) == MPI_REQUEST_NULL, 'requests that are freed')

  all = ranks * (ranks - 1) / 2
  ones = 1
  do i = 1, most
    places(i) = i - 1
  end do
  from = rank
  call MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  call MPI_Reduce_init(from, to, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  call expect(rank > 0 .or. to(1) == all, 'reduce')
  call MPI_Scan_init(from, to, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  call expect(to(1) == rank * (rank + 1) / 2, 'scan')
  call MPI_Exscan_init(from, to, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  call expect(rank == 0 .or. to(1) == rank * (rank - 1) / 2, 'exscan')
  call MPI_Reduce_scatter_block_init(from, to, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  call expect(to(1) == all, 'reduce_scatter_block')
  call MPI_Reduce_scatter_init(from, to, ones, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  call expect(to(1) == all, 'reduce_scatter')
  call MPI_Allgather_init(from, 1, MPI_INTEGER, to, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  call ascending('allgather')
  call MPI_Allgatherv_init(from, 1, MPI_INTEGER, to, ones, places, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  call ascending('allgatherv')
  call MPI_Alltoall_init(from, 1, MPI_INTEGER, to, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  call ascending('alltoall')
  call MPI_Alltoallv_init(from, ones, places, MPI_INTEGER, to, ones, places, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  call ascending('alltoallv')
  call MPI_Gather_init(from, 1, MPI_INTEGER, to, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  if (rank == 0) call ascending('gather')
  call MPI_Gatherv_init(from, 1, MPI_INTEGER, to, ones, places, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  if (rank == 0) call ascending('gatherv')
  call MPI_Scatter_init(places, 1, MPI_INTEGER, to, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  call expect(to(1) == rank, 'scatter')
  call MPI_Scatterv_init(places, ones, places, MPI_INTEGER, to, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, one, err)
  call once
  call expect(to(1) == rank, 'scatterv')
  call MPI_Finalize(err)

contains
  subroutine once
    to = -1
    call MPI_Start(one, err)
    call MPI_Wait(one, MPI_STATUS_IGNORE, err)
    call MPI_Request_free(one, err)
  end subroutine

  subroutine ascending(what)
    character(*), intent(in) :: what
    call expect(all_ascend(), what)
  end subroutine

  logical function all_ascend()
    integer :: k
    all_ascend = .true.
    do k = 1, ranks
      all_ascend = all_ascend .and. to(k) == k - 1
    end do
  end function

  subroutine expect(yes, what)
    logical, intent(in) :: yes
    character(*), intent(in) :: what
    if (.not. yes) then
      print *, 'rank', rank, ': wrong: ', what, ', x', x, y, total, to(1:ranks)
      call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
    end if
  end subroutine
end program
