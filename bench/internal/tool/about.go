// Package tool has what programs that measure share: what is measured where, and
// what is built for it.
package tool

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
)

// About says what has been measured on which machine, a line each.
func About(ctx context.Context) []string {
	return []string{
		fmt.Sprintf("schedgen at commit %s, %s", commit(ctx), goruntime.Version()),
		fmt.Sprintf("%d cores, %s, Linux %s", goruntime.NumCPU(), cpu(), FirstLine(ctx, "uname", "-r")),
	}
}

// commit names the version of the source, and says if it has been changed.
func commit(ctx context.Context) string {
	name := FirstLine(ctx, "git", "rev-parse", "--short", "HEAD")
	if FirstLine(ctx, "git", "status", "--porcelain", "--untracked-files=no") != unknown {
		name += " with changes"
	}
	return name
}

const unknown = "unknown"

// FirstLine returns what a program prints first; it is for people only.
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
