//go:build unix && !linux

package main

import "syscall"

// childAttributes puts a rank into a process group of its own, so that a
// Ctrl-C reaches it through its parent only. That the parent has died shows
// in the end of the standard input.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// isStopped reports whether a process is stopped by a signal, which is not known here.
func isStopped(pid int) bool { return false }
