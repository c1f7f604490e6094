package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// about returns lines that describe the machine and the measured programs.
func (b *built) about(ctx context.Context, o *options) []string {
	lines := append(tool.About(ctx),
		fmt.Sprintf("%d rounds, contenders one after the other in each; of our algorithms, those that were not among the best %d in the first round left", o.rounds, o.keep))
	if b.openMPI != "" {
		lines = append(lines, tool.FirstLine(ctx, b.openMPI, "--version"))
	}
	if b.mpich != "" {
		lines = append(lines, "MPICH "+strings.TrimSpace(strings.TrimPrefix(tool.FirstLine(ctx, "mpichversion"), "MPICH Version:")))
	}
	return lines
}
