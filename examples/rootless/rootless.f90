! Rank 1 publishes a message, which the others do not expect, rank 0 asks all ranks, and all add up
! exactly: 1e16 + 1 - 1e16 is 1.
!
!     schedgen mpi --header DIR
!     mpif90 -o rootless DIR/schedgen.f90 rootless.f90 -LDIR -lschedgen -Wl,-rpath,DIR
!     mpirun -n 3 ./rootless
module answers
  use, intrinsic :: iso_c_binding
  implicit none
contains
  subroutine square(origin, question, bytes, values, with) bind(c)
    integer(c_int), value :: origin
    type(c_ptr), value :: question, values, with
    integer(c_size_t), value :: bytes
    real(c_double), pointer :: asked, answer
    call c_f_pointer(question, asked)
    call c_f_pointer(values, answer)
    answer = asked**2
  end subroutine
end module

program rootless
  use mpi
  use schedgen
  use answers
  implicit none
  integer :: rank, ranks, err, i
  integer(c_int) :: origin
  integer(c_size_t) :: bytes
  character(5) :: word
  real(c_double) :: mine(3), total(3), x

  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, err)
  call check(schedgen_open(MPI_COMM_WORLD))
  call check(schedgen_answer(MPI_COMM_WORLD, 1, MPI_DOUBLE_PRECISION, MPI_SUM, c_funloc(square), c_null_funptr, c_null_ptr))
  if (rank == 1) then
    call check(schedgen_publish(MPI_COMM_WORLD, 'hello', 5_c_size_t))
  else
    call check(schedgen_next(MPI_COMM_WORLD, word, 5_c_size_t, origin, bytes))
    print '(a, i0, 4a, i0)', 'rank ', rank, ' has got ', word, ' from rank', ' ', origin
  end if
  if (rank == 0) then
    call check(schedgen_ask(MPI_COMM_WORLD, [3d0], 8_c_size_t, total))
    print '(a, f0.1)', 'all say ', total(1)
  end if

  mine = [0d0, 1d0, 2d0]
  if (rank == 0) mine(1) = 1d16
  if (rank == 1) mine(1) = 1
  if (rank == ranks - 1) mine(1) = mine(1) - 1d16
  call MPI_Allreduce(mine, total, 3, MPI_DOUBLE_PRECISION, schedgen_exact_sum(), MPI_COMM_WORLD, err)
  call check(err)
  x = mine(1)
  call check(schedgen_reproducible_allreduce(mine, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD))
  if (rank == 0) print '(a, 3(f0.1, 1x))', 'the exact sums are ', (total(i), i = 1, 3)
  if (mine(3) /= total(3)) call check(1)
  call MPI_Finalize(err)
contains
  subroutine check(err)
    integer, value :: err
    integer :: ignored
    if (err /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, err, ignored)
  end subroutine
end program
