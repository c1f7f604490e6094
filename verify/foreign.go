package verify

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/ir"
)

// Claim says what a foreign schedule is meant to do, because the files of other programs do not say
// so.
type Claim struct {
	Collective string // the name of a row of the table of collectives
	Root       int    // only for a collective that has a root

	// Size is the length of one block, such as the message of a broadcast, in the unit of the
	// graph. If it is 0, the file gives the length. If the file has none and the collective has one
	// block, the length is as much as any rank can get.
	Size int
}

// Claims returns the names of the collectives as which foreign schedules can be judged.
func Claims() []string {
	var names []string
	for _, row := range ir.Collectives() {
		if judged(&row) {
			names = append(names, row.Name)
		}
	}
	return names
}

// judged reports whether a file can be judged as the collective: the collective moves blocks or
// synchronizes. Folds can be judged only in files that say what messages carry.
func judged(row *ir.Collective) bool {
	return row.Blocks != nil && row.Question == 0 || row.Synchronizes
}

// foreign is a graph of operations with the results of its checks so far.
type foreign struct {
	*dag.Graph
	Claim
	header ir.Header // of the claim
	index  dag.Index
	mates  []int
	run    *dag.Run

	contents *contents // if the file says what messages carry
}

// foreignCheck is one check of a graph. Later checks use the results of earlier ones.
type foreignCheck struct {
	name  string
	prove func(*foreign) (note string, err error)
}

// RunForeign checks a schedule that another program has made. It checks that sends and receives
// match, that nothing waits in a cycle, and that the schedule does what the claim says. If the
// schedule also works with input and output apart, RunForeign checks both readings, and says which
// one a failure is about. The error is about the claim. The report says what does not hold.
func RunForeign(g *dag.Graph, c Claim) (*Report, error) {
	report, err := runForeign(g, c)
	if err != nil || g.Apart == nil {
		return report, err
	}
	if report.Err() != nil {
		report.locate("in place")
		return report, nil
	}
	if report, err = runForeign(g.Apart, c); err == nil && report.Err() != nil {
		report.locate("out of place")
	} else if err == nil {
		for i := range report.Results {
			if res := &report.Results[i]; res.Check == "coverage" {
				res.Note = "in place, and out of place"
			}
		}
	}
	return report, err
}

// locate says where input and output lie in what the failures of r are about.
func (r *Report) locate(where string) {
	for i := range r.Results {
		var f *Failure
		if errors.As(r.Results[i].Err, &f) {
			f.Text = where + ": " + f.Text
		}
	}
}

func runForeign(g *dag.Graph, c Claim) (*Report, error) {
	f := &foreign{Graph: g, Claim: c, index: dag.NewIndex(g)}
	f.header = ir.Header{Collective: c.Collective, Algorithm: "imported", Ranks: len(g.Ranks), Root: c.Root}
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	checks := []foreignCheck{{"matched", (*foreign).proveMatched}, {"deadlock", (*foreign).proveOrder}}
	if f.header.HasMessage() {
		f.header.Chunks = f.header.Blocks()
		prove := (*foreign).proveBytes
		if g.Cells != nil {
			f.header.Chunks, prove = f.header.Blocks()*max(f.blockCells(), 1), (*foreign).proveContents
		}
		checks = append(checks, foreignCheck{"coverage", prove})
		if f.header.Folds() {
			checks = append(checks, foreignCheck{"contributes", (*foreign).proveContributes}, foreignCheck{"same-tree", (*foreign).proveSameTree})
		}
	}
	report := &Report{Header: f.header}
	failed := f.runChecks(report, checks)
	if !f.header.HasMessage() {
		f.runBarrier(report, failed)
	}
	return report, nil
}

// maxBlocks bounds the number of blocks that are judged. An alltoall among 4,096 ranks has as many.
const maxBlocks = 1 << 24

