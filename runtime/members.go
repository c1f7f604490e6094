package runtime

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// members maps the ranks of a communicator made by Split to the transport's endpoints, which are
// the ranks of the first communicator. It sends the core's frames to the members' endpoints under
// the communicator's number, and shows arriving frames to the core with their senders' ranks.
type members struct {
	tr       wire.Transport
	number   uint8
	self     int   // this rank's endpoint
	endpoint []int // endpoints by rank
	rank     []int // ranks by endpoint; -1: no member

	header wire.Header // scratch: the header shown to the core
}

func newMembers(tr wire.Transport, number uint8, endpoint []int) *members {
	m := &members{tr: tr, number: number, self: tr.Rank(), endpoint: endpoint, rank: slices.Repeat([]int{-1}, tr.Size())}
	for rank, e := range endpoint {
		m.rank[e] = rank
	}
	return m
}

// shown returns h with the sender's rank for the core, or nil if the sender is no member.
func (m *members) shown(h *wire.Header) *wire.Header {
	rank := m.rank[h.From]
	if rank < 0 {
		return nil
	}
	m.header = *h
	m.header.From = rank
	return &m.header
}

// rankOf returns the rank of an endpoint in c, and whether the endpoint is a member.
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

// Mcast implements [core.Net]. The frame goes to the communicator's own group, if there is one.
// Otherwise it goes to all endpoints, and those that are no members drop it.
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

// capsAmong returns the Caps of a transport for a subset of its endpoints: some lists them, and
// self is this rank's. Only Local and Host differ from caps.
func capsAmong(caps wire.Caps, endpoints, self int, some []int) wire.Caps {
	host := caps.Host
	if host == nil && caps.Local == endpoints {
		host = make([]int, endpoints) // all share one host
	}
	caps.Local, caps.Host = 0, nil
	if host == nil {
		return caps
	}
	for _, e := range some {
		caps.Host = append(caps.Host, host[e])
		if host[e] == host[self] {
			caps.Local++
		}
	}
	return caps
}

// shareHosts reports whether two of the ranks may share a host. All ranks get the same answer.
func shareHosts(caps wire.Caps, ranks int) bool {
	if caps.Host == nil {
		return ranks > 1
	}
	hosts := slices.Sorted(slices.Values(caps.Host))
	return len(slices.Compact(hosts)) < ranks
}

// spreads reports whether multicasts are worthwhile for some of a transport's endpoints, given the
// transport's caps and their own caps among. If they are not apart in a group of their own, all
// other endpoints must drop their multicasts, so they must be at least half of all. Ranks of one
// host do not multicast if other ranks are elsewhere.
func spreads(caps, among wire.Caps, endpoints, some int, apart bool) bool {
	several := func(host []int) bool {
		return slices.ContainsFunc(host, func(h int) bool { return h != host[0] })
	}
	return (apart || 2*some >= endpoints) && (several(among.Host) || !several(caps.Host))
}
