package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
)

// about says what has been measured where, a line each.
func (b *built) about(ctx context.Context, o *options) []string {
	lines := []string{
		fmt.Sprintf("schedgen at commit %s, %s", commit(ctx), goruntime.Version()),
		fmt.Sprintf("%d cores, %s, Linux %s", goruntime.NumCPU(), cpu(), firstLine(ctx, "uname", "-r")),
		fmt.Sprintf("%d rounds, contenders one after the other in each; of our algorithms, those that were not among the best %d in the first round left", o.rounds, o.keep),
	}
	if b.openMPI != "" {
		lines = append(lines, firstLine(ctx, b.openMPI, "--version"))
	}
	if b.mpich != "" {
		lines = append(lines, "MPICH "+strings.TrimSpace(strings.TrimPrefix(firstLine(ctx, "mpichversion"), "MPICH Version:")))
	}
	return lines
}

// commit names the version of the source, and says if it has been changed.
func commit(ctx context.Context) string {
	name := firstLine(ctx, "git", "rev-parse", "--short", "HEAD")
	if firstLine(ctx, "git", "status", "--porcelain", "--untracked-files=no") != unknown {
		name += " with changes"
	}
	return name
}

const unknown = "unknown"

// firstLine returns what a program prints first; it is for people only.
func firstLine(ctx context.Context, name string, args ...string) string {
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
