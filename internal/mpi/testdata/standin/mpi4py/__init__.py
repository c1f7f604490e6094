"""What an example uses of mpi4py, for MPICH: Debian has mpi4py for Open MPI only.

Like mpi4py, it leaves the MPI out of the global scope, and calls what is in front of the MPI there.
"""