// check fails if the claim is invalid, or if the file does not say enough to judge it.
func (f *foreign) check() error {
	h := &f.header
	row := h.Row()
	switch {
	case row == nil || !judged(row):
		return fmt.Errorf("cannot tell whether a file is %q: no such collective can be judged", f.Collective)
	case h.Folds() && f.Cells == nil:
		return fmt.Errorf("the file cannot be judged as %s: it says neither what its messages carry nor what ranks fold", f.Collective)
	case row.Blocks == nil && f.Cells != nil:
		return fmt.Errorf("a file that moves the chunks of a message is not a %s", f.Collective)
	case f.Size != 0 && (f.Size < 0 || f.Cells != nil || row.Blocks == nil):
		return fmt.Errorf("blocks of %d %s: a length is only for a file that moves blocks and does not say what its messages carry", f.Size, f.Unit)
	case h.Rooted() && (h.Root < 0 || h.Root >= h.Ranks):
		return fmt.Errorf("root %d: must be in 0..%d", h.Root, h.Ranks-1)
	case !h.Rooted() && h.Root != 0:
		return fmt.Errorf("root is %d, but %s has no root: must be 0", h.Root, f.Collective)
	case h.Blocks() > 1 && f.Cells == nil && f.Size == 0 && f.Message == 0:
		return fmt.Errorf("the length of the %d blocks is not known: the file does not give it, and it was not set", h.Blocks())
	case h.Blocks() > maxBlocks || f.Cells == nil && h.Blocks() > 1 && h.Ranks > maxFlowSteps/h.Blocks() || f.Cells != nil && int64(h.Blocks())*int64(max(f.blockCells(), 1)) > ir.MaxChunks:
		return fmt.Errorf("too large: %d blocks", h.Blocks())
	case f.Cells != nil && f.misplaced() >= 0:
		rank := f.misplaced()
		return fmt.Errorf("rank %d has its input and its output in one buffer, and the file does not say where in it the input of %s lies: "+
			"a file that works in place must name its collective", rank, f.Collective)
	}
	return nil
}

// misplaced returns a rank whose input and output start at the same cell, although the rank both
// holds and wants a block that has different places in them. It returns -1 if there is none.
func (f *foreign) misplaced() int {
	for rank := range f.Ranks {
		in, out := f.Cells.Input[rank], f.Cells.Result[rank]
		if in.Len == 0 || out.Len == 0 || in.From != out.From {
			continue
		}
		held, wanted := f.held(rank), f.wanted(rank)
		for i := range held.Count {
			if at := wanted.Index(held.At(i)); at >= 0 && at != i {
				return rank
			}
		}
	}
	return -1
}

// held returns the blocks that a rank has at first, and wanted returns the blocks that it must have
// at the end.
func (f *foreign) held(rank int) ir.Blocks {
	return f.header.Row().Held(f.header.Ranks, f.header.Root, rank)
}

func (f *foreign) wanted(rank int) ir.Blocks {
	return f.header.Row().Wanted(f.header.Ranks, f.header.Root, rank)
}

// blockCells returns the number of cells of a block. It derives the number from the first input in
// the file.
func (f *foreign) blockCells() int {
	for rank := range f.Ranks {
		if n := f.inputsOf(rank); n > 0 && f.Cells.Input[rank].Len >= n {
			return f.Cells.Input[rank].Len / n
		}
	}
	return 0
}

// runChecks runs checks until one fails, and returns the name of that check.
func (f *foreign) runChecks(report *Report, checks []foreignCheck) (failed string) {
	for _, c := range checks {
		if failed != "" {
			report.Results = append(report.Results, notRun(c.name, failed))
			continue
		}
		note, err := c.prove(f)
		if err != nil {
			failed = c.name
		}
		report.Results = append(report.Results, Result{Check: c.name, Applies: true, Note: note, Err: named(c.name, blame(err))})
	}
	return failed
}

func notRun(check, failed string) Result {
	return Result{Check: check, Note: "not run: " + failed + " does not hold"}
}

// blame turns the fault of a graph into a failure.
func blame(err error) error {
	var fault *dag.Fault
	if errors.As(err, &fault) {
		return fail(fault.Ranks, nil, nil, "%s", fault.Text)
	}
	return err
}

func (f *foreign) proveMatched() (note string, err error) {
	f.mates, err = dag.Match(f.Graph, f.index)
	return "", err
}

func (f *foreign) proveOrder() (note string, err error) {
	f.run, err = dag.NewRun(f.Graph, f.index, f.mates)
	if err != nil {
		return "", err
	}
	return "assumed: a send ends without its receive", nil
}

// op returns the operation with the number id and its place.
func (f *foreign) op(id int) (dag.Ref, *dag.Op) {
	ref := f.index.Ref(id)
	return ref, &f.Ranks[ref.Rank][ref.I]
}
