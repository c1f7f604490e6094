package host

import (
	"context"
	"fmt"
	"os"
	"time"
)

// lookAround is the time over which Busy measures.
const lookAround = time.Second

// Busy measures for a second and returns the share of the cores that is in use, or a negative
// number if it is unknown.
func Busy(ctx context.Context) float64 {
	idle, all, ok := ticks()
	select {
	case <-time.After(lookAround):
	case <-ctx.Done():
	}
	idleNow, allNow, okNow := ticks()
	if !ok || !okNow || allNow == all {
		return -1
	}
	return 1 - float64(idleNow-idle)/float64(allNow-all)
}

// ticks returns the idle and the total ticks of all cores since the system was started.
func ticks() (idle, all int64, ok bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, false
	}
	var t [8]int64 // user, nice, system, idle, iowait, irq, softirq, steal
	if _, err := fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d %d", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]); err != nil {
		return 0, 0, false
	}
	for _, n := range t {
		all += n
	}
	return t[3] + t[4], all, true
}
