package goal

import "github.com/schedgen/schedgen/internal/foreign/dag"

// rank is the rank that is being read.
type rank struct {
	opList   []dag.Op
	labels   map[string]int32
	together [][2]int32 // pairs: the first operation starts no earlier than the second starts
}

func newRank() rank { return rank{labels: make(map[string]int32)} }

// define adds an operation. label is the zero token if the operation has none.
func (r *rank) define(s *scanner, label token, op dag.Op) {
	i := int32(len(r.opList))
	if label.text != "" {
		if was, twice := r.labels[label.text]; twice {
			s.failAt(label.line, label.col, "label %s is defined twice, first in line %d", label.text, r.opList[was].Line)
			return
		}
		r.labels[label.text] = i
	}
	r.opList = append(r.opList, op)
}

func (r *rank) find(s *scanner, label token) int32 {
	i, ok := r.labels[label.text]
	if !ok {
		s.failAt(label.line, label.col, "label %s is not defined in this rank before it is used", label.text)
	}
	return i
}

// finish returns the operations of the rank. If other operations wait for the start of an
// operation, finish cuts that operation in two. The new first part is a start without duration,
// which gets the requirements. The operation and all operations that wait for its start then
// require that first part.
func (r *rank) finish() []dag.Op {
	starts := make(map[int32]int32)
	for _, pair := range r.together {
		a, b := pair[0], pair[1]
		start, known := starts[b]
		if !known {
			start = int32(len(r.opList))
			starts[b] = start
			op := &r.opList[b]
			r.opList = append(r.opList, dag.Op{StartOf: b + 1, Name: op.Name, Line: op.Line, After: op.After})
			r.opList[b].After = []int32{start}
		}
		r.waitForStart(starts, a, start)
	}
	return r.opList
}

// waitForStart makes operation a wait for start. If the start of a has been cut off, that start
// waits instead.
func (r *rank) waitForStart(starts map[int32]int32, a, start int32) {
	if own, cut := starts[a]; cut {
		a = own
	}
	r.opList[a].After = append(r.opList[a].After, start)
}
