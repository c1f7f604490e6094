package main

import (
	"context"
	"math"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// situation is what an operation meets in a run: how its ranks reach each other, and what
// rules ask about that. Run and explain resolve their flags by it, so that explain says
// what run does.
type situation struct {
	link     link
	datagram int // payload of a datagram of multicast; 0: no network multicasts
	of       selection.Case
}

// situation resolves the flags for an operation on so many bytes. hosts is the flag of that
// name. It may try whether multicast works here.
func (f *runFlags) situation(ctx context.Context, std stdio, row *ir.Collective, size int64, hosts *int) (s situation, err error) {
	if row.Published {
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

// caseOf returns what an operation on so many bytes meets over a link. Ranks that are started
// together are on one host, unless a flag says that they are on several: then the case is
// that of such hosts, although none is there.
func (f *runFlags) caseOf(row *ir.Collective, size int64, l *link, hosts *int) (c selection.Case, err error) {
	c = selection.Case{Collective: row.Name, Bytes: int(min(size, math.MaxInt)), Multicast: l.multicasts()}
	if f.Ranks != nil {
		c.Ranks = f.Ranks.lo
	}
	if c.Hosts, err = hostsOf(hosts, f.Ranks); err != nil {
		return c, err
	}
	switch {
	case f.Netns != nil || f.apart || c.Hosts > 0:
	case hasMessage(row) && (f.Loss != nil || f.delays): // who says so wants multicasts
	case hosts != nil && *hosts > 1:
		c.Place = selection.OneEach
	default:
		c.Place, c.Memory = selection.OneHost, l.sharesMemory()
		c.Multicast = c.Multicast || c.Memory // what all read is written once
		c.Rings = c.Memory && shm.RingsFaster()
	}
	return c, nil
}

// params returns the parameters with which an algorithm runs that a rule gives some of them.
func (s *situation) params(algorithm string, p *selection.Params) (schedule.Params, error) {
	return p.In(algorithm, &s.of, s.datagram)
}
