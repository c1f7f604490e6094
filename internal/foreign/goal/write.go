package goal

import (
	"bufio"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/foreign/dag"
)

// Write writes a graph as text that [Parse] accepts. One unit of a message's size becomes unit
// bytes. The text does not say what messages carry. An operation keeps its name from the graph if
// that is a label, and otherwise gets a label that no other operation has. A rank without
// operations gets a calculation of zero time, because LogGOPSim crashes on an empty rank. Write
// fails if a message is longer than Parse accepts.
func Write(w io.Writer, g *dag.Graph, unit int) error {
	longest := g.Message
	for _, ops := range g.Ranks {
		for i := range ops {
			longest = max(longest, ops[i].Size)
		}
	}
	if unit < 0 || unit > 0 && longest > maxBytes/unit {
		return fmt.Errorf("a message of %d times %d bytes: must have 0..%d bytes", longest, unit, maxBytes)
	}
	out := bufio.NewWriter(w)
	if g.Message > 0 {
		fmt.Fprintf(out, "// message: %db\n", g.Message*unit)
	}
	fmt.Fprintf(out, "num_ranks %d\n", len(g.Ranks))
	for rank, ops := range g.Ranks {
		fmt.Fprintf(out, "\nrank %d {\n", rank)
		writeRank(out, ops, unit)
		fmt.Fprintln(out, "}")
	}
	return out.Flush()
}

// writeRank writes the operations of a rank. It writes the requirements of an operation as soon as
// all the operations they name are written.
func writeRank(out *bufio.Writer, ops []dag.Op, unit int) {
	if len(ops) == 0 {
		fmt.Fprintln(out, "idle: calc 0")
	}
	labels := labelsOf(ops)
	// by operation: the operations whose requirements are written behind it
	due := make([][]int, len(ops))
	for i := range ops {
		last := i
		for _, a := range dag.Before(ops, i) {
			last = max(last, shown(ops, a))
		}
		if ops[i].StartOf == 0 {
			due[last] = append(due[last], i)
		}
	}
	for i := range ops {
		if ops[i].StartOf > 0 {
			continue
		}
		fmt.Fprintf(out, "%s: ", labels[i])
		writeOp(out, &ops[i], unit)
		for _, d := range due[i] {
			for _, a := range dag.Before(ops, d) {
				word := "requires"
				if ops[a].StartOf > 0 {
					word = "irequires"
				}
				fmt.Fprintf(out, "%s %s %s\n", labels[d], word, labels[shown(ops, a)])
			}
		}
	}
}

// shown returns the operation that represents operation a in the text. For a start it is the
// operation that starts.
func shown(ops []dag.Op, a int32) int {
	if s := ops[a].StartOf; s > 0 {
		return int(s - 1)
	}
	return int(a)
}

// writeOp writes an operation after its label.
func writeOp(out *bufio.Writer, op *dag.Op, unit int) {
	switch op.Kind {
	case dag.Send:
		fmt.Fprintf(out, "send %db to %d", op.Size*unit, op.Peer)
	case dag.Recv:
		fmt.Fprintf(out, "recv %db from %d", op.Size*unit, op.Peer)
	default:
		fmt.Fprintf(out, "calc %d", op.Time)
	}
	for _, option := range []struct {
		name string
		of   int
	}{{"tag", op.Tag}, {"cpu", int(op.CPU)}, {"nic", int(op.NIC)}} {
		if option.of != 0 {
			fmt.Fprintf(out, " %s %d", option.name, option.of)
		}
	}
	fmt.Fprintln(out)
}

// labelsOf returns the labels of a rank's operations.
func labelsOf(ops []dag.Op) []string {
	labels, taken := make([]string, len(ops)), make(map[string]bool)
	for i := range ops {
		if name := ops[i].Name; ops[i].StartOf == 0 && isLabel(name) && !taken[name] {
			labels[i], taken[name] = name, true
		}
	}
	next := 0
	for i := range ops {
		if ops[i].StartOf > 0 || labels[i] != "" {
			continue
		}
		for ; labels[i] == "" || taken[labels[i]]; next++ {
			labels[i] = fmt.Sprintf("o%d", next)
		}
	}
	return labels
}

func isLabel(name string) bool {
	if name == "" || len(name) > maxWord || !isLetter(name[0]) {
		return false
	}
	for i := range len(name) {
		if !isWord(name[i]) {
			return false
		}
	}
	return true
}
