package transporttest

import (
	"bytes"
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// sink records arrivals. A test can change its answers.
type sink struct {
	verdict  func(h *wire.Header) wire.Verdict
	fragment func(h *wire.Header, offset int, payload []byte) wire.Verdict
	buffer   func(h *wire.Header) []byte // nil: a new slice for each frame

	open  map[way][]byte // buffers of bodies under way
	got   []received
	ended map[int]wire.End
	twice []string // what was reported more than once
	ends  []string // what was reported of the ends, for the message of a failure
}

// way identifies a frame under way: a communicator's lane carries one at a time.
type way struct {
	from int
	lane wire.Lane
	comm uint8
}

type received struct {
	wire.Header
	body []byte
}

func newSink() *sink {
	return &sink{
		verdict:  func(*wire.Header) wire.Verdict { return wire.Accept },
		fragment: func(*wire.Header, int, []byte) wire.Verdict { return wire.Drop },
		open:     map[way][]byte{}, ended: map[int]wire.End{},
	}
}

func (s *sink) Body(h *wire.Header) ([]byte, wire.Verdict) {
	v := s.verdict(h)
	if v != wire.Accept {
		return nil, v
	}
	if s.buffer != nil {
		return s.buffer(h), v
	}
	key := way{h.From, h.Lane, h.Comm}
	if b := s.open[key]; b == nil || len(b) != h.Len { // of another frame, which was dropped
		s.open[key] = make([]byte, h.Len)
	}
	return s.open[key], v
}

func (s *sink) Arrived(h *wire.Header, body []byte) {
	key := way{h.From, h.Lane, h.Comm}
	if s.buffer == nil && !same(s.open[key], body) {
		s.twice = append(s.twice, fmt.Sprintf("%+v arrived in a buffer that was not given", *h))
	}
	delete(s.open, key)
	s.got = append(s.got, received{*h, body})
}

// same reports whether a and b are the same memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) && bytes.Equal(a, b)
}

func (s *sink) Fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	return s.fragment(h, offset, payload)
}

func (s *sink) Ended(rank int, how wire.End, err error) {
	_, twice := s.ended[rank]
	if twice {
		s.twice = append(s.twice, fmt.Sprintf("the end of rank %d was told twice", rank))
	}
	if (how == wire.Closed) != (err == nil) {
		s.twice = append(s.twice, fmt.Sprintf("rank %d has ended as %d, and why: %v", rank, how, err))
	}
	s.ended[rank] = how
	s.ends = append(s.ends, fmt.Sprintf("rank %d has ended as %d: %v", rank, how, err))
}

// closed and lost return how many ranks have closed, and how many have ended in another way.
func (s *sink) closed() (n int) {
	for _, how := range s.ended {
		if how == wire.Closed {
			n++
		}
	}
	return n
}

func (s *sink) lost() int { return len(s.ended) - s.closed() }

// from returns the arrivals from a rank on a lane, in order.
func (s *sink) from(rank int, lane wire.Lane) (list []received) {
	for _, r := range s.got {
		if r.From == rank && r.Lane == lane {
			list = append(list, r)
		}
	}
	return list
}
