package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// proof tells which schedules were proved before a run, and by which checks.
type proof struct {
	Schedule string   `json:"schedule"` // header line; the root may be a range
	Checks   []string `json:"checks"`
	delivers
}

// delivers tells how a schedule brings chunks to its ranks.
type delivers struct {
	multicasts bool
	puts       bool // rules that are not part of a repair put chunks
}

// deliveries returns how the rules of a schedule bring chunks to its ranks. A rule that waits for a
// request answers it, and so is part of a repair.
func deliveries(s *ir.Schedule) (d delivers) {
	for i := range s.Programs {
		p := &s.Programs[i]
		requests := p.Requests()
		for j := range p.Rules {
			r := &p.Rules[j]
			answers := slices.ContainsFunc(r.When, func(slot ir.Slot) bool {
				return slot.Kind() == ir.KindSignal && slot.Index() < len(requests) && requests[slot.Index()]
			})
			for _, a := range r.Do {
				switch {
				case a.Op == ir.Mcast:
					d.multicasts = true
				case a.Slot.Kind() == ir.KindChunk && !r.IsRepair() && !answers:
					d.puts = true
				}
			}
		}
	}
	return d
}

// String returns the proof in one line.
func (p *proof) String() string {
	return fmt.Sprintf("proved: %s: %s", p.Schedule, strings.Join(p.Checks, ", "))
}

// refutation is the error of a schedule that does not verify. Its report holds the counterexample.
type refutation struct{ report *verify.Report }

func (r *refutation) Error() string { return "not verified" }

// proveSpecs proves all schedules that a run uses: one, or one for each origin.
func proveSpecs(ctx context.Context, specs []*schedule.Spec) (*proof, error) {
	var p *proof
	for _, spec := range specs {
		var err error
		if p, err = terminal.Await(ctx, func() (*proof, error) { return prove(spec.Schedule()) }); err != nil {
			return nil, err
		}
	}
	if last := len(specs) - 1; last > 0 {
		one, all := fmt.Sprintf("root=%d", last), fmt.Sprintf("root=0..%d", last)
		p.Schedule = strings.Replace(p.Schedule, one, all, 1)
	}
	return p, nil
}

func prove(s *ir.Schedule) (*proof, error) {
	report, err := verify.Run(s)
	if err != nil {
		return nil, err
	}
	if report.Err() != nil {
		return nil, &refutation{report}
	}
	p := &proof{Schedule: source.HeaderLine(&report.Header), delivers: deliveries(s)}
	for i := range report.Results {
		if report.Results[i].Applies {
			p.Checks = append(p.Checks, report.Results[i].Check)
		}
	}
	return p, nil
}

// refuted prints the counterexample, if err holds one.
func (s *session) refuted(err error) error {
	var r *refutation
	if !errors.As(err, &r) {
		return err
	}
	printer := reportPrinter(&checkPrinter{w: s.std.Out})
	if s.flags.JSON {
		printer = &objectPrinter{s.std.Out}
	}
	if err := printer.report(r.report); err != nil {
		return err
	}
	return terminal.Negative(r.Error())
}
