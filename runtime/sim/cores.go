package sim

import "slices"

// Cores that all processes share take one piece of work after the other, as they
// come free; nothing is taken off a core before it is done.

// coreFree returns when a process may work.
func (w *world) coreFree() Time {
	if len(w.cores) == 0 {
		return 0
	}
	return slices.Min(w.cores)
}

// work has a process work from now on, and returns until when.
func (w *world) work(took Time) Time {
	if len(w.cores) > 0 {
		w.cores[slices.Index(w.cores, w.coreFree())] = w.now + took
	}
	return w.now + took
}
