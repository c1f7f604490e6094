package selection

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// In returns the parameters of an algorithm in a case. p holds the parameters that a rule gives it.
// If p does not fix the number of chunks, Chunks decides, with multicast datagrams of datagram
// bytes. The error is a *schedule.NameError.
func (p *Params) In(algorithm string, c *Case, datagram int) (schedule.Params, error) {
	in := schedule.Params{Ranks: c.Ranks, Degree: p.Degree, FanIn: p.FanIn, FanOut: p.FanOut, Chunks: p.Chunks, Hosts: p.HostsFor(c)}
	if _, err := schedule.New(algorithm, schedule.Params{Ranks: 1}); err != nil {
		return in, err
	}
	row, ok := ir.CollectiveNamed(c.Collective)
	if in.Chunks > 0 || !ok || !hasSizes(&row) {
		return in, nil
	}
	m := Message{Algorithm: algorithm, Ranks: c.Ranks, Blocks: row.Blocks(c.Ranks), Bytes: c.Bytes, Links: c.Place != OneHost, RDMA: c.RDMA, Memory: c.Memory, Most: p.Chunk}
	if in.Hosts > 0 {
		m.Ranks = in.Hosts
	}
	if c.Multicast {
		m.Datagram = datagram
	}
	in.Chunks = Chunks(m)
	return in, nil
}
