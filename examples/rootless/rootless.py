"""Publishes, asks and adds up exactly from Python, with mpi4py.

    schedgen mpi --header DIR
    mpirun -n 3 python3 rootless.py DIR

The library is loaded before mpi4py, so that MPI_Allreduce reaches it.
"""
import ctypes
import sys

schedgen = ctypes.CDLL(sys.argv[1] + "/libschedgen.so", ctypes.RTLD_GLOBAL)
from mpi4py import MPI  # noqa: E402

ANSWER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)


def handle(of):
    """The handle in C of an object of mpi4py, as an argument."""
    return ctypes.c_size_t(MPI._handleof(of))


def check(err):
    if err:
        MPI.COMM_WORLD.Abort(err)  # schedgen has said why


def exact_sum():
    """SCHEDGEN_EXACT_SUM as an object of mpi4py."""
    op, whole = MPI.Op(), MPI._sizeof(MPI.Op) == 8
    schedgen.schedgen_exact_sum.restype = ctypes.c_uint64 if whole else ctypes.c_uint32
    at = (ctypes.c_uint64 if whole else ctypes.c_uint32).from_address(MPI._addressof(op))
    at.value = schedgen.schedgen_exact_sum()
    return op


@ANSWER
def square(origin, question, size, values, unused):
    asked = ctypes.c_double.from_address(question).value
    ctypes.c_double.from_address(values).value = asked**2


comm = MPI.COMM_WORLD
world = handle(comm)
check(schedgen.schedgen_open(world))
check(schedgen.schedgen_answer(world, 1, handle(MPI.DOUBLE), handle(MPI.SUM), square, None, None))

if comm.rank == 1:
    check(schedgen.schedgen_publish(world, b"hello", ctypes.c_size_t(5)))
else:
    word, origin, size = ctypes.create_string_buffer(100), ctypes.c_int(), ctypes.c_size_t()
    check(schedgen.schedgen_next(world, word, ctypes.c_size_t(100), ctypes.byref(origin), ctypes.byref(size)))
    print(f"rank {comm.rank} has got {word.raw[:size.value].decode()} from rank {origin.value}", flush=True)

if comm.rank == 0:
    asked, total = ctypes.c_double(3), ctypes.c_double()
    check(schedgen.schedgen_ask(world, ctypes.byref(asked), ctypes.c_size_t(8), ctypes.byref(total)))
    print(f"all say {total.value:.1f}", flush=True)

mine = {0: 1e16, comm.size - 1: -1e16}.get(comm.rank, 1.0)
x, total = (ctypes.c_double * 1)(mine), (ctypes.c_double * 1)()
comm.Allreduce([x, MPI.DOUBLE], [total, MPI.DOUBLE], op=exact_sum())
if comm.rank == 0:
    print(f"the exact sum is {total[0]:.1f}", flush=True)
comm.Barrier()
