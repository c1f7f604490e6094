package cli

import (
	"context"
	"math"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/transport/pace"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// situation is the situation of an operation in a run: how its ranks reach each other, and the case
// that rules ask about. The verbs run and explain both resolve their flags by it, so that explain
// tells what run does.
type situation struct {
	link     crew.Link
	datagram int // payload of a multicast datagram in bytes; 0: the link has no multicast
	of       selection.Case
}

// situation resolves the flags for an operation on size bytes. hosts is the flag --hosts. situation
// may test whether multicast works on this machine.
func (f *runFlags) situation(ctx context.Context, std terminal.Stdio, row *ir.Collective, size int64, hosts *int) (s situation, err error) {
	if row.Published && !schedule.Multicasts(f.Algorithm) {
		s.link, err = f.quietLink(ctx, std)
	} else {
		s.link, s.datagram, err = f.link(ctx, std)
	}
	if err != nil {
		return s, err
	}
	s.of, err = f.caseOf(row, size, &s.link, hosts)
	return s, err
}

// caseOf returns the case of an operation on size bytes over a link. Ranks that are started
// together are on one host, unless --hosts or --netns says that they are on several.
func (f *runFlags) caseOf(row *ir.Collective, size int64, l *crew.Link, hosts *int) (c selection.Case, err error) {
	g := selection.Ground{Multicast: l.Multicasts(), RDMA: l.Transport == overVerbs}
	if f.Ranks != nil {
		g.Ranks = f.Ranks.Lo
	}
	if hosts == nil {
		hosts = f.Netns
	}
	shared, err := hostsOf(hosts, f.Ranks)
	if err != nil {
		return c, err
	}
	switch {
	case f.apart:
	case hasMessage(row) && (f.Loss != nil || f.delays) && shared == 0: // these flags ask for multicasts
	case hosts != nil && *hosts > 1:
		g.Host = make([]int, g.Ranks)
		for r := range g.Host {
			g.Host[r] = r * *hosts / g.Ranks
		}
	default:
		if g.OneHost, g.Lends = true, l.SharesMemory(); g.Lends {
			if g.Pace, _, err = pace.Here(); err != nil {
				return c, err
			}
		}
		g.Multicast = g.Multicast || g.Lends // in memory, one write serves all readers
	}
	c = g.Case()
	c.Collective, c.Bytes = row.Name, int(min(size, math.MaxInt))
	return c, nil
}

// params returns the parameters of an algorithm, given the parameters of a rule.
func (s *situation) params(algorithm string, p *selection.Params) (schedule.Params, error) {
	return p.In(algorithm, &s.of, s.datagram)
}
