package compare

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/ir"
)

// The wires by which ranks reach each other.
const (
	wireTCP = "tcp" // the loopback interface; schedgen also multicasts on it
	wireShm = "shm" // shared memory
)

// The operations of schedgen bench with one block or none.
const (
	opBarrier      = "barrier"
	opBcast        = "bcast"
	opBcastAck     = "bcast_ack"
	opBcastBarrier = "bcast_barrier"
)

// operations returns all operations that can be compared: the operations above, and each collective
// of the table that folds or whose blocks differ from rank to rank. The program of the peers,
// internal/lab/mpi/micro.c, has all of them. The result has no collective in which ranks answer a
// question, because no MPI has one.
func operations() []string {
	all := []string{opBarrier, opBcast, opBcastAck, opBcastBarrier}
	for _, row := range ir.Collectives() {
		if row.Question == 0 && (movesBlocks(row.Name) || folds(row.Name)) {
			all = append(all, row.Name)
		}
	}
	return all
}

// collective returns the name of the collective that an operation calls.
func collective(op string) string {
	if slices.Contains([]string{opBcastAck, opBcastBarrier}, op) {
		return opBcast
	}
	return op
}

// movesBlocks reports whether the operation moves blocks that differ from rank to rank.
func movesBlocks(op string) bool {
	row, ok := ir.CollectiveNamed(collective(op))
	return ok && row.Blocks != nil && row.Blocks(2) > 1 && row.Inputs == nil
}

// folds reports whether the operation folds what ranks contribute.
func folds(op string) bool {
	row, ok := ir.CollectiveNamed(collective(op))
	return ok && row.Inputs != nil
}

// cell is a case in which all contenders do the same.
type cell struct {
	wire  string
	op    string
	ranks int
	bytes int // bytes of the message or of each block; 0 for a barrier
}

func (c cell) String() string {
	if c.op == opBarrier {
		return fmt.Sprintf("%s %s P=%d", c.wire, c.op, c.ranks)
	}
	return fmt.Sprintf("%s %s %s P=%d", c.wire, c.op, words.Size(int64(c.bytes)), c.ranks)
}

// cells returns all combinations, grouped by operation and size. sizes are the lengths of a
// broadcast's message, blocks are the lengths of a block, and vectors are the lengths of a block of
// a folded result.
func cells(wires, ops []string, ranks, sizes, blocks, vectors []int) []cell {
	var out []cell
	for _, wire := range wires {
		for _, op := range ops {
			of := sizes
			switch {
			case op == opBarrier:
				of = []int{0}
			case movesBlocks(op):
				of = blocks
			case folds(op):
				of = vectors
			}
			for _, bytes := range of {
				for _, p := range ranks {
					if folds(op) && bytes > longVector && p > 4 {
						continue
					}
					out = append(out, cell{wire, op, p, bytes})
				}
			}
		}
	}
	return out
}

// iterations returns the number of operations in one measurement. For small messages the
// measurement takes about a second. A measurement of a few milliseconds would only show the start
// of processes.
func (c cell) iterations(quick bool) int {
	n := 8000 / c.ranks
	moved := c.bytes // bytes that the operation moves, divided by c.ranks
	if movesBlocks(c.op) || folds(c.op) {
		moved = c.received()
		n /= 2
	}
	switch {
	case moved >= 4<<20:
		n = max(256<<20/moved/c.ranks, 5)
	case c.bytes >= 256<<10:
		n = 1200 / max(c.ranks, 8)
	case c.bytes >= 32<<10:
		n = 3200 / max(c.ranks, 8)
	case moved >= 64<<10:
		n = 3200 / c.ranks
	}
	switch {
	case c.wire == wireShm && !movesBlocks(c.op) && !folds(c.op):
		n *= 20
	case c.wire == wireShm:
		n *= 4
	}
	if quick {
		n /= 2
	}
	return max(n, 20)
}

// longVector is the largest number of bytes of a vector that is folded among more than a few ranks.
const longVector = 4 << 20

// received returns the number of bytes that the busiest rank has at the end.
func (c cell) received() int {
	row, _ := ir.CollectiveNamed(collective(c.op))
	most := 0
	for rank := range c.ranks {
		most = max(most, row.Wanted(c.ranks, 0, rank).Count)
	}
	return most * c.bytes
}

// warmups returns the number of operations before the measurement, as in schedgen bench.
func warmups(iterations int) int { return max(iterations/10, 10) }
