package reactor

// Asking the system which descriptors are ready costs as much as a read that finds nothing. So if
// recent arrivals came by one or two descriptors, Serve reads these without asking.

const (
	// maxRecent is the greatest number of descriptors that are read without asking. Two reads take
	// longer than asking, but a read that finds something is over sooner. That pays where no other
	// rank needs the core.
	maxRecent = 2
	// steady is how many events in a row must come from the same descriptors.
	steady = 32
	// askEvery is how often, in Serves, the system is asked about the other descriptors.
	askEvery = 8
	// renew is the number of Serves after which the recent descriptors are determined anew, since a
	// descriptor without further traffic is read in vain.
	renew = 1 << 16
)

// recent tracks which eager descriptors had something to read last.
type recent struct {
	most   int // greatest number of tokens
	n      int
	tokens [maxRecent]int32 // the newest first
	streak int              // consecutive events of these tokens
	serves uint             // Serves since streak was long enough
}

// reset forgets the recent descriptors.
func (r *recent) reset() { r.n, r.streak, r.serves = 0, 0, 0 }

// saw records that token has something to read.
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

// next is called by each Serve. It reports whether to read the recent descriptors, and whether to
// ask the system, which it always does if must is set.
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

// forget is called when a descriptor is no longer watched for reading.
func (r *recent) forget(token int32) {
	for _, known := range r.tokens[:r.n] {
		if known == token {
			r.reset()
		}
	}
}
