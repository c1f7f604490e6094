//go:build unix && !linux

package tcp

// unqueued reports whether no queue is known of; there is no common way to ask.
func unqueued(int) bool { return true }
