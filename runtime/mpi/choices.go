package mpi

import "github.com/schedgen/schedgen/schedule"

// Operation is the number of an operation in tables, as enum operation of tables.h has it.
type Operation int

// The operations. Those whose names end in V have blocks of different lengths.
const (
	Barrier Operation = iota
	Bcast
	Reduce
	Allreduce
	ReduceScatter
	Scan
	Exscan
	Allgather
	Gather
	Scatter
	Alltoall
	AllgatherV
	GatherV
	ScatterV
	AlltoallV
)

// Choice is a schedule for blocks of some length. Of several choices for an operation the last one
// counts whose Least is not more than the bytes of a block.
type Choice struct {
	Operation Operation
	Least     int // bytes
	Algorithm string
	Params    schedule.Params // Ranks is left out
	Auto      int             // engine auto takes it among so many ranks at most: measured to be no slower than the MPIs; 0: never
	Most      int             // ranks beyond which it is left out; 0: none
}

// Choices returns what the library takes over, by engine c. Auto is for those that were faster than the
// MPI's own, or as fast, in all of these: Open MPI 4.1 and MPICH 4.0, shared memory and TCP, 2, 4 and 8 ranks
// (bench/mpi/turn.c; docs/mpi.md has the others). Where contributions must be folded in the order of the
// ranks, choices with another order do not count.
func Choices() []Choice {
	// A message to each other rank is as many rules: tables of more ranks would be too long.
	const everyRank = 64
	return []Choice{
		{Operation: Barrier, Algorithm: "barrier/dissemination", Params: schedule.Params{Degree: 2}},
		{Operation: Bcast, Algorithm: "bcast/binomial"},
		{Operation: Bcast, Least: 512 << 10, Algorithm: "bcast/scatter-allgather", Most: everyRank},
		{Operation: Reduce, Algorithm: "reduce/binomial"},
		{Operation: Reduce, Least: 32 << 10, Algorithm: "reduce/binomial", Params: schedule.Params{Chunks: 4}},
		{Operation: Allreduce, Algorithm: "allreduce/doubling"},
		{Operation: Allreduce, Least: 16 << 10, Algorithm: "allreduce/halving", Most: everyRank},
		{Operation: ReduceScatter, Algorithm: "reduce-scatter/halving", Most: everyRank},
		{Operation: ReduceScatter, Least: 64 << 10, Algorithm: "reduce-scatter/pairwise", Most: everyRank},
		{Operation: Scan, Algorithm: "scan/doubling"},
		{Operation: Exscan, Algorithm: "exscan/doubling"},
		{Operation: Allgather, Algorithm: "allgather/doubling"},
		{Operation: Allgather, Least: 16 << 10, Algorithm: "allgather/linear", Most: everyRank},
		{Operation: Allgather, Least: 64 << 10, Algorithm: "allgather/linear", Auto: 8, Most: everyRank},
		{Operation: AllgatherV, Algorithm: "allgather/doubling", Most: everyRank},
		{Operation: AllgatherV, Least: 16 << 10, Algorithm: "allgather/linear", Most: everyRank},
		{Operation: Gather, Algorithm: "gather/binomial"},
		{Operation: Gather, Least: 8 << 10, Algorithm: "gather/linear"},
		{Operation: GatherV, Algorithm: "gather/linear"},
		{Operation: Scatter, Algorithm: "scatter/binomial"},
		{Operation: Scatter, Least: 8 << 10, Algorithm: "scatter/linear"},
		{Operation: ScatterV, Algorithm: "scatter/linear"},
		{Operation: Alltoall, Algorithm: "alltoall/bruck", Most: everyRank},
		{Operation: Alltoall, Least: 256, Algorithm: "alltoall/linear", Most: everyRank},
		{Operation: AlltoallV, Algorithm: "alltoall/linear", Most: everyRank},
	}
}
