package ir

// Limits of a schedule. The readers and writers refuse what exceeds them.
// Whoever holds a schedule may size tables by the number of its ranks, but not
// by that of its chunks: a short file can claim MaxChunks of them. A rank knows
// the chunks that its own program names.
const (
	MaxRanks   = 1 << 20   // ranks of a schedule
	MaxChunks  = 1 << 28   // chunks of all blocks: those of an alltoall among 16,384 ranks
	MaxSignals = 1 << 22   // signals of one rank: a flag from every rank and a request for every chunk fit
	MaxValues  = 1 << 22   // partial results of one rank
	MaxParam   = 1<<30 - 1 // the value of a parameter
	MaxAfter   = 1 << 20   // Rule.After
	MaxParams  = 16        // parameters of an algorithm
	MaxName    = 64        // bytes in the name of an algorithm or a parameter
	MaxAsk     = 16        // ranks that a rank asks, one after the other: more delay the last, who is certain to have a chunk

	// MaxSlots bounds the signals of all ranks together, and the partial results of all
	// ranks together, for each of which a reader of the schedule may have an entry in a table. A schedule in which
	// each of them occurs is larger than a gigabyte. Chunks do not count.
	MaxSlots = 1 << 28
)

// isName reports whether s can name an algorithm or a parameter: lower-case
// letters, digits and hyphens, a letter first.
func isName(s string) bool {
	if s == "" || len(s) > MaxName || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return true
}

func isNameByte(c byte) bool { return 'a' <= c && c <= 'z' || isDigit(c) || c == '-' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isParam reports whether s can name a parameter; the words that the header
// of the text form already uses cannot.
func isParam(s string) bool {
	return isName(s) && s != "ranks" && s != "root" && s != "chunks"
}
