package schedule

import "github.com/schedgen/schedgen/ir"

// Algorithms that cut the vector into pieces. Piece i of p is the chunks ⌊iF/p⌋ … ⌊(i+1)F/p⌋-1 of a
// vector of F chunks; in a reduce-scatter, whose vector has a block a rank, a piece is the blocks of a
// host. Pieces may be empty, and these are not sent.
//
// The first chunks of all pieces are a layer, and so are the second ones, and so on. All that moves
// together in a layer goes in one message, and each layer goes its way by itself, so a vector of more
// chunks is more layers, one behind the other. All layers but the last are full: each piece has a
// chunk in them.
//
// In a vector cut into pieces, the partial results of the algorithm are numbered layer by layer, those
// of one message one behind the other. In a reduce-scatter the i-th of a layer are v<i·F>, v<i·F+1> …
// for the chunks 0, 1 … of a block.

// layer is one chunk of each piece. Its units are those chunks, ascending.
type layer struct {
	node   *node
	pieces int
	units  int // of a reduce-scatter: one a rank
	number int // which of the layers
	kind   layerKind

	first, stride int // partial result i of the algorithm is v<first+i·stride>, counted from its first one
}

type layerKind uint8

const (
	ofChunk  layerKind = iota // one chunk of the vector
	ofVector                  // the vector is one block, cut into pieces
	ofBlocks                  // a piece is the blocks of a host
	ofPairs                   // a piece is the blocks of a host and of the one that it stands for
)

// ofChunk returns chunk k of a vector by itself.
func (n *node) ofChunk(k int) layer {
	return layer{node: n, pieces: 1, units: 1, number: k, kind: ofChunk}
}

// layers returns how many layers a vector in so many pieces has.
func (n *node) layers(pieces int) int { return (n.chunks + pieces - 1) / pieces }

// ofVector returns a layer of the vector in so many pieces. In a full layer a rank has 2·pieces-3 partial
// results of the algorithm: it gets one for all pieces but one, and folds each of them; the last fold
// makes the result.
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

// before returns how many units are in the pieces before piece i.
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

// chunk returns the number of the chunk that unit g is.
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

// value returns the partial result i of the algorithm in the layer, where base partial results of whole
// vectors come before the first one.
func (c *layer) value(base, i int) ir.Slot {
	return ir.Value(base*c.node.vector + c.first + i*c.stride)
}

// parts are the pieces first, first+step …, count of them, piece 0 after the last one.
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

// span returns the units of the i-th of the pieces: from … to-1.
func (c *layer) span(p parts, i int) (from, to int) {
	piece := p.first + i*p.step
	if piece >= c.pieces {
		piece -= c.pieces
	}
	return c.before(piece), c.before(piece + 1)
}

// hold notes that partial result i is what the rank has of every unit.
func (a *arena) hold(n *node, c *layer, i int) {
	a.now = a.now[:0]
	for g := range c.units {
		a.now = append(a.now, n.slot(i, c.chunk(g)))
	}
}

// putParts writes the rule that puts what the rank has of the pieces to another one in one message. There
// they are the partial results of the algorithm from the given one on, base before its first.
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

// foldParts writes the rule that folds what the rank has of the pieces with what it gets: partial
// results of the algorithm from the given one on. What it makes comes behind them, or is the result.
// left says that what it gets comes first.
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

// putResults writes the rule that puts the results of the pieces to a rank in one message.
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

// shareParts writes the rule that puts the results of the pieces to the node's slaves.
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

// addResults adds a message with the results of the pieces to the rule that is being written.
func (a *arena) addResults(c *layer, p parts, to int) {
	first := len(a.acts)
	for i := range p.count {
		for g, end := c.span(p, i); g < end; g++ {
			a.put(ir.Chunk(c.chunk(g)), to)
		}
	}
	a.join(first)
}
