// Package perfetto writes the events of operations as a trace that Perfetto (ui.perfetto.dev) and
// Chrome (chrome://tracing) open. The trace is in the array form of the Trace Event Format, one
// event a line.
//
// In the trace, a process is a rank. A communicator has as many tracks as it may have open
// operations. An operation is a slice on one of its tracks. Sent and received slots are marks on
// the slice, and an arrow leads from a put to its arrival.
//
//	f, err := os.Create("job.json")
//	err = perfetto.Begin(f)
//	w := perfetto.New(f, perfetto.Options{Process: rank})
//	comm, err := runtime.Join(ctx, runtime.Config{Observe: runtime.Observe{Trace: w.Event}})
//	…
//	err = comm.Close()
//	err = w.Close()
//	err = perfetto.End(f)
//
// Several processes of a host may write into one file between one Begin and one End, if the file is
// a regular one and each process has opened it for appending. Their times are from the same clock.
// A trace that was cut off, without End, opens too.
package perfetto
