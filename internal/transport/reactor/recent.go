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
	// askOften is how often, in Serves, the system is asked about the other descriptors. Where no
	// other rank needs the core, the interval doubles with each question up to askSeldom, as long as
	// the recent descriptors stay the same. Elsewhere a Serve may take as long as others run.
	askOften  = 8
	askSeldom = 64
	// renew is the number of Serves after which the recent descriptors are determined anew, since a
	// descriptor without further traffic is read in vain.
	renew = 1 << 16
)

// recent tracks which eager descriptors had something to read last.
type recent struct {
	alone  bool // no other rank needs the core
	n      int
	tokens [maxRecent]int32 // the newest first
	streak int              // consecutive events of these tokens
	serves uint             // Serves since streak was long enough
	asks   uint             // value of serves at which to ask next
	every  uint             // Serves from one question to the next
}

// reset forgets the recent descriptors.
func (r *recent) reset() {
	r.n = 0
	r.begin()
}

// begin waits for a streak.
func (r *recent) begin() { r.streak, r.serves, r.asks, r.every = 0, 0, askOften, askOften }

// saw records that token has something to read.
func (r *recent) saw(token int32) {
	for _, known := range r.tokens[:r.n] {
		if known == token {
			r.streak = min(r.streak+1, steady)
			return
		}
	}
	if r.begin(); r.n < maxRecent && (r.alone || r.n == 0) {
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
	if r.serves < r.asks {
		return true, false
	}
	if r.alone {
		r.every = min(2*r.every, askSeldom)
	}
	r.asks += r.every
	return true, true
}

// forget is called when a descriptor is no longer watched for reading.
func (r *recent) forget(token int32) {
	for _, known := range r.tokens[:r.n] {
		if known == token {
			r.reset()
		}
	}
}
