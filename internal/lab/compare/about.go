package compare

import (
	"context"
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/internal/lab/internal/host"
)

// about returns lines that describe the machine and the measured programs.
func (b *built) about(ctx context.Context, v *Verb) []string {
	lines := append(host.About(ctx),
		fmt.Sprintf("%d rounds, contenders one after the other in each; of our algorithms, those that were not among the best %d in the first round left", v.Rounds, v.Keep))
	if b.openMPI != "" {
		lines = append(lines, host.FirstLine(ctx, b.openMPI, "--version"))
	}
	if b.mpich != "" {
		lines = append(lines, "MPICH "+strings.TrimSpace(strings.TrimPrefix(host.FirstLine(ctx, "mpichversion"), "MPICH Version:")))
	}
	return lines
}
