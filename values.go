package schedgen

import "context"

// GatherBytes collects a value of every rank at rank root, which gets the values by rank. The other
// ranks get nil. Each rank knows only the length of its own value, which may be 0. The values may
// lie in one block of memory, which is the caller's own.
//
// If all ranks know the lengths, [Gather] is quicker. A value of more than Config.MaxBcast bytes, or
// of 2 GiB or more, is ErrTooLarge at every rank, with a [RankError] that names the value's rank.
// The communicator stays intact. The sum of the lengths has no limit but memory.
func GatherBytes(ctx context.Context, comm *Comm, value []byte, root int) ([][]byte, error) {
	if err := checkCall[byte](ctx, comm, "GatherBytes", root); err != nil {
		return nil, err
	}
	values, err := comm.under.GatherBytes(ctx, value, root)
	return values, comm.ended("GatherBytes", err)
}

// AllgatherBytes collects a value of every rank at every rank, by rank; see [GatherBytes].
func AllgatherBytes(ctx context.Context, comm *Comm, value []byte) ([][]byte, error) {
	if err := checkCall[byte](ctx, comm, "AllgatherBytes", 0); err != nil {
		return nil, err
	}
	values, err := comm.under.AllgatherBytes(ctx, value)
	return values, comm.ended("AllgatherBytes", err)
}

// AlltoallBytes sends values[r] of this rank to rank r. It returns the values of all ranks for this
// one, by rank; see [GatherBytes]. values has one value for each rank.
func AlltoallBytes(ctx context.Context, comm *Comm, values [][]byte) ([][]byte, error) {
	if err := checkCall[byte](ctx, comm, "AlltoallBytes", 0); err != nil {
		return nil, err
	}
	if size := comm.under.Size(); len(values) != size {
		return nil, comm.wrong("AlltoallBytes", "there are %d values, want %d: one for each rank", len(values), size)
	}
	got, err := comm.under.AlltoallBytes(ctx, values)
	return got, comm.ended("AlltoallBytes", err)
}

// ScatterBytes sends values[r] of rank root to rank r, and returns the value for this rank; see
// [GatherBytes]. values has one value for each rank at the root. At the other ranks it is nil.
func ScatterBytes(ctx context.Context, comm *Comm, values [][]byte, root int) ([]byte, error) {
	if err := checkCall[byte](ctx, comm, "ScatterBytes", root); err != nil {
		return nil, err
	}
	switch size := comm.under.Size(); {
	case comm.under.Rank() != root && len(values) > 0:
		return nil, comm.wrong("ScatterBytes", "there are %d values, want none: only the root, rank %d, sends values", len(values), root)
	case comm.under.Rank() == root && len(values) != size:
		return nil, comm.wrong("ScatterBytes", "there are %d values, want %d: one for each rank", len(values), size)
	}
	value, err := comm.under.ScatterBytes(ctx, values, root)
	return value, comm.ended("ScatterBytes", err)
}
