// Package host describes this machine and its load, for reports.
package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
)

// About returns lines that describe the version of the source and the machine.
func About(ctx context.Context) []string {
	return []string{
		fmt.Sprintf("schedgen at commit %s, %s", commit(ctx), goruntime.Version()),
		fmt.Sprintf("%d cores, %s, Linux %s", goruntime.NumCPU(), cpu(), FirstLine(ctx, "uname", "-r")),
	}
}

// commit returns the version of the source, and whether the source has been changed since.
func commit(ctx context.Context) string {
	name := FirstLine(ctx, "git", "rev-parse", "--short", "HEAD")
	if FirstLine(ctx, "git", "status", "--porcelain", "--untracked-files=no") != unknown {
		name += " with changes"
	}
	return name
}

const unknown = "unknown"

// FirstLine returns the first line that a program prints, for people to read.
func FirstLine(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	line, _, _ := strings.Cut(string(out), "\n")
	if line = strings.TrimSpace(line); err != nil || line == "" {
		return unknown
	}
	return line
}

func cpu() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return goruntime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return goruntime.GOARCH
}
