package wire

// Pace is what it costs to move bytes between ranks that share the memory of one host. It is
// measured there, so that choices depend on the machine on which the ranks run. nil stands for
// [TypicalPace].
type Pace struct {
	Ring  uint32 // ps a byte: one rank copies it into a ring of shared memory, and another one out of the ring
	Pull  uint32 // ps a byte: the system copies it out of another rank's memory; MaxPace: the system refuses to
	Call  uint32 // ns: the system copies a few bytes out of another rank's memory
	Line  uint32 // ns: a rank reads a cache line that a rank on another core has written; a message there and back takes about two
	Fold  uint32 // ps a byte: a rank adds one vector to another one
	Yield uint32 // ns: a rank gives its core away, and gets it back at once because no other rank needs it
	Cores uint32 // cores on which ranks may run
}

// MaxPace is the greatest value of a cost.
const MaxPace = 1 << 20

// typical has the costs of an Intel Xeon with two cores.
var typical = Pace{Ring: 69, Pull: 33, Call: 600, Line: 100, Fold: 40, Yield: 400, Cores: 2}

// TypicalPace returns the costs that count where none are measured: those of a machine with two
// cores.
func TypicalPace() Pace { return typical }

// Or returns p, or the typical costs if p is nil.
func (p *Pace) Or() *Pace {
	if p == nil {
		return &typical
	}
	return p
}

// Valid reports whether all costs are within their bounds.
func (p *Pace) Valid() bool {
	for _, v := range []uint32{p.Ring, p.Pull, p.Call, p.Line, p.Fold, p.Yield, p.Cores} {
		if v < 1 || v > MaxPace {
			return false
		}
	}
	return true
}

// Turns returns the time in ns until all of some ranks have had their core once. It is 0 if each
// rank has a core to itself. It grows with the square of the number of ranks on a core: each of them
// has its turn, and finds less of its memory in the caches. The factor follows broadcasts of 64 and
// 512 KiB to 4 … 32 ranks on two cores.
func (p *Pace) Turns(ranks int) float64 {
	share := float64(p.Waves(ranks))
	switch {
	case p.Or().Cores == 1:
		share++ // the sender's
	case share < 2:
		return 0
	}
	return share * share * float64(p.Or().Yield) / 4
}

// Full returns the time in ns that a full ring costs its sender. It is six turns, by broadcasts of 512
// KiB to 4 and 8 ranks on one core: before they find work, ranks yield to each other in vain. A rank
// with a core to itself waits for a message there and back, and for about as long as a yield until it
// looks again.
func (p *Pace) Full(ranks int) float64 {
	if turns := p.Turns(ranks); turns > 0 {
		return 6 * turns
	}
	p = p.Or()
	return float64(2*p.Line + p.Yield)
}

// Lends reports whether n bytes for some receivers among ranks come sooner out of the sender's
// memory than through the rings to the receivers. Chunks of up to CopiedTo bytes do not. While
// receivers on other cores empty their rings, the sender fills them anew.
func (p *Pace) Lends(n, receivers, ranks int) bool {
	if n <= CopiedTo {
		return false
	}
	p = p.Or()
	bytes, ring, waves := float64(n), float64(RingBytes(ranks)), float64(p.Waves(receivers+1))
	last, fills := min(bytes, ring), bytes/ring
	if p.Cores == 1 {
		last = bytes
	}
	if p.Turns(ranks) == 0 {
		fills = max(0, fills-1) // the ring is empty at first
	}
	lent := waves * (float64(p.Call) + float64(p.Pull)*bytes/1000)
	return lent < (float64(receivers)*bytes+waves*last)*float64(p.Ring)/2000+p.Full(ranks)*fills
}

// Waves returns how many of the ranks that receive the same bytes copy them one after another. The
// sender keeps a core.
func (p *Pace) Waves(ranks int) int {
	together := max(1, int(p.Or().Cores)-1)
	return (ranks - 2 + together) / together
}

// Casts reports whether a long message for all ranks comes sooner through a ring that all of them
// read than out of the root's memory.
func (p *Pace) Casts(ranks int) bool {
	waves := p.Waves(ranks)
	return (1+waves)*int(p.Or().Ring) < 2*waves*int(p.Or().Pull)
}

// RoomBytes returns the length up to which a chunk is copied into a window in the memory that some
// ranks share: 128 KiB/ranks, 512 bytes … 8 KiB, a power of two.
func RoomBytes(ranks int) int {
	n := 8 << 10
	for n > 512 && n > 4<<20/ChunkLines/ranks {
		n /= 2
	}
	return n
}

// RingBytes returns the length of the ring from one rank to another in the memory that some ranks
// share: 32 MiB/ranks², 4 … 64 KiB, a power of two.
func RingBytes(ranks int) int {
	n := 64 << 10
	for n > 4<<10 && n > 32<<20/(ranks*ranks) {
		n /= 2
	}
	return n
}
