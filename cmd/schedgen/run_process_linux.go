package main

import "syscall"

// childAttributes puts a rank into a process group of its own, so that a
// Ctrl-C reaches it through its parent only, and lets it die with the parent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
