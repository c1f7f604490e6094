package status

import (
	"context"
	"expvar"

	"github.com/schedgen/schedgen/runtime"
)

// Report is what is known of one process of a job.
type Report struct {
	Process int             `json:"process"`        // its rank in the job
	Note    string          `json:"note,omitempty"` // why the states are none, or old: that it is joining, or does not answer
	URL     string          `json:"url,omitempty"`  // of its own page, if it has one
	States  []runtime.State `json:"states"`         // of its communicators
}

// Source returns what is known of the processes of a job, in the order of their ranks.
// The end of ctx is a reason to do without those that have not answered.
type Source func(ctx context.Context) []Report

// Of returns what this process knows of itself: the states of all communicators that share
// comm's transport.
func Of(comm *runtime.Comm) Source {
	return func(context.Context) []Report { return []Report{Tell(comm)} }
}

// Tell returns the report of the process that comm is of.
func Tell(comm *runtime.Comm) Report {
	states := comm.States()
	return Report{Process: states[0].Process, States: states}
}

// Var returns a variable of package expvar that is what the page's JSON is. Package expvar
// adds a page of all variables to http.DefaultServeMux.
func Var(src Source) expvar.Func {
	return func() any { return src(context.Background()) }
}
