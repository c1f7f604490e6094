// Package perfetto writes what operations do as a trace that Perfetto (ui.perfetto.dev)
// and Chrome (chrome://tracing) open: the array form of the Trace Event Format, one event a
// line.
//
// A process is a rank. A communicator has as many tracks as operations are open at once. An operation
// is a slice on one of them; what comes and goes are marks on it, and an arrow leads from a
// put to its arrival.
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
// Several processes of a host may write into one file, if each has opened it for appending
// and it is a regular one, between one Begin and one End: their times are those of one
// clock. A trace that is cut off, without End, opens too.
package perfetto
