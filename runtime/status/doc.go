// Package status shows what the ranks of a job are doing: as an HTML page and as JSON, for a person
// who wants to know why a job is stuck; as metrics for Prometheus; and as a check of health.
//
//	http.Handle("/", status.Handler(status.Of(comm.Runtime())))
//
// The [Source] decides which processes are shown. The source that [Of] returns shows this process
// only.
//
// The package runs nothing and stores nothing between requests. A request locks each communicator
// for a few microseconds.
package status
