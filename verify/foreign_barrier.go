package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/ir"
)

// foreignBarrier returns the names of the checks of the schedule of signals that represents a barrier.
func foreignBarrier() []string { return []string{barrier.Name, reuse.Name} }

// runBarrier turns the graph into a schedule of signals, one for each receive, and adds the results
// of its checks to the report. It runs no check if an earlier check has failed.
func (f *foreign) runBarrier(report *Report, failed string) {
	if failed != "" {
		for _, name := range foreignBarrier() {
			report.Results = append(report.Results, notRun(name, failed))
		}
		return
	}
	waits, err := dag.NewWaits(f.Graph, f.index, f.mates, f.order)
	if err == nil {
		sig := &signals{f, waits}
		var sub *Report
		if sub, err = Run(sig.Schedule(report.Header), foreignBarrier()...); err == nil {
			for _, res := range sub.Results {
				res.Err = sig.named(res.Err)
				if res.Check == barrier.Name && res.Err == nil {
					res.Note = "assumed: a rank enters before its first operation and leaves after its last"
				}
				report.Results = append(report.Results, res)
			}
			return
		}
	}
	report.Results = append(report.Results, Result{Check: barrier.Name, Applies: true, Err: named(barrier.Name, err)})
}

// signals is the graph represented as signals.
type signals struct {
	*foreign
	*dag.Waits
}

// named adds to a failure which operations of the file its signals represent.
func (sig *signals) named(err error) error {
	return inFile(err, func(p Place) string {
		if p.Slot.Kind() != ir.KindSignal {
			return ""
		}
		ref, _ := sig.op(sig.Recvs[p.Rank][p.Slot.Index()])
		return fmt.Sprintf("%v is %s", p.Slot, sig.Tell(ref))
	})
}
