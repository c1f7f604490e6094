package chakra

import (
	"bufio"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/schedgen/schedgen/internal/foreign/dag"
)

// Note is a text in the metadata of traces, which tells people about the traces.
type Note struct{ Name, Text string }

// Write writes a graph as one trace for each rank, in the order of the ranks. For each rank it
// calls create with a function that writes the trace to a file. One unit of a message's size
// becomes unit bytes. A node's id is the index of its operation. Write fails if Chakra cannot
// express an operation, and then calls create for no rank.
//
// Chakra counts microseconds, so Write rounds times. A rank without operations gets a computation
// of zero time, because ASTRA-sim refuses an empty trace. A computation that folds nothing runs on
// the CPU, because ASTRA-sim derives the time of others from what they work on if its roofline
// model is on.
func Write(create func(rank int, write func(io.Writer) error) error, g *dag.Graph, unit int, notes []Note) error {
	if unit < 0 || unit > 0 && g.Message > maxBytes/unit {
		return fmt.Errorf("a block of %d times %d bytes: must have 0..%d bytes", g.Message, unit, maxBytes)
	}
	for rank, ops := range g.Ranks {
		for i := range ops {
			if reason := unfit(&ops[i], unit); reason != "" {
				return fmt.Errorf("%s %s", g.Tell(dag.Ref{Rank: rank, I: i}), reason)
			}
		}
	}
	metadata := metadataOf(g, unit, notes)
	for rank := range g.Ranks {
		if err := create(rank, func(w io.Writer) error { return writeTrace(w, metadata, g.Ranks[rank], rank, unit) }); err != nil {
			return err
		}
	}
	return nil
}

// unfit returns why Chakra cannot express an operation, or "".
func unfit(op *dag.Op, unit int) string {
	switch {
	case op.StartOf > 0:
		return "is waited for when it starts: a node of Chakra waits for the ends of others"
	case op.CPU != 0:
		return fmt.Sprintf("is on CPU %d: Chakra numbers no CPUs", op.CPU)
	case op.NIC != 0:
		return fmt.Sprintf("is on network interface %d: Chakra numbers no interfaces", op.NIC)
	case op.Tag < 0 || op.Tag > maxTag:
		return fmt.Sprintf("has tag %d: must be in 0..%d", op.Tag, maxTag)
	case op.Size < 0 || unit > 0 && op.Size > maxBytes/unit:
		return fmt.Sprintf("has %d times %d bytes: must have 0..%d bytes", op.Size, unit, maxBytes)
	case op.Time < 0 || op.Time > maxTime:
		return fmt.Sprintf("takes %d ns: must be in 0..%d", op.Time, maxTime)
	}
	return ""
}

func metadataOf(g *dag.Graph, unit int, notes []Note) []byte {
	m := appendString(nil, metadataVersion, version)
	for _, n := range notes {
		m = appendMessage(m, metadataAttr, appendString(attr(n.Name), attrString, n.Text))
	}
	if g.Message > 0 {
		m = appendMessage(m, metadataAttr, appendUint(attr(attrBlockSize), attrInt64, uint64(g.Message*unit)))
	}
	return m
}

func writeTrace(w io.Writer, metadata []byte, ops []dag.Op, rank, unit int) error {
	out := bufio.NewWriter(w)
	if err := writeMessage(out, metadata); err != nil {
		return err
	}
	if len(ops) == 0 {
		ops = []dag.Op{{Name: "idle"}}
	}
	var m []byte
	for i := range ops {
		m = appendNode(m[:0], &ops[i], i, rank, unit)
		if err := writeMessage(out, m); err != nil {
			return err
		}
	}
	return out.Flush()
}

func writeMessage(out *bufio.Writer, m []byte) error {
	var length []byte
	if _, err := out.Write(protowire.AppendVarint(length, uint64(len(m)))); err != nil {
		return err
	}
	_, err := out.Write(m)
	return err
}

// appendNode appends the node of operation i of a rank.
func appendNode(m []byte, op *dag.Op, i, rank, unit int) []byte {
	if i > 0 { // zero is the default
		m = appendUint(m, nodeID, uint64(i))
	}
	if op.Name != "" {
		m = appendString(m, nodeName, op.Name)
	}
	m = appendUint(m, nodeType, [...]uint64{dag.Local: typeComp, dag.Send: typeSend, dag.Recv: typeRecv}[op.Kind])
	if len(op.After) > 0 {
		var deps []byte
		for _, a := range op.After {
			deps = protowire.AppendVarint(deps, uint64(a))
		}
		m = appendMessage(m, nodeDataDeps, deps)
	}
	const nanos = 1000 // of a microsecond
	if micros := (op.Time + nanos/2) / nanos; micros > 0 {
		m = appendUint(m, nodeDuration, uint64(micros))
	}
	bytes := uint64(op.Size * unit)
	if op.Kind == dag.Local {
		m = appendBool(m, attrCPU, bytes == 0)
		if bytes > 0 {
			m = appendNumber(m, attrOps, attrInt64, bytes)
			m = appendNumber(m, attrTensor, attrUint64, bytes)
		}
		return m
	}
	from, to := rank, op.Peer
	if op.Kind == dag.Recv {
		from, to = to, from
	}
	m = appendBool(m, attrCPU, false)
	m = appendNumber(m, attrSrc, attrInt32, uint64(from))
	m = appendNumber(m, attrDst, attrInt32, uint64(to))
	m = appendNumber(m, attrSize, attrInt64, bytes)
	return appendNumber(m, attrTag, attrInt32, uint64(op.Tag))
}

// attr returns the beginning of an attribute.
func attr(name string) []byte { return appendString(nil, attrName, name) }

// appendNumber appends an attribute of a node, whose value has the given field.
func appendNumber(m []byte, name string, field protowire.Number, v uint64) []byte {
	return appendMessage(m, nodeAttr, appendUint(attr(name), field, v))
}

func appendBool(m []byte, name string, v bool) []byte {
	return appendNumber(m, name, attrBool, protowire.EncodeBool(v))
}

func appendUint(m []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func appendString(m []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func appendMessage(m []byte, field protowire.Number, sub []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), sub)
}
