package runtime

import (
	"fmt"
	"strconv"
)

// Place is a process's position among the processes that were started with it.
type Place struct {
	Rank, Size int
	Source     string // what said so: "SCHEDGEN_RANK and SCHEDGEN_SIZE", "PMI_RANK and PMI_SIZE", …
}

// launchers are the variables of programs that start the ranks of a job. The
// first are our own: explicit settings win.
var launchers = []struct{ rank, size string }{
	{"SCHEDGEN_RANK", "SCHEDGEN_SIZE"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, // Open MPI
	{"PMI_RANK", "PMI_SIZE"},                         // MPICH, Intel MPI
	{"SLURM_PROCID", "SLURM_NTASKS"},                 // srun; set only inside a step
	{"RANK", "WORLD_SIZE"},                           // torchrun
}

// FindPlace reads rank and size from the variables that launchers set; getenv
// is [os.Getenv]. Explicit settings, SCHEDGEN_RANK and SCHEDGEN_SIZE, win;
// otherwise launchers that contradict each other are refused, and so is a
// rank without a size.
func FindPlace(getenv func(string) string) (Place, error) {
	var found *Place
	for i, l := range launchers {
		p, err := placeFrom(getenv, l.rank, l.size)
		if err != nil {
			return Place{}, fmt.Errorf("rank and size from the environment: %w", err)
		}
		switch {
		case p == nil:
		case i == 0:
			return *p, nil
		case found == nil:
			found = p
		case found.Rank != p.Rank || found.Size != p.Size:
			return Place{}, fmt.Errorf("rank and size from the environment: %s say rank %d of %d, %s say rank %d of %d; set SCHEDGEN_RANK and SCHEDGEN_SIZE",
				found.Source, found.Rank, found.Size, p.Source, p.Rank, p.Size)
		}
	}
	if found == nil {
		return Place{}, fmt.Errorf("%w: no launcher's variables in the environment; set SCHEDGEN_RANK and SCHEDGEN_SIZE", ErrInput)
	}
	return *found, nil
}

func placeFrom(getenv func(string) string, rankVar, sizeVar string) (*Place, error) {
	rank, size := getenv(rankVar), getenv(sizeVar)
	switch {
	case rank == "" && size == "":
		return nil, nil
	case rank == "" || size == "":
		return nil, fmt.Errorf("%w: %s is %q but %s is %q", ErrInput, rankVar, rank, sizeVar, size)
	}
	r, err := strconv.Atoi(rank)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInput, rankVar, err)
	}
	n, err := strconv.Atoi(size)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInput, sizeVar, err)
	}
	if n < 1 || r < 0 || r >= n {
		return nil, fmt.Errorf("%w: %s is %d, %s is %d", ErrInput, rankVar, r, sizeVar, n)
	}
	return &Place{Rank: r, Size: n, Source: rankVar + " and " + sizeVar}, nil
}

// Blocks returns the number of hosts if ranks lie on them as Params.Hosts of
// package schedule assumes: in contiguous blocks, as even as possible, rank r
// on host ⌊r·hosts/ranks⌋. It is 0 if they do not. host is by rank; what
// numbers hosts have does not matter.
func Blocks[T comparable](host []T) int {
	hosts := 0
	for r := range host {
		if r == 0 || host[r] != host[r-1] {
			hosts++
		}
	}
	seen := make(map[T]int, hosts)
	for r, h := range host {
		block := r * hosts / len(host)
		if first, known := seen[h]; known && first != block {
			return 0
		}
		seen[h] = block
	}
	if len(seen) != hosts {
		return 0
	}
	return hosts
}

// hostsAbove returns the hosts for which algorithms run between masters; 0 if
// there is nothing to be had from that: one host, or one rank on each.
func hostsAbove(caps Caps, size int) int {
	if caps.Hosts > 1 && caps.Hosts < size {
		return caps.Hosts
	}
	return 0
}
