package hybrid

import "github.com/schedgen/schedgen/runtime"

// sink tells the communicator's sink what comes through memory, whose ranks
// have numbers of their own.
type sink struct {
	t    *Transport
	to   runtime.Sink
	head runtime.Header
}

func (s *sink) rename(h *runtime.Header) *runtime.Header {
	s.head = *h
	s.head.From = s.t.place.ranks[h.From]
	return &s.head
}

// Body implements [runtime.Sink], as do the others.
func (s *sink) Body(h *runtime.Header) ([]byte, runtime.Verdict) { return s.to.Body(s.rename(h)) }

func (s *sink) Arrived(h *runtime.Header, body []byte) { s.to.Arrived(s.rename(h), body) }

func (s *sink) Fragment(h *runtime.Header, offset int, payload []byte) runtime.Verdict {
	return s.to.Fragment(s.rename(h), offset, payload)
}

func (s *sink) Left(local int, seq uint64) { s.to.Left(s.t.place.ranks[local], seq) }

func (s *sink) Lost(local int, err error) { s.to.Lost(s.t.place.ranks[local], err) }
