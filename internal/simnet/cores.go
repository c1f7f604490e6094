package simnet

import "slices"

// The cores that all processes share. Each core takes one piece of work after the other when it
// becomes free, and finishes a piece without interruption.

// coreFree returns the time at which a process may work.
func (w *world) coreFree() Time {
	if len(w.cores) == 0 {
		return 0
	}
	return slices.Min(w.cores)
}

// work lets a process work from now on, and returns when it is done.
func (w *world) work(took Time) Time {
	if len(w.cores) > 0 {
		w.cores[slices.Index(w.cores, w.coreFree())] = w.now + took
	}
	return w.now + took
}
