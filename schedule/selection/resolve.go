package selection

import (
	"cmp"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// In returns the parameters of an algorithm in a case. p holds the parameters that a rule gives it.
// If p does not fix the number of chunks, Chunks decides, with multicast datagrams of datagram
// bytes. The error is a *schedule.NameError.
func (p *Params) In(algorithm string, c *Case, datagram int) (schedule.Params, error) {
	in := schedule.Params{Ranks: c.Ranks, Degree: p.Degree, FanIn: p.FanIn, FanOut: p.FanOut, Chunks: p.Chunks, Hosts: p.HostsFor(c)}
	if err := schedule.Check(algorithm, schedule.Params{Ranks: 1}); err != nil {
		return in, err
	}
	row, ok := ir.CollectiveNamed(c.Collective)
	if in.Chunks > 0 || !ok || !hasSizes(&row) {
		return in, nil
	}
	a, _ := schedule.Named(algorithm)
	in.Chunks = c.Chunks(&a, row.Blocks(c.Ranks), in.Hosts, p.Chunk, datagram)
	return in, nil
}

// Chunks returns the number of chunks into which an algorithm cuts each block of the case: see
// [Message]. blocks is their number. hosts is the number of hosts if the algorithm runs between their
// masters, else 0. most is the greatest length of a chunk, or 0. datagram is the payload of a
// multicast in bytes.
func (c *Case) Chunks(a *schedule.Algorithm, blocks, hosts, most, datagram int) int {
	m := Message{Algorithm: a.Name, Ranks: cmp.Or(hosts, c.Ranks), Blocks: blocks, Bytes: c.Bytes, Links: c.Place != OneHost, RDMA: c.RDMA, Memory: c.Memory, Most: most}
	if c.Multicast {
		m.Datagram = datagram
	}
	return m.chunks(a)
}
