package seal

// Window remembers which counts of one sender have arrived, so that none counts twice: a bitmap
// whose words are used in turn (RFC 6479). A count that is windowSize below the highest is too old
// to tell.
type Window struct {
	highest uint64
	words   [windowWords]uint64
}

const (
	windowWords = 16 // a power of two
	// windowSize is how far datagrams may overtake each other: more than a megabyte of datagrams of
	// Ethernet's size.
	windowSize = (windowWords - 1) * 64
)

// Take records that the datagram with count n has arrived, and reports whether it is new. Counts
// begin at 1. Only authentic counts may be taken.
func (w *Window) Take(n uint64) bool {
	if n == 0 || n <= w.highest && w.highest-n >= windowSize {
		return false
	}
	if n > w.highest {
		last := n / 64
		for word := max(w.highest/64+1, last-min(last, windowWords-1)); word <= last; word++ {
			w.words[word%windowWords] = 0
		}
		w.highest = n
	}
	bit := uint64(1) << (n % 64)
	word := &w.words[n/64%windowWords]
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}
