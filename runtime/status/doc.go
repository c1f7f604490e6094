// Package status shows where the ranks of a job stand: as a page and JSON for who wonders
// why a job is stuck, as metrics for Prometheus, and as a variable of package expvar.
//
//	http.Handle("/", status.Handler(status.Of(comm)))
//	expvar.Publish("schedgen", status.Var(status.Of(comm)))
//
// What is shown of other processes is up to the [Source]; [Of] knows this process alone.
//
// Nothing of this runs, or is kept, while nobody asks. Who asks holds each communicator up
// for some microseconds.
package status
