package main

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// childAttributes puts a rank into a process group of its own, so that a
// Ctrl-C reaches it through its parent only, and lets it die with the parent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// isStopped reports whether a process, a child that has not been waited for, is stopped by a signal
// or a debugger: the letter behind its name, which may have any byte, is T or t (proc_pid_stat(5)).
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	end := bytes.LastIndexByte(stat, ')')
	return err == nil && end >= 0 && (bytes.HasPrefix(stat[end:], []byte(") T")) || bytes.HasPrefix(stat[end:], []byte(") t")))
}
