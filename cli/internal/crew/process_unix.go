//go:build unix && !linux

package crew

import "syscall"

// childAttributes gives a rank its own process group, so that a Ctrl-C reaches it only through its
// parent. A rank notices the death of its parent by the end of its standard input.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// isStopped returns false: this system has no way to tell whether a process is stopped.
func isStopped(pid int) bool { return false }
