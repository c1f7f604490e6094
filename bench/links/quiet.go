//go:build linux

package main

import (
	"context"
	"time"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// waitForQuiet waits, within --patience, until other work takes at most --quiet
// of the cores, and returns what it took in the end; below 0: not known.
func (o *options) waitForQuiet(ctx context.Context) (share float64) {
	for end := time.Now().Add(o.patience); ; {
		share = tool.Busy(ctx)
		if share <= o.quiet || ctx.Err() != nil || time.Now().After(end) {
			return share
		}
	}
}
