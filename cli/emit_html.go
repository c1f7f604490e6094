package cli

import (
	"context"
	"errors"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// A page holds the schedules of all roots if there are no more ranks and actions than these. Such a
// page has a few megabytes.
const (
	maxPageRanks   = 64
	maxPageActions = 1 << 16
)

// explained returns o with two more things that format html shows: the schedules of the other
// roots, and the checks that fail.
func (c *emitCmd) explained(ctx context.Context, s *ir.Schedule, o emit.Options) (emit.Options, error) {
	if c.Format != "html" {
		return o, nil
	}
	report, err := terminal.Await(ctx, func() (*verify.Report, error) { return verify.Run(s) })
	if err != nil {
		return o, err
	}
	o.Failures = pageFailures(report)
	if !c.IsFile() && s.Rooted() && s.Ranks <= maxPageRanks {
		o.Others, err = c.otherRoots(s)
	}
	return o, err
}

// pageFailures returns the failures of a report as the page shows them.
func pageFailures(report *verify.Report) []emit.Failure {
	var out []emit.Failure
	for _, res := range report.Results {
		var f *verify.Failure
		switch {
		case errors.As(res.Err, &f):
			out = append(out, emit.Failure{Check: f.Check, Text: f.Text, Places: f.Places, Path: pageSteps(f.Path), World: f.World})
		case res.Err != nil:
			out = append(out, emit.Failure{Check: res.Check, Text: res.Err.Error()})
		}
	}
	return out
}

func pageSteps(path []verify.Step) []emit.Step {
	var out []emit.Step
	for _, st := range path {
		out = append(out, emit.Step(st))
	}
	return out
}

// otherRoots returns the schedules of the same algorithm for all roots, or nil if they are too
// large.
func (c *emitCmd) otherRoots(s *ir.Schedule) ([]*ir.Schedule, error) {
	p, err := c.Params(c.Source)
	if err != nil {
		return nil, err
	}
	p.Ranks = s.Ranks
	var out []*ir.Schedule
	actions := int64(0)
	for p.Root = range s.Ranks {
		spec, err := source.New(c.Source, p)
		if err != nil {
			return nil, err
		}
		_, n := spec.Size()
		if actions += n; actions > maxPageActions {
			return nil, nil
		}
		out = append(out, spec.Schedule())
	}
	return out, nil
}
