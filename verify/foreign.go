package verify

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/dag"
)

// Claim is what a schedule that others have made is to be: their files do not
// say.
type Claim struct {
	Collective string // "barrier" or "bcast"
	Root       int    // of a broadcast
	Size       int    // of its message, in the unit of the graph; 0: as the file says, or else as much as any rank can get
}

// foreign is a graph of operations with what its checks find out one after the
// other.
type foreign struct {
	*dag.Graph
	Claim
	index dag.Index
	mates []int
	order []int
}

// foreignCheck is one check of a graph; the next need what it finds out.
type foreignCheck struct {
	name  string
	prove func(*foreign) (note string, err error)
}

// RunForeign checks a schedule that others have made: that sends and receives
// match, that nothing waits in a cycle, and that it is what the claim says. An
// error is about the claim; what does not hold is in the report.
func RunForeign(g *dag.Graph, c Claim) (*Report, error) {
	f := &foreign{Graph: g, Claim: c, index: dag.NewIndex(g)}
	checks := []foreignCheck{{"matched", (*foreign).proveMatched}, {"deadlock", (*foreign).proveOrder}}
	header := ir.Header{Collective: c.Collective, Algorithm: "imported", Ranks: len(g.Ranks)}
	switch {
	case c.Collective == "barrier" && g.Cells != nil:
		return nil, errors.New("verify: a file that moves the chunks of a message is no barrier")
	case c.Size != 0 && (c.Size < 0 || g.Cells != nil || c.Collective == "barrier"):
		return nil, fmt.Errorf("verify: a message of %d %s: only for a broadcast whose file does not say what messages carry", c.Size, g.Unit)
	case c.Collective == "barrier":
	case c.Collective != "bcast":
		return nil, fmt.Errorf("verify: cannot tell whether a file is a %s, only barrier and bcast", c.Collective)
	case c.Root < 0 || c.Root >= len(g.Ranks):
		return nil, fmt.Errorf("verify: root %d of %d ranks", c.Root, len(g.Ranks))
	default:
		header.Root, header.Chunks = c.Root, 1
		prove := (*foreign).proveBytes
		if g.Cells != nil {
			header.Chunks, prove = max(g.Cells.Input[c.Root].Len, 1), (*foreign).proveContents
		}
		checks = append(checks, foreignCheck{"coverage", prove})
	}
	report := &Report{Header: header}
	failed := f.run(report, checks)
	if c.Collective == "barrier" {
		f.runBarrier(report, failed)
	}
	return report, nil
}

// run runs checks until one does not hold, and returns that one's name.
func (f *foreign) run(report *Report, checks []foreignCheck) (failed string) {
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
	f.order, err = dag.Order(f.Graph, f.index, f.mates)
	if err != nil {
		return "", err
	}
	return "assumed: a send ends without its receive", nil
}

// op returns the operation with the number, and where it is.
func (f *foreign) op(id int) (dag.Ref, *dag.Op) {
	ref := f.index.Ref(id)
	return ref, &f.Ranks[ref.Rank][ref.I]
}
