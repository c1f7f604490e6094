package chakra

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/ir"
)

// Error is the error of a trace. A reader reports only the first fault.
type Error struct {
	Rank int    // the rank of the trace
	Msg  string // the byte or the node, and what is wrong
	Err  error  // the cause, such as the error of the underlying reader; may be nil
}

// Error returns the rank and the message.
func (e *Error) Error() string { return fmt.Sprintf("the trace of rank %d: %s", e.Rank, e.Msg) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Parse reads the traces of ranks 0 … ranks-1, which open returns. It is strict: the error is an
// [*Error] with the first fault. It reads streams and needs memory in proportion to the input read,
// whatever numbers a trace claims.
//
// Parse refuses nodes that stand for more than one message, such as COMM_COLL_NODE, and nodes that
// use remote memory. A METADATA_NODE is work that takes no time.
func Parse(ranks int, open func(rank int) (io.ReadCloser, error)) (*dag.Graph, error) {
	if ranks < 1 || ranks > ir.MaxRanks {
		return nil, fmt.Errorf("traces of %d ranks: must be 1..%d", ranks, ir.MaxRanks)
	}
	p := &parser{ranks: ranks, graph: dag.Graph{Unit: "bytes", Place: "node"}}
	for rank := range ranks {
		if err := p.readRank(rank, open); err != nil {
			return nil, err
		}
	}
	return &p.graph, nil
}

// parser holds what is read so far.
type parser struct {
	graph dag.Graph
	ranks int
	nodes int // of all ranks
	edges int // dependencies of all ranks
}

func (p *parser) readRank(rank int, open func(rank int) (io.ReadCloser, error)) error {
	file, err := open(rank)
	if err != nil {
		return &Error{rank, err.Error(), err}
	}
	defer file.Close() // read only: nothing to lose
	t := newTrace(p, rank, file)
	if err := t.read(); err != nil {
		return &Error{rank, err.Error(), err}
	}
	p.graph.Ranks = append(p.graph.Ranks, t.ops)
	return nil
}

// trace is the trace that is being read.
type trace struct {
	*parser
	*messages
	rank  int
	ops   []dag.Op
	index map[uint64]int32 // by id of a node
	deps  []uint64         // the ids of the nodes before each node, one list after the other
	ends  []int            // by node: the end of its list in deps
}

func newTrace(p *parser, rank int, r io.Reader) *trace {
	return &trace{parser: p, messages: &messages{in: bufio.NewReader(r)}, rank: rank, index: make(map[uint64]int32)}
}

func (t *trace) read() error {
	switch head, err := t.in.Peek(2); {
	case string(head) == "\x1f\x8b":
		return errors.New("the file is compressed by gzip: uncompress it first")
	case err != nil && !errors.Is(err, io.EOF):
		return err
	}
	m, err := t.next()
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty: a trace begins with a GlobalMetadata")
	case err == nil:
		err = t.metadata(m)
	}
	if err != nil {
		return t.located(err)
	}
	for {
		m, err := t.next()
		if errors.Is(err, io.EOF) {
			return t.resolve()
		}
		if err != nil {
			return t.located(err)
		}
		var n node
		if err := n.read(m); err != nil {
			return t.located(fmt.Errorf("node %d: %w", n.id, err))
		}
		if err := t.add(&n); err != nil {
			return fmt.Errorf("node %d: %w", n.id, err)
		}
	}
}

// located puts the place of the last message before an error.
func (t *trace) located(err error) error { return fmt.Errorf("byte %d: %w", t.at, err) }

// metadata reads the first message.
func (t *trace) metadata(m []byte) error {
	var length attribute
	err := eachField(m, func(f field) error {
		switch f.number {
		case metadataVersion:
			_, err := f.text()
			return err
		case metadataAttr:
			return f.attribute(func(name string) *attribute {
				if name == attrBlockSize {
					return &length
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the first message is no GlobalMetadata: %w", err)
	}
	block, err := length.within(attrBlockSize, 0, maxBytes)
	if err != nil {
		return err
	}
	if t.rank > 0 && block != t.graph.Message {
		return fmt.Errorf("%s is %d, and in the trace of rank 0 %d", attrBlockSize, block, t.graph.Message)
	}
	t.graph.Message = block
	return nil
}

// add adds a node.
func (t *trace) add(n *node) error {
	if t.nodes++; t.nodes > maxNodes {
		return fmt.Errorf("more than %d nodes", maxNodes)
	}
	if t.edges += len(n.deps); t.edges > maxDeps {
		return fmt.Errorf("more than %d dependencies", maxDeps)
	}
	if n.id > 1<<63-1 {
		return errors.New("an id must have at most 63 bits")
	}
	if _, twice := t.index[n.id]; twice {
		return errors.New("a second node with this id")
	}
	op, err := n.op(t.rank, t.ranks)
	if err != nil {
		return err
	}
	t.index[n.id] = int32(len(t.ops))
	t.ops, t.deps = append(t.ops, op), append(t.deps, n.deps...)
	t.ends = append(t.ends, len(t.deps))
	return nil
}

// resolve turns the ids of dependencies into indices. A node may depend on a later one.
func (t *trace) resolve() error {
	from := 0
	for i := range t.ops {
		deps := t.deps[from:t.ends[i]]
		from = t.ends[i]
		if len(deps) == 0 {
			continue
		}
		after := make([]int32, 0, len(deps))
		for _, id := range deps {
			before, known := t.index[id]
			if !known {
				return fmt.Errorf("node %d: depends on node %d, which the trace does not have", t.ops[i].Line, id)
			}
			after = append(after, before)
		}
		t.ops[i].After = after
	}
	return nil
}
