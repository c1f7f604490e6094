package mismatch

// Call is a call that a rank can repeat with blocks of different lengths.
type Call interface {
	// Words describes a call. n is as in History.Note.
	Words(n int) string
}

// History remembers the calls of a rank, to compare them with other ranks' calls and to describe
// them. The zero History has no calls. A copy of a History is independent.
type History struct {
	last   uint64       // the last operation
	prints [128]uint32  // fingerprints of the last operations, by number
	calls  [64]pastCall // the last different calls, each at the index of its own fingerprint, or at the next index if that is taken
	runs   [32]run      // the last runs of equal calls, by number
	run    uint64       // number of the newest run; 0: none
}

// run is a sequence of equal calls. It remembers a repeated call however long the sequence: roots
// that do not wait for each other may be thousands of operations apart.
type run struct {
	first uint64 // first operation
	call  pastCall
}

// pastCall is an operation with blocks of n bytes, or with lengths whose key is n.
type pastCall struct {
	own  uint32 // its fingerprint without earlier operations
	call Call   `state:"fixed"` // nil: the entry is empty
	n    int
}

// Following combines the fingerprint before of the previous operation, or 0, with the fingerprint
// own of an operation by itself. It is its own inverse, since fingerprints are odd:
// Following(before, Following(before, own)) is own.
func Following(before, own uint32) uint32 {
	return own ^ uint32(uint64(before)*0x9E3779B97F4A7C15>>32) | 1
}

// Note records that operation seq, one more than the last, calls c with blocks of n bytes, or with
// lengths whose key is n. fingerprint covers all operations so far, and own covers only this
// operation. Both are odd.
func (h *History) Note(seq uint64, fingerprint, own uint32, c Call, n int) {
	h.last = seq
	h.prints[seq%uint64(len(h.prints))] = fingerprint
	if h.runs[h.run%uint64(len(h.runs))].call.own != own {
		h.run++
		h.runs[h.run%uint64(len(h.runs))] = run{seq, pastCall{own, c, n}}
	}
	e := &h.calls[place(own)]
	if e.own != own {
		h.calls[place(own+2)] = *e
		*e = pastCall{own, c, n}
	}
}

func place(own uint32) uint32 { return own / 2 % uint32(len(History{}.calls)) }

// call returns the operation whose fingerprint is own without earlier operations, or nil if it is
// forgotten.
func (h *History) call(own uint32) *pastCall {
	for _, at := range []uint32{own, own + 2} {
		if e := &h.calls[place(at)]; e.own == own && e.call != nil {
			return e
		}
	}
	return nil
}

// at returns the call of operation seq, which has begun, or nil if it is forgotten.
func (h *History) at(seq uint64) *pastCall {
	for n := h.run; n > 0 && h.run-n < uint64(len(h.runs)); n-- {
		if r := &h.runs[n%uint64(len(h.runs))]; r.first <= seq {
			return &r.call
		}
	}
	return nil
}

// Past returns the fingerprint of operation seq. ok is false if seq has not begun or is forgotten.
func (h *History) Past(seq uint64) (fingerprint uint32, ok bool) {
	return h.prints[seq%uint64(len(h.prints))], seq > 0 && seq <= h.last && h.last-seq < uint64(len(h.prints))
}

// Before returns the remembered fingerprints of the operations before seq, the last first.
func (h *History) Before(seq uint64) (prints []uint32) {
	for seq--; seq > 0; seq-- {
		p, ok := h.Past(seq)
		if !ok {
			break
		}
		prints = append(prints, p)
	}
	return prints
}

// Own returns the fingerprint of operation seq without earlier operations, at a rank whose earlier
// calls were the same as here. fingerprint is the rank's fingerprint with earlier operations. Own
// returns 0 if the result is unknown.
func (h *History) Own(seq uint64, fingerprint uint32) uint32 {
	if seq == 1 {
		return Following(0, fingerprint)
	}
	before, ok := h.Past(seq - 1)
	if !ok {
		return 0
	}
	return Following(before, fingerprint)
}

// Parted returns the first operation, as far as known, in which another rank has called something
// else than this rank, and that rank's fingerprint there (theirs). The ranks differ in operation
// seq; before holds the other rank's fingerprints of earlier operations, the last first. theirs is
// 0 if seq itself is the first.
func (h *History) Parted(seq uint64, before []uint32) (first uint64, theirs uint32) {
	for _, theirPrint := range before {
		mine, ok := h.Past(seq - 1)
		if !ok || mine == theirPrint {
			break
		}
		seq, theirs = seq-1, theirPrint
	}
	return seq, theirs
}

// Words describes operation seq. own is its fingerprint without earlier operations, or 0 if
// unknown.
func (h *History) Words(seq uint64, own uint32) string {
	if seq <= h.last {
		if e := h.at(seq); e != nil {
			return e.call.Words(e.n)
		}
	}
	if mine, ok := h.Past(seq); ok {
		if known := h.Own(seq, mine); known != 0 {
			own = known
		}
	}
	if e := h.call(own); e != nil {
		return e.call.Words(e.n)
	}
	return "something that it no longer knows"
}
