package flow

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// Peers is what a rank knows, over all operations, of the ranks that report to it.
type Peers struct {
	cfg     Config
	reports map[int][]report // by rank: its last report about each operation that it may have open
	silent  map[int]bool     // ranks that have not reported for too long, until they do
	tells   moment.Delay     // time between two reports of a rank whose puts yield
	behind  int              // operations whose multicasts wait for earlier operations
	chunks  []int            `state:"scratch"` // scratch of giveUp
}

// report is what a rank has reported about an operation. It may arrive before this rank has entered
// the operation.
type report struct {
	seq   uint64
	print uint32
	chunk int // the multicast has reached this chunk there
	have  int // the rank has all chunks below this
}

// NewPeers returns the Peers of a rank that has heard nothing.
func NewPeers(cfg Config) Peers { return Peers{cfg: cfg} }

// Config returns the configuration.
func (p *Peers) Config() *Config { return &p.cfg }

// NoteReached remembers, for an operation that may not have begun here, that the multicast has
// reached chunk at a rank.
func (p *Peers) NoteReached(from int, seq uint64, fingerprint uint32, chunk int) {
	if r := p.note(from, seq, fingerprint); r != nil {
		r.chunk = chunk
	}
}

// NoteHave remembers, for an operation that has not begun here, that a rank has chunks 0 to have-1.
func (p *Peers) NoteHave(from int, seq uint64, fingerprint uint32, have int) {
	if r := p.note(from, seq, fingerprint); r != nil {
		r.have = max(r.have, have)
	}
}

// note returns the report of a rank about an operation, or nil if the rank has reported about a
// later one in its place.
func (p *Peers) note(from int, seq uint64, fingerprint uint32) *report {
	if p.reports == nil {
		p.reports = make(map[int][]report)
	}
	if p.reports[from] == nil {
		p.reports[from] = make([]report, p.cfg.Ahead)
	}
	r := &p.reports[from][seq%uint64(p.cfg.Ahead)]
	if seq < r.seq {
		return nil
	}
	if seq > r.seq || fingerprint != r.print {
		*r = report{seq: seq, print: fingerprint}
	}
	return r
}

// reportOf returns the last report of a rank about operation seq, or about a later one.
func (p *Peers) reportOf(rank int, seq uint64) report {
	if of := p.reports[rank]; of != nil {
		return of[seq%uint64(p.cfg.Ahead)]
	}
	return report{}
}

// known returns how many chunks of m a rank has already reported when m begins here. A report about
// a later operation says that the rank has all of them.
func (p *Peers) known(m *Message, rank int) int {
	switch r := p.reportOf(rank, m.Seq); {
	case r.seq > m.Seq:
		return m.Chunks
	case r.seq == m.Seq && r.print == m.Print:
		return min(r.have, m.Chunks)
	}
	return 0
}

// Normalize makes Peers equal if they differ only in durations, or in reports about operations up to
// begun.
func (p *Peers) Normalize(begun uint64) {
	p.tells = moment.Delay{}
	for rank, of := range p.reports {
		for i := range of {
			if of[i].seq <= begun {
				of[i] = report{}
			}
		}
		if !slices.ContainsFunc(of, func(r report) bool { return r.seq > 0 }) {
			delete(p.reports, rank)
		}
	}
}
