//go:build unix

package program

import (
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// RunGroup runs a program to its end, in a process group of its own. When the context of cmd ends,
// the program and its children are told to end, and killed if they are still there after linger.
// Children that the program leaves are killed, too.
func RunGroup(cmd *exec.Cmd, linger time.Duration) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = linger
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there may be none
	}
	return err
}

// FirstLineOf returns the first line of a program's output, for an error.
func FirstLineOf(output string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	return first
}
