package publish

import "slices"

// Normalize makes Messages equal if they differ only in messages that are no longer kept.
func (m *Messages) Normalize() {
	m.inbox = inbox{letters: m.inbox.letters[m.inbox.head:]}
	slices.Sort(m.listeners)
	for _, st := range m.streams {
		for i := 0; st != nil && i < len(st.ring); i++ {
			if p := &st.ring[i]; p.state == pieceNone {
				*p = piece{seq: p.seq, before: p.before}
			}
		}
	}
}
