package runtime

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// members are the ranks of a communicator made by Split, as the transport knows
// them: its endpoints are the ranks of the first communicator. What the core sends goes to
// the members' endpoints under the communicator's number, and what comes is shown to it
// as from their ranks.
type members struct {
	tr       wire.Transport
	number   uint8
	self     int   // the own endpoint
	endpoint []int // by rank
	rank     []int // by endpoint; -1: no member

	header wire.Header // scratch: what the core is shown
}

func newMembers(tr wire.Transport, number uint8, endpoint []int) *members {
	m := &members{tr: tr, number: number, self: tr.Rank(), endpoint: endpoint, rank: slices.Repeat([]int{-1}, tr.Size())}
	for rank, e := range endpoint {
		m.rank[e] = rank
	}
	return m
}

// shown returns h as the core is to see it, nil if it is not from a member.
func (m *members) shown(h *wire.Header) *wire.Header {
	rank := m.rank[h.From]
	if rank < 0 {
		return nil
	}
	m.header = *h
	m.header.From = rank
	return &m.header
}

// rankOf returns the rank of an endpoint in c, if that is a member.
func (c *Comm) rankOf(endpoint int) (rank int, member bool) {
	if c.members == nil {
		return endpoint, true
	}
	rank = c.members.rank[endpoint]
	return rank, rank >= 0
}

// endpointOf returns the endpoint of a rank of c.
func (c *Comm) endpointOf(rank int) int {
	if c.members == nil {
		return rank
	}
	return c.members.endpoint[rank]
}

func (m *members) stamp(f *wire.Frame) *wire.Frame {
	f.Comm, f.From = m.number, m.self
	return f
}

// Put implements [core.Net].
func (m *members) Put(to int, f *wire.Frame) { m.tr.Put(m.endpoint[to], m.stamp(f)) }

// Mcast implements [core.Net]. The frame goes to the communicator's own group, if there is one. If not,
// it goes to all endpoints, and the ones that are no members drop it.
func (m *members) Mcast(f *wire.Frame) { m.tr.Mcast(m.stamp(f)) }

// Taken implements [wire.Taker].
func (m *members) Taken(to int) uint64 {
	if t, ok := m.tr.(wire.Taker); ok {
		return t.Taken(m.endpoint[to])
	}
	return 0
}

// Datagram implements [core.Net].
func (m *members) Datagram(to int, f *wire.Frame) { m.tr.Datagram(m.endpoint[to], m.stamp(f)) }

// capsAmong returns what a transport of so many endpoints can do for some of them: it
// can do the same, but on how many hosts they are is their own.
func capsAmong(caps wire.Caps, endpoints, self int, some []int) wire.Caps {
	host := caps.Host
	if host == nil && caps.Local == endpoints {
		host = make([]int, endpoints) // all share one
	}
	caps.Local, caps.Hosts, caps.Host = 0, 0, nil
	if host == nil {
		return caps
	}
	for _, e := range some {
		caps.Host = append(caps.Host, host[e])
		if host[e] == host[self] {
			caps.Local++
		}
	}
	caps.Hosts = wire.Blocks(caps.Host)
	return caps
}

// shareHosts reports whether of so many ranks some may be on one host. All give the same answer.
func shareHosts(caps wire.Caps, ranks int) bool {
	if caps.Host == nil {
		return ranks > 1
	}
	hosts := slices.Sorted(slices.Values(caps.Host))
	return len(slices.Compact(hosts)) < ranks
}

// spreads reports whether multicasts are worth it for some of the endpoints of a
// transport, of which capsAmong says what it can do for them. Unless they are apart, in a group of their own,
// all others have to drop what is multicast, so they must be half of all at least. Those of one host do
// without what leaves it.
func spreads(caps, among wire.Caps, endpoints, some int, apart bool) bool {
	several := func(host []int) bool {
		return slices.ContainsFunc(host, func(h int) bool { return h != host[0] })
	}
	return (apart || 2*some >= endpoints) && (several(among.Host) || !several(caps.Host))
}
