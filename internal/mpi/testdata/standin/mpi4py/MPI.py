import atexit
import ctypes
import ctypes.util

_mpich = ctypes.CDLL(ctypes.util.find_library("mpich"))
_front = ctypes.CDLL(None)  # the global scope


class Handle:
    def __init__(self, value=0):
        self.at = ctypes.c_int(value)


class Op(Handle):
    pass


class Comm(Handle):
    def _number(self, function):
        n = ctypes.c_int()
        function(self.at, ctypes.byref(n))
        return n.value

    rank = property(lambda self: self._number(_mpich.MPI_Comm_rank))
    size = property(lambda self: self._number(_mpich.MPI_Comm_size))

    def Barrier(self):
        _mpich.MPI_Barrier(self.at)

    def Abort(self, err):
        _mpich.MPI_Abort(self.at, err)

    def Allreduce(self, send, receive, op):
        _front.MPI_Allreduce(send[0], receive[0], len(send[0]), send[1].at, op.at, self.at)


def _handleof(of):
    return of.at.value & 0xFFFFFFFF


def _addressof(of):
    return ctypes.addressof(of.at)


def _sizeof(of):
    return ctypes.sizeof(ctypes.c_int)


COMM_WORLD, DOUBLE, SUM = Comm(0x44000000), Handle(0x4C00080B), Op(0x58000003)
_mpich.MPI_Init_thread(None, None, 3, ctypes.byref(ctypes.c_int()))
atexit.register(_mpich.MPI_Finalize)
