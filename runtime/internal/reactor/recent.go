package reactor

// Asking the system which descriptors are ready costs as much as a read that finds nothing.
// So where what has come of late came by one or two descriptors, Serve reads these without asking.

const (
	// maxRecent is how many descriptors are read without asking at most. Two reads take longer
	// than to ask, but one that finds something is over sooner: that is worth it where nobody
	// else needs the core.
	maxRecent = 2
	// steady is how many events in a row must be of the same descriptors.
	steady = 32
	// askEvery is how many Serves there are to one that asks, for the other descriptors.
	askEvery = 8
	// renew is how many Serves it takes until it is found out anew which descriptors bring
	// something: one that does not any more is read in vain.
	renew = 1 << 16
)

// recent is which eager descriptors had something to be read last.
type recent struct {
	most   int // of tokens
	n      int
	tokens [maxRecent]int32 // the latest first
	streak int              // events of these, and of no other
	serves uint             // since streak was long enough
}

// reset has it found out anew.
func (r *recent) reset() { r.n, r.streak, r.serves = 0, 0, 0 }

// saw notes that there is something to read.
func (r *recent) saw(token int32) {
	for _, known := range r.tokens[:r.n] {
		if known == token {
			r.streak = min(r.streak+1, steady)
			return
		}
	}
	if r.streak, r.serves = 0, 0; r.n < r.most {
		r.n++
	}
	copy(r.tokens[1:], r.tokens[:])
	r.tokens[0] = token
}

// next is called by each Serve. It reports whether the descriptors are to be read, and whether
// the system is to be asked: always if it has to be for other reasons.
func (r *recent) next(must bool) (try, ask bool) {
	if must || r.streak < steady {
		return false, true
	}
	if r.serves++; r.serves == renew {
		r.reset()
		return false, true
	}
	return true, r.serves%askEvery == 0
}

// forget is called when a descriptor is not read any more.
func (r *recent) forget(token int32) {
	for _, known := range r.tokens[:r.n] {
		if known == token {
			r.reset()
		}
	}
}
