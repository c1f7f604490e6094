package schedule

import "github.com/schedgen/schedgen/ir"

// Algorithms that cut the vector into pieces. Piece i of p is the chunks ⌊iF/p⌋ … ⌊(i+1)F/p⌋-1 of a
// vector of F chunks. In a reduce-scatter the vector has a block for each rank, and a piece is the
// blocks of a host. Pieces may be empty, and empty pieces are not sent.
//
// The first chunks of all pieces are a layer, the second chunks are the next layer, and so on.
// Chunks of a layer that move together go in one message. Each layer moves independently, so a
// vector of more chunks is more layers, one behind the other. All layers except the last are full:
// each piece has a chunk in them.
//
// For a vector that is cut into pieces, the partial results of the algorithm are numbered layer by
// layer, and the partial results of one message are consecutive. In a reduce-scatter, the i-th
// partial result of a layer is v<i·F>, v<i·F+1> … for the chunks 0, 1 … of a block.

// layer is one chunk of each piece. Its units are those chunks, ascending.
type layer struct {
	node   *node
	pieces int
	units  int // number of units; in a reduce-scatter: one a rank
	number int // index of the layer
	kind   layerKind

	// Partial result i of the algorithm is v<first+i·stride>, counted from the algorithm's first.
	first, stride int
}

type layerKind uint8

const (
	ofChunk  layerKind = iota // one chunk of the vector
	ofVector                  // the vector is one block, cut into pieces
	ofBlocks                  // a piece is the blocks of a host
	ofPairs                   // a piece is the blocks of a host and of the one that it takes part for
)

// ofChunk returns a layer of chunk k of a vector alone.
func (n *node) ofChunk(k int) layer {
	return layer{node: n, pieces: 1, units: 1, number: k, kind: ofChunk}
}

// layers returns how many layers a vector has that is cut into the given number of pieces.
func (n *node) layers(pieces int) int { return (n.chunks + pieces - 1) / pieces }

// ofVector returns a layer of the vector cut into the given number of pieces. In a full layer a
// rank has 2·pieces-3 partial results of the algorithm: it gets one for each piece but one and
// folds each of these, and the last fold makes the result.
func (n *node) ofVector(pieces, number int) layer {
	return layer{
		node: n, pieces: pieces, units: min(pieces, n.chunks-number*pieces), number: number, kind: ofVector,
		first: number * max(0, 2*pieces-3), stride: 1,
	}
}

// ofBlocks returns a layer of the blocks of hosts, or of the hosts that take part and their pairs.
func (n *node) ofBlocks(kind layerKind, f int) layer {
	pieces := n.hosts
	if kind == ofPairs {
		pieces, _ = powerBelow(n.hosts)
	}
	return layer{node: n, pieces: pieces, units: n.ranks, number: f, kind: kind, first: f, stride: n.chunks}
}

// before returns how many units the pieces before piece i have.
func (c *layer) before(i int) int {
	switch c.kind {
	case ofBlocks:
		return c.node.first(i)
	case ofPairs:
		if _, rem := powerBelow(c.node.hosts); i < rem {
			return c.node.first(2 * i)
		} else {
			return c.node.first(i + rem)
		}
	}
	return i * c.units / c.pieces
}

// chunk returns the number of the chunk that is unit g.
func (c *layer) chunk(g int) int {
	switch c.kind {
	case ofChunk:
		return c.number
	case ofVector:
		return c.pieceOf(g)*c.node.chunks/c.pieces + c.number
	}
	return g*c.node.chunks + c.number
}

// pieceOf returns the piece of a vector that has unit g.
func (c *layer) pieceOf(g int) int { return ((g+1)*c.pieces+c.units-1)/c.units - 1 }

// value returns the slot of partial result i of the algorithm in the layer. base is the number of
// partial results of whole vectors that come before the algorithm's first.
func (c *layer) value(base, i int) ir.Slot {
	return ir.Value(base*c.node.vector + c.first + i*c.stride)
}

// parts are the pieces first, first+step …, count of them. Piece 0 follows the last piece.
type parts struct{ first, step, count int }

// all returns all pieces.
func (c *layer) all() parts { return parts{0, 1, c.pieces} }

// size returns how many units the pieces have.
func (c *layer) size(p parts) (units int) {
	if p.step == 1 && p.first+p.count <= c.pieces {
		return c.before(p.first+p.count) - c.before(p.first)
	}
	for i := range p.count {
		from, to := c.span(p, i)
		units += to - from
	}
	return units
}

// span returns the units from … to-1 of the i-th piece of p.
func (c *layer) span(p parts, i int) (from, to int) {
	piece := p.first + i*p.step
	if piece >= c.pieces {
		piece -= c.pieces
	}
	return c.before(piece), c.before(piece + 1)
}

// hold notes that the rank's current partial result of every unit is partial result i.
func (a *arena) hold(n *node, c *layer, i int) {
	a.now = a.now[:0]
	for g := range c.units {
		a.now = append(a.now, n.slot(i, c.chunk(g)))
	}
}

// putParts writes a rule that puts the rank's current partial results of the pieces to rank to in
// one message. There they become the partial results of the algorithm from at on. base is as in
// value.
func (a *arena) putParts(c *layer, p parts, to, base, at int) {
	from, first := a.begin(), len(a.acts)
	for i := range p.count {
		for g, end := c.span(p, i); g < end; g++ {
			a.uses(from, a.now[g])
			a.acts = append(a.acts, ir.PutAs(a.now[g], to, c.value(base, at)))
			at++
		}
	}
	a.join(first)
	a.end(from)
}

// foldParts writes a rule that folds the rank's current partial results of the pieces with the
// partial results of the algorithm from at on, which the rank has received. The new partial results
// come directly after the received ones, or are the result if makes is true. left says that the
// received ones are the left operands.
func (a *arena) foldParts(c *layer, p parts, base, at int, left, makes bool) {
	from, size := a.begin(), c.size(p)
	for i := range p.count {
		for g, end := c.span(p, i); g < end; g++ {
			theirs, ours, made := c.value(base, at), a.now[g], c.value(base, at+size)
			if makes {
				made = ir.Chunk(c.chunk(g))
			}
			a.uses(from, theirs)
			a.uses(from, ours)
			if left {
				a.fold(made, theirs, ours)
			} else {
				a.fold(made, ours, theirs)
			}
			a.now[g] = made
			at++
		}
	}
	a.end(from)
}

// putResults writes a rule that puts the results of the pieces to a rank in one message.
func (a *arena) putResults(c *layer, p parts, to int) {
	from := a.begin()
	for i := range p.count {
		for g, end := c.span(p, i); g < end; g++ {
			a.uses(from, ir.Chunk(c.chunk(g)))
		}
	}
	a.addResults(c, p, to)
	a.end(from)
}

// shareParts writes a rule that puts the results of the pieces to the node's slaves.
func (a *arena) shareParts(n *node, c *layer, p parts) {
	if n.slaves() == 0 {
		return
	}
	from := a.begin()
	for i := range p.count {
		for g, end := c.span(p, i); g < end; g++ {
			a.uses(from, ir.Chunk(c.chunk(g)))
		}
	}
	for i := range n.slaves() {
		a.addResults(c, p, n.slave(i))
	}
	a.end(from)
}

// addResults adds a message with the results of the pieces to the current rule.
func (a *arena) addResults(c *layer, p parts, to int) {
	first := len(a.acts)
	for i := range p.count {
		for g, end := c.span(p, i); g < end; g++ {
			a.put(ir.Chunk(c.chunk(g)), to)
		}
	}
	a.join(first)
}
