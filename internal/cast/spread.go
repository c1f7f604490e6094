package cast

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/cast/remote"
)

const (
	// maxPassing is the greatest number of hosts to which one host passes the program at a time.
	// Two keep its link busy while one of them starts the program.
	maxPassing = 2
	// maxFailed is the number of failures after which a host passes on nothing more.
	maxFailed = 2
	// A host may take leastFetch, plus fetchFactor times as long as the last copy from here, to
	// fetch the program.
	leastFetch  = 5 * time.Second
	fetchFactor = 10
)

// Setup describes how the receivers were started on the hosts.
type Setup struct {
	Seconds float64 `json:"seconds"` // until the first round began
	Bytes   int64   `json:"bytes"`   // length of a copy of the program; 0 if no host has needed one
	Sent    int     `json:"sent"`    // number of copies sent from here
	Passed  int     `json:"passed"`  // number of copies passed on by hosts
}

// spread decides from where each host gets its copy of a program. The first host gets it from here,
// and the others from hosts that have it, so the copies follow a tree of the hosts.
type spread struct {
	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, when a host may find another source
	seeding bool          // a host gets a copy from here, and may pass it on
	seeded  time.Duration // time of the last copy from here; 0: none yet
	peers   []*peer
	sent    int
	passed  int
}

// peer is a host that passes on the program.
type peer struct {
	host   string
	at     netip.AddrPort
	busy   int
	failed int
}

func newSpread() *spread { return &spread{changed: make(chan struct{})} }

// source waits for a host that passes on the program, and returns it. It returns nil if the copy is
// to come from here. The caller must then call seed when the attempt is over.
func (s *spread) source(ctx context.Context) (*peer, error) {
	for {
		from, changed := s.try()
		if changed == nil {
			return from, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try returns a source, or a channel that is closed when there may be one.
func (s *spread) try() (*peer, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	usable := false
	for _, p := range s.peers {
		if p.failed < maxFailed {
			usable = true
			if p.busy < maxPassing {
				p.busy++
				return p, nil
			}
		}
	}
	if !usable && !s.seeding {
		s.seeding = true
		return nil, nil
	}
	return nil, s.changed
}

// fetched records whether a host could fetch the program from p.
func (s *spread) fetched(p *peer, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.busy--
	if ok {
		s.passed++
	} else {
		p.failed++
	}
	s.wake()
}

// within returns how long a host may take to fetch.
func (s *spread) within() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return leastFetch + fetchFactor*s.seeded
}

// copied records a copy from here, which took d.
func (s *spread) copied(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	s.seeded = d
}

// seed ends the attempt of a host to get its copy from here. That host passes the program on by
// now, or never will.
func (s *spread) seed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seeding = false
	s.wake()
}

// offer adds a host that passes on the program.
func (s *spread) offer(host string, at netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers = append(s.peers, &peer{host: host, at: at})
	s.wake()
}

// withdraw removes a host, whose receiver has ended.
func (s *spread) withdraw(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.peers {
		if p.host == host {
			p.failed = maxFailed
		}
	}
	s.wake()
}

// wake wakes all callers of source. The caller holds the lock.
func (s *spread) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// obtain gets the program for a host from another host. If it cannot, the host gets a copy from
// here when the session runs. seeds reports whether other hosts wait for this host to pass it on.
func (s *spread) obtain(ctx context.Context, session *remote.Session) (seeds bool, err error) {
	for range maxFailed {
		from, err := s.source(ctx)
		if err != nil {
			return false, err
		}
		if from == nil {
			return true, nil
		}
		ok, err := session.Fetch(ctx, from.at, s.within())
		s.fetched(from, ok && err == nil)
		if ok || err != nil {
			return false, err
		}
	}
	return false, nil
}
