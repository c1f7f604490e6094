package publish

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// sources holds the ranks that send messages to this rank. In the place of a source that has left
// there are its own sources, because one of them takes its place. A source that has left stays in the
// list.
type sources struct {
	list      []int `state:"ignored"` // valid if sought
	sought    bool  `state:"ignored"`
	listening bool  // the process waits, or has waited, for messages: this rank is connected with its sources
}

// Sources returns the ranks that send messages here, or would if they had not left. All ranks do if
// messages are multicast.
func (m *Messages) Sources() []int {
	if s := &m.sources; !s.sought {
		s.sought = true
		if m.Multicasts() {
			for rank := range m.Size {
				if rank != m.Rank {
					s.list = append(s.list, rank)
				}
			}
		} else {
			s.list = m.sendersTo(nil, m.Rank)
			m.replaceSources(0)
		}
	}
	return m.sources.list
}

// replaceSources adds the sources of those from number i on that have left.
func (m *Messages) replaceSources(i int) {
	for s := &m.sources; i < len(s.list); i++ { // the list grows
		if m.members.Gone(s.list[i]) {
			s.list = m.sendersTo(s.list, s.list[i])
		}
	}
}

// sendersTo appends to dst the ranks with channels to rank, without this rank and without those in
// dst.
func (m *Messages) sendersTo(dst []int, rank int) []int {
	known := dst
	var to []int
	for r := range m.Size {
		if r == m.Rank || slices.Contains(known, r) {
			continue
		}
		if to = m.Overlay.Channels(to[:0], r); slices.Contains(to, rank) {
			dst = append(dst, r)
		}
	}
	return dst
}

// left puts the sources of a source that has left in its place.
func (s *sources) left(m *Messages, rank int) {
	if !s.sought || m.Multicasts() || !slices.Contains(s.list, rank) {
		return
	}
	known := len(s.list)
	s.list = m.sendersTo(s.list, rank)
	m.replaceSources(known)
	if s.listening {
		m.listenTo(s.list[known:])
	}
}

// Listen says that the process waits for messages. This rank connects with its sources, so it
// notices when one of them dies.
func (m *Messages) Listen() {
	if !m.sources.listening {
		m.sources.listening, m.used = true, true
		m.listenTo(m.Sources())
	}
}

func (m *Messages) listenTo(sources []int) {
	for _, rank := range sources {
		if !m.members.Gone(rank) {
			m.host.Put(rank, m.control(wire.FrameListen, 0, 0, 0))
		}
	}
}

// listened takes the frame of a rank that waits for messages from this rank.
func (m *Messages) listened(h *wire.Header) {
	m.used = true
	if h.Print != m.Print {
		m.host.Disagree(h)
	} else if !slices.Contains(m.listeners, h.From) {
		m.listeners = append(m.listeners, h.From)
	}
}
