package ir

// Limits of a schedule. The readers and writers refuse schedules that exceed them. A program that
// holds a schedule may size tables by the number of ranks, but not by the number of chunks, because
// a short file can claim MaxChunks chunks. Tables of chunks should have only the chunks that a
// rank's own program names.
const (
	MaxRanks  = 1 << 20 // ranks of a schedule
	MaxChunks = 1 << 28 // chunks of all blocks; an alltoall among 16,384 ranks has as many
	// signals of one rank: enough for a flag from every rank and a request for each of 2^20 chunks
	MaxSignals = 1 << 22
	// partial results of one rank: in a reduce-scatter/star among 4,096 ranks, rank 0 folds as many
	// contributions of 4,096 chunks
	MaxValues = 1 << 25
	MaxParam  = 1<<30 - 1 // the value of a parameter
	MaxAfter  = 1 << 20   // Rule.After
	MaxParams = 16        // parameters of an algorithm
	MaxName   = 64        // bytes in the name of an algorithm or a parameter
	// ranks that a rank asks in turn; more would delay the last one, which certainly has the chunk
	MaxAsk = 16

	// MaxSlots bounds the signals of all ranks together, and the partial results of all ranks
	// together. A reader of the schedule may have a table entry for each. A schedule in which all
	// of them occur is larger than a gigabyte. Chunks do not count.
	MaxSlots = 1 << 28
)

// isName reports whether s can name an algorithm or a parameter: lower-case letters, digits and
// hyphens, starting with a letter.
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

// isParam reports whether s can name a parameter. The words of the text form's header cannot.
func isParam(s string) bool {
	return isName(s) && s != "ranks" && s != "root" && s != "chunks"
}
