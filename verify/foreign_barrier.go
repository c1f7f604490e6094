package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// runBarrier adds the results of the checks barrier and reuse to the report. It runs none if an
// earlier check has failed.
func (f *foreign) runBarrier(report *Report, failed string) {
	var sub *subject
	for _, c := range []Check{barrier, reuse} {
		if failed != "" {
			report.Results = append(report.Results, notRun(c.Name, failed))
			continue
		}
		if sub == nil {
			f.run.Schedule.Header = ir.Header{Collective: f.Collective, Algorithm: f.header.Algorithm, Ranks: f.header.Ranks}
			sub = subjectOf(f.run.Schedule, f.run.System)
		}
		note, err := c.prove(sub)
		if c.Name == barrier.Name && err == nil {
			note = "assumed: a rank enters before its first operation and leaves after its last"
		}
		err = inFile(named(c.Name, err), func(p Place) string {
			recv, ok := f.run.RecvOf(p)
			if !ok {
				return ""
			}
			return fmt.Sprintf("%v is %s", p.Slot, f.Tell(recv))
		})
		report.Results = append(report.Results, Result{Check: c.Name, Applies: true, Note: note, Err: err})
	}
}
