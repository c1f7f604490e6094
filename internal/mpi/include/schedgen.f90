! schedgen.h for Fortran. Handles are integers, as in mpif.h and module mpi; with module mpi_f08 pass
! comm%MPI_VAL. See schedgen.h for what the functions do. Lengths are in bytes.
module schedgen
  use, intrinsic :: iso_c_binding
  implicit none

  abstract interface
    subroutine schedgen_answer_function(origin, question, bytes, values, with) bind(c)
      import
      integer(c_int), value :: origin
      type(c_ptr), value :: question, values, with
      integer(c_size_t), value :: bytes
    end subroutine
  end interface

  interface
    integer(c_int) function schedgen_open(comm) bind(c, name='schedgen_f_open')
      import
      integer(c_int), value :: comm
    end function

    integer(c_int) function schedgen_publish(comm, message, bytes) bind(c, name='schedgen_f_publish')
      import
      integer(c_int), value :: comm
      type(*), intent(in) :: message(*)
      integer(c_size_t), value :: bytes
    end function

    integer(c_int) function schedgen_flush(comm) bind(c, name='schedgen_f_flush')
      import
      integer(c_int), value :: comm
    end function

    integer(c_int) function schedgen_next(comm, buffer, room, origin, bytes) bind(c, name='schedgen_f_next')
      import
      integer(c_int), value :: comm
      type(*) :: buffer(*)
      integer(c_size_t), value :: room
      integer(c_int), intent(out) :: origin
      integer(c_size_t), intent(out) :: bytes
    end function

    integer(c_int) function schedgen_try_next(comm, buffer, room, origin, bytes, flag) bind(c, name='schedgen_f_try_next')
      import
      integer(c_int), value :: comm
      type(*) :: buffer(*)
      integer(c_size_t), value :: room
      integer(c_int), intent(out) :: origin, flag
      integer(c_size_t), intent(out) :: bytes
    end function

    ! answer is c_funloc of a schedgen_answer_function. learn is one too, whose values are a result,
    ! or c_null_funptr.
    integer(c_int) function schedgen_answer(comm, count, type, op, answer, learn, with) bind(c, name='schedgen_f_answer')
      import
      integer(c_int), value :: comm, count, type, op
      type(c_funptr), value :: answer, learn
      type(c_ptr), value :: with
    end function

    integer(c_int) function schedgen_ask(comm, question, bytes, values) bind(c, name='schedgen_f_ask')
      import
      integer(c_int), value :: comm
      type(*), intent(in) :: question(*)
      integer(c_size_t), value :: bytes
      type(*) :: values(*)
    end function

    integer(c_int) function schedgen_exact_sum() bind(c, name='schedgen_f_exact_sum')
      import
    end function

    ! The result takes the place of the contribution.
    integer(c_int) function schedgen_reproducible_allreduce(values, count, type, op, comm) &
        bind(c, name='schedgen_f_reproducible_allreduce')
      import
      type(*) :: values(*)
      integer(c_int), value :: count, type, op, comm
    end function
  end interface
end module
