//go:build linux

package main

import (
	"context"
	"time"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// waitForQuiet waits until other work uses at most the share --quiet of the cores, but no longer
// than --patience. It returns the share at the end, or a negative number if the share is unknown.
func (o *options) waitForQuiet(ctx context.Context) (share float64) {
	for end := time.Now().Add(o.patience); ; {
		share = tool.Busy(ctx)
		if share <= o.quiet || ctx.Err() != nil || time.Now().After(end) {
			return share
		}
	}
}
