package core

import "github.com/schedgen/schedgen/ir"

// area is one of the memories in which the bytes of an operation lie.
type area uint8

const (
	areaOut   area = iota // Buffers.Out: the blocks that the rank wants
	areaIn                // Buffers.In: its contributions, and then the other blocks that it holds
	areaRelay             // memory of the core: the blocks that it only relays
	areaCells             // memory of the core: partial results
	areas
)

// place says where the bytes of a slot lie.
type place struct {
	area area
	item int // number of a block or cell in its area
	part int // number of a chunk in its block; 0 for a partial result
}

// memory holds the bytes of one operation. With places.of, which knows nothing of lengths, it is
// the only map from slots to bytes: for all collectives, equal and unequal blocks, relays, folds,
// windows and the quick path.
type memory struct {
	areas   [areas]items
	n       int  `state:"ignored"` // bytes of an item without a length of its own
	per     int  `state:"ignored"` // chunks of a block
	element int  `state:"ignored"` // bytes of an element: chunks are cut at elements
	uneven  bool `state:"ignored"` // an area has items with lengths of their own
	apart   int  `state:"ignored"` // bytes of contributions that lie behind the partial results, because results may overwrite the caller's
}

// items lie one behind the other in an area.
type items struct {
	bytes []byte
	at    []int `state:"ignored"` // if they have lengths of their own: the start of each in bytes, and the end of the last one
}

// bounds returns the start and end of item i. Items without lengths of their own have n bytes.
func (a *items) bounds(i, n int) (lo, hi int) {
	if len(a.at) > 0 {
		return a.at[i], a.at[i+1]
	}
	return i * n, (i + 1) * n
}

// set makes m the memory of an operation whose blocks have at most b.Block bytes. The memory for
// relayed blocks is kept from the last operation.
func (m *memory) set(pl *places, b *Buffers) {
	m.n, m.per, m.element, m.apart = b.Block, pl.per, 1, 0
	if b.Fold != nil {
		m.element = b.Fold.Element
	}
	if m.uneven {
		for i := range m.areas {
			m.areas[i].at = m.areas[i].at[:0]
		}
		m.uneven = false
	}
	m.areas[areaOut].bytes, m.areas[areaIn].bytes = b.Out, b.In
	relayed := len(pl.relayed) * b.Block
	if c := b.Counts; c != nil {
		m.uneven = true
		m.areas[areaOut].space(c.Out, c.Element)
		m.areas[areaIn].space(c.In, c.Element)
		relayed = m.spaceRelayed(pl)
	}
	if m.areas[areaRelay].bytes != nil || relayed > 0 {
		m.areas[areaRelay].bytes = grown(m.areas[areaRelay].bytes, relayed)
	}
}

// space gives items lengths of their own, in elements.
func (a *items) space(counts []int, element int) {
	a.at = a.at[:0]
	end := 0
	for _, n := range counts {
		a.at = append(a.at, end)
		end += n * max(1, element)
	}
	a.at = append(a.at, end)
}

// spaceRelayed gives relayed blocks the lengths of the contributions that they fold, and returns
// their bytes. Without a fold the rank knows no length of theirs, and gets none: see Plan.Counted.
func (m *memory) spaceRelayed(pl *places) (end int) {
	a, in := &m.areas[areaRelay], &m.areas[areaIn]
	a.at = append(a.at[:0], 0)
	for _, block := range pl.relayed {
		if pl.folds {
			lo, hi := in.bounds(block, m.n)
			end += hi - lo
		}
		a.at = append(a.at, end)
	}
	a.at = append(a.at, end) // the place of blocks that the rank does not use: see places.of
	return end
}

// bounds returns the start and end of p in its area.
func (m *memory) bounds(p place) (lo, hi int) {
	lo, hi = m.areas[p.area].bounds(p.item, m.n)
	if m.per > 1 && p.area != areaCells {
		from, to := m.cut(hi-lo, p.part)
		return lo + from, lo + to
	}
	return lo, hi
}

// cut returns the start and end of chunk k in a block of n bytes.
func (m *memory) cut(n, k int) (lo, hi int) {
	if m.element <= 1 {
		return ir.ChunkBounds(n, m.per, k)
	}
	lo, hi = ir.ChunkBounds(n/m.element, m.per, k)
	return lo * m.element, hi * m.element
}

// bytes returns the bytes at p.
func (m *memory) bytes(p place) []byte {
	lo, hi := m.bounds(p)
	return m.span(p.area, lo, hi)
}

// block returns the bytes at p, a whole block that the rank does not only relay, or a partial result.
func (m *memory) block(p place) []byte {
	a := &m.areas[p.area]
	lo, hi := a.bounds(p.item, m.n)
	return a.bytes[lo:hi:hi]
}

// span returns bytes lo … hi-1 of an area.
func (m *memory) span(in area, lo, hi int) []byte {
	a := &m.areas[in]
	if in == areaRelay && hi > len(a.bytes) {
		a.bytes = grown(a.bytes, hi) // a block that the rank does not use: see places.of
	}
	return a.bytes[lo:hi:hi]
}

// inPlace reports whether contributions and results share their memory.
func (m *memory) inPlace() bool {
	in, out := m.areas[areaIn].bytes, m.areas[areaOut].bytes
	return len(in) > 0 && len(out) > 0 && &in[0] == &out[0]
}

// copyOwn copies the blocks that the rank both holds and wants to their places in the output.
func (m *memory) copyOwn(pl *places) {
	if len(pl.kept) == 0 || m.inPlace() {
		return
	}
	in, out := &m.areas[areaIn], &m.areas[areaOut]
	for _, k := range pl.kept {
		lo, hi := in.bounds(k.held, m.n)
		at, end := out.bounds(k.wanted, m.n)
		copy(out.bytes[at:end], in.bytes[lo:hi])
	}
}

// openCells makes the partial results of an operation lie in bytes, which it may replace. If apart is
// set, it copies the contributions there, too.
func (m *memory) openCells(c *cells, bytes []byte, apart bool) {
	a, in := &m.areas[areaCells], &m.areas[areaIn]
	end := len(c.parts) * m.n
	if m.per > 1 || len(in.at) > 0 {
		m.uneven, a.at, end = true, append(a.at[:0], 0), 0
		for _, part := range c.parts {
			lo, hi := m.bounds(place{areaIn, int(part) / m.per, int(part) % m.per})
			end += hi - lo
			a.at = append(a.at, end)
		}
	}
	if apart {
		m.apart = len(in.bytes)
	}
	a.bytes = grown(bytes, end+m.apart)
	if m.apart > 0 {
		copy(a.bytes[end:], in.bytes)
		in.bytes = a.bytes[end:]
	}
}

// grown returns b with n bytes and its content, in its memory if there is room.
func grown(b []byte, n int) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	more := make([]byte, n)
	copy(more, b[:cap(b)])
	return more
}
