package status

import (
	"context"

	"github.com/schedgen/schedgen/runtime"
)

// Report is what is known about one process of a job.
type Report struct {
	Process int             `json:"process"`        // rank of the process in the job
	Note    string          `json:"note,omitempty"` // why States is empty or old: the process is joining, or does not answer
	URL     string          `json:"url,omitempty"`  // of the status page of the process, if it has one
	States  []runtime.State `json:"states"`         // one for each communicator of the process
}

// Source returns the reports of the processes of a job, in the order of their ranks. When ctx ends,
// it returns without the answers that are still missing.
type Source func(ctx context.Context) []Report

// Of returns a source that reports this process only: the states of all communicators that share
// the transport of comm.
func Of(comm *runtime.Comm) Source {
	return func(context.Context) []Report { return []Report{Tell(comm)} }
}

// Tell returns the report of the process that comm belongs to.
func Tell(comm *runtime.Comm) Report {
	states := comm.States()
	return Report{Process: states[0].Process, States: states}
}
