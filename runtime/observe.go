package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Observe is who is told what a communicator does, beside the process itself: each
// rank's own. Communicators made by Split, Dup and Shrink have the same.
type Observe struct {
	// Log gets an event when ranks have joined, when one is lost, when the communicator fails, and when it
	// is closed; nil: nobody does. Its handler may take its time, and may call any method of the
	// communicator except Close.
	//
	// While the ranks that a launcher has started meet, Log also gets a warning that says what this rank
	// waits for and why that has not come: after two seconds, and then at growing intervals. If Log is nil,
	// these warnings go to the standard error, a line each; slog.DiscardHandler silences them.
	Log *slog.Logger

	// Trace is called for all that operations do; nil: nothing is, and that costs a
	// comparison. It is called in the middle of the work, by one goroutine at a time: it
	// must be quick, and must not call the communicator. Package perfetto writes files of
	// what it is told.
	Trace func(Event)
}

// told is what has been told of a communicator.
type told struct {
	failed bool           // that it has failed
	log    sync.WaitGroup // logs that are being written
}

// logJoin says that the communicator is there: made by join, split, dup or
// shrink, which has taken so long.
func (c *Comm) logJoin(by string, took time.Duration) {
	attrs := []slog.Attr{slog.String("by", by), slog.String("transport", transportName(c.drv.tr)), slog.Int("hosts", c.hosts()), slog.Duration("took", took)}
	if of, ok := c.drv.tr.(wire.Copier); ok {
		n, why := of.Copies()
		if attrs = append(attrs, slog.Int("copies", n)); why != nil {
			attrs = append(attrs, slog.Any("why", why))
		}
	}
	if c.drv.windows.sets != nil {
		attrs = append(attrs, slog.Bool("windows", c.window != nil))
	}
	if c.group != nil {
		attrs = append(attrs, slog.String("group", c.group.String()))
	}
	if c.shared != "" {
		attrs = append(attrs, slog.String("shares_group", c.shared))
	}
	c.log(slog.LevelInfo, "joined", attrs...)
}

// logFailure says why the communicator has failed, and of whom. Nobody waits for the
// handler, which may be slow; the driver's lock is held here.
func (c *Comm) logFailure(err error) {
	if c.cfg.Observe.Log == nil || errors.Is(err, ErrClosed) || errors.Is(err, errShrunk) {
		return
	}
	c.told.log.Go(func() {
		for _, rank := range lostRanks(err) {
			c.log(slog.LevelWarn, "rank lost", slog.Int("lost", rank))
		}
		c.log(slog.LevelError, "communicator failed", slog.Any("error", err))
	})
}

// lostRanks returns the ranks that an error says are lost.
func lostRanks(err error) []int {
	var all *LostError
	var one *RankError
	switch {
	case errors.As(err, &all):
		return all.Ranks
	case errors.Is(err, ErrPeerLost) && errors.As(err, &one):
		return []int{one.Rank}
	}
	return nil
}

// logClose says how the communicator ends, after what has been said of it before.
func (c *Comm) logClose(err error) {
	c.told.log.Wait()
	attrs := []slog.Attr{slog.Uint64("operations", c.Totals().Operations)}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	c.log(slog.LevelInfo, "communicator closed", attrs...)
}

// log tells an event of this communicator. The driver's lock must not be held.
func (c *Comm) log(level slog.Level, what string, attrs ...slog.Attr) {
	if c.cfg.Observe.Log == nil {
		return
	}
	who := []slog.Attr{slog.Int("rank", c.rank), slog.Int("size", c.size), slog.Int("comm", int(c.number)), slog.Uint64("epoch", uint64(c.cfg.Epoch))}
	c.cfg.Observe.Log.LogAttrs(context.Background(), level, what, append(who, attrs...)...)
}

// hosts returns on how many hosts the ranks are; 0: not known.
func (c *Comm) hosts() int {
	seen := make(map[int]bool)
	for _, h := range c.caps.Host {
		seen[h] = true
	}
	if len(seen) == 0 && c.caps.Local == c.size {
		return 1
	}
	return len(seen)
}

// transportName returns the name of the package of a transport.
func transportName(tr any) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(fmt.Sprintf("%T", tr), "*"), ".")
	return name
}
