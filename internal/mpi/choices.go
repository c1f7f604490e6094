package mpi

import "github.com/schedgen/schedgen/schedule"

// Operation is the number of an operation in tables, as in enum operation of tables.h.
type Operation int

// The operations. An operation whose name ends in V has blocks of different lengths.
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

// Collectives are the names of the collectives, by operation.
var Collectives = [...]string{
	Barrier: schedule.Barrier, Bcast: schedule.Bcast, Reduce: schedule.Reduce, Allreduce: schedule.Allreduce,
	ReduceScatter: schedule.ReduceScatter, Scan: schedule.Scan, Exscan: schedule.Exscan,
	Allgather: schedule.Allgather, Gather: schedule.Gather, Scatter: schedule.Scatter, Alltoall: schedule.Alltoall,
	AllgatherV: schedule.Allgather, GatherV: schedule.Gather, ScatterV: schedule.Scatter, AlltoallV: schedule.Alltoall,
}

// Choice is a schedule for blocks from some length on. For a given block, the last choice of an
// operation whose Least does not exceed the block's length applies.
type Choice struct {
	Operation Operation
	Least     int // length of a block in bytes
	Algorithm string
	Params    schedule.Params // without Ranks
	Auto      int             // greatest number of ranks for which engine auto uses it, as measured to be no slower than the MPIs; 0: never
	Most      int             // number of ranks beyond which it is left out; 0: no limit
}

// Choices returns the schedules by which engine c serves operations. Auto is set for schedules that
// were no slower than the MPI's own operations in all of these cases: Open MPI 4.1 and MPICH 4.0,
// shared memory and TCP, 2, 4 and 8 ranks (internal/lab/mpi/turn.c; docs/notes/mpi.md has the
// others). If contributions must be folded in the order of the ranks, choices with another order do
// not apply.
func Choices() []Choice {
	// Where each rank sends to every other rank, the tables of more ranks would be too long.
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
