package chakra

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/foreign/dag"
)

// node is a node as it stands in a trace.
type node struct {
	id     uint64
	name   string
	kind   uint64
	deps   []uint64 // of data_deps and ctrl_deps
	micros uint64

	src, dst, size, tag, tensor attribute
}

// attribute is the value of an attribute.
type attribute struct {
	given   bool
	integer bool // value is its value
	value   int64
}

// read reads a node. If that fails, n.id may be set all the same.
func (n *node) read(m []byte) error {
	return eachField(m, func(f field) (err error) {
		switch f.number {
		case nodeID:
			n.id, err = f.varint()
		case nodeName:
			var name []byte
			name, err = f.text()
			n.name = string(name)
		case nodeType:
			n.kind, err = f.varint()
		case nodeCtrlDeps, nodeDataDeps:
			n.deps, err = f.appendNumbers(n.deps)
		case nodeDuration:
			n.micros, err = f.varint()
		case nodeAttr:
			err = f.attribute(n.attribute)
		}
		return err
	})
}

// attribute returns the attribute with a name, or nil if no operation depends on it.
func (n *node) attribute(name string) *attribute {
	switch name {
	case attrSrc:
		return &n.src
	case attrDst:
		return &n.dst
	case attrSize:
		return &n.size
	case attrTag:
		return &n.tag
	case attrTensor:
		return &n.tensor
	}
	return nil
}

// attribute reads an attribute from a field, if find knows its name.
func (f *field) attribute(find func(name string) *attribute) error {
	m, err := f.text()
	if err != nil {
		return err
	}
	var name string
	a := attribute{given: true}
	err = eachField(m, func(f field) error {
		if f.number == attrName {
			text, err := f.text()
			name = string(text)
			return err
		}
		if v, ok := f.integer(); ok {
			a.integer, a.value = true, v
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("attribute %.40q: %w", name, err)
	}
	if to := find(name); to != nil {
		if to.given {
			return fmt.Errorf("two attributes %s", name)
		}
		*to = a
	}
	return nil
}

// within returns the value of an attribute in lo … hi, or 0 if it is not given.
func (a *attribute) within(name string, lo, hi int) (int, error) {
	switch {
	case !a.given:
		return 0, nil
	case !a.integer:
		return 0, fmt.Errorf("%s is no integer", name)
	case a.value < int64(lo) || a.value > int64(hi):
		return 0, fmt.Errorf("%s is %d: must be in %d..%d", name, a.value, lo, hi)
	}
	return int(a.value), nil
}

// op returns the operation of a node of a rank.
func (n *node) op(rank, ranks int) (dag.Op, error) {
	op := dag.Op{Name: n.name, Line: int(n.id)}
	const nanos = 1000 // of a microsecond
	switch n.kind {
	case typeMetadata:
		return op, nil
	case typeComp:
		if n.micros > maxTime/nanos {
			return op, fmt.Errorf("takes %d µs: at most %d", n.micros, maxTime/nanos)
		}
		op.Time = int(n.micros * nanos)
		var err error
		op.Size, err = n.tensor.within(attrTensor, 0, maxBytes)
		return op, err
	case typeSend:
		op.Kind = dag.Send
		err := n.message(&op, rank, ranks, end{attrSrc, &n.src}, end{attrDst, &n.dst})
		return op, err
	case typeRecv:
		op.Kind = dag.Recv
		err := n.message(&op, rank, ranks, end{attrDst, &n.dst}, end{attrSrc, &n.src})
		return op, err
	}
	name := fmt.Sprintf("type %d", n.kind)
	if n.kind < uint64(len(typeNames)) {
		name = typeNames[n.kind]
	}
	return op, fmt.Errorf("%s is not supported: schedgen reads sends, receives and computations", name)
}

// end is an attribute with the rank of an end of a message.
type end struct {
	name string
	*attribute
}

// message fills in the message of an operation. The attribute own must be the rank of the trace if
// it is given, and peer is the other rank.
func (n *node) message(op *dag.Op, rank, ranks int, own, peer end) error {
	if own.given && (!own.integer || own.value != int64(rank)) {
		return fmt.Errorf("%s is not %d, the rank of the trace", own.name, rank)
	}
	if !peer.given {
		return fmt.Errorf("has no %s", peer.name)
	}
	if !n.size.given {
		return errors.New("has no " + attrSize)
	}
	if peer.integer && peer.value >= int64(ranks) {
		return fmt.Errorf("%s is %d, and there are traces of ranks 0 … %d alone", peer.name, peer.value, ranks-1)
	}
	var err error
	if op.Peer, err = peer.within(peer.name, 0, ranks-1); err != nil {
		return err
	}
	if op.Size, err = n.size.within(attrSize, 0, maxBytes); err != nil {
		return err
	}
	op.Tag, err = n.tag.within(attrTag, 0, maxTag)
	return err
}
