package hybrid

import "github.com/schedgen/schedgen/runtime/wire"

// sink passes arrivals from memory to the communicator's sink. Memory numbers the ranks of the host
// by itself.
type sink struct {
	t    *Transport
	to   wire.Sink
	head wire.Header
}

func (s *sink) rename(h *wire.Header) *wire.Header {
	s.head = *h
	s.head.From = s.t.location.ranks[h.From]
	return &s.head
}

// Body implements [wire.Sink], like the other methods.
func (s *sink) Body(h *wire.Header) ([]byte, wire.Verdict) { return s.to.Body(s.rename(h)) }

func (s *sink) Arrived(h *wire.Header, body []byte) { s.to.Arrived(s.rename(h), body) }

func (s *sink) Fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	return s.to.Fragment(s.rename(h), offset, payload)
}

func (s *sink) Ended(local int, how wire.End, err error) {
	s.to.Ended(s.t.location.ranks[local], how, err)
}
