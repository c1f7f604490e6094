package main

import "fmt"

// What ranks reach each other by.
const (
	wireTCP = "tcp" // the loopback interface; ours also multicasts on it
	wireShm = "shm" // shared memory
)

// The operations, as in schedgen bench.
const (
	opBarrier      = "barrier"
	opBcast        = "bcast"
	opBcastAck     = "bcast_ack"
	opBcastBarrier = "bcast_barrier"
)

var operations = []string{opBarrier, opBcast, opBcastAck, opBcastBarrier}

// cell is what is compared: everybody does the same there.
type cell struct {
	wire  string
	op    string
	ranks int
	bytes int // 0 for a barrier
}

func (c cell) String() string {
	if c.op == opBarrier {
		return fmt.Sprintf("%s %s P=%d", c.wire, c.op, c.ranks)
	}
	return fmt.Sprintf("%s %s %s P=%d", c.wire, c.op, size(c.bytes), c.ranks)
}

// size spells a number of bytes.
func size(n int) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// cells returns all combinations, those of one operation and size together.
func cells(wires, ops []string, ranks, sizes []int) []cell {
	var out []cell
	for _, wire := range wires {
		for _, op := range ops {
			of := sizes
			if op == opBarrier {
				of = []int{0}
			}
			for _, bytes := range of {
				for _, p := range ranks {
					out = append(out, cell{wire, op, p, bytes})
				}
			}
		}
	}
	return out
}

// iterations says how often the operation is done in one measurement: as often
// as a second in all allows, at least where there is little to be moved. A few
// milliseconds would show processes that are only starting.
func (c cell) iterations(quick bool) int {
	n := 8000 / c.ranks
	switch {
	case c.bytes >= 256<<10:
		n = 1200 / max(c.ranks, 8)
	case c.bytes >= 32<<10:
		n = 3200 / max(c.ranks, 8)
	}
	if c.wire == wireShm {
		n *= 20
	}
	if quick {
		n /= 2
	}
	return max(n, 20)
}

// warmups is how often it is done before, as in schedgen bench.
func warmups(iterations int) int { return max(iterations/10, 10) }
