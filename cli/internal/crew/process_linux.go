package crew

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// childAttributes gives a rank its own process group, so that a Ctrl-C reaches it only through its
// parent, and lets it die with the parent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// isStopped reports whether a process is stopped by a signal or a debugger. The process must be a
// child that has not been waited for. Its state is the letter after its name, which may contain any
// byte; T and t mean stopped, see proc_pid_stat(5).
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	end := bytes.LastIndexByte(stat, ')')
	return err == nil && end >= 0 && (bytes.HasPrefix(stat[end:], []byte(") T")) || bytes.HasPrefix(stat[end:], []byte(") t")))
}
