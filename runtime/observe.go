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

// Observe receives the events of a communicator. Each rank has its own. Communicators made by
// Split, Dup and Shrink inherit it.
type Observe struct {
	// Log gets an event when ranks have joined, when a rank is lost, when the communicator fails,
	// and when it is closed. The first says how a key protects what goes over the network: sealed is
	// no, signed or encrypted. If Log is nil, these events are dropped. Its handler may be slow, and
	// may call any method of the communicator except Close and Shrink, which wait for the handler.
	//
	// Log also gets a warning when a caller has waited for two seconds in a collective or in
	// Request.Wait, and further ones after twice the time each: after 4 s, 8 s and so on. Each
	// names the operation, the ranks that it waits for, and what they have not done, as far as this
	// rank knows. An operation that moves, such as a long broadcast, does not count as waiting
	// while all ranks have called it, as far as known. A last event says when the operation has
	// ended; if the communicator fails instead, that event is the last. If the handler has not
	// returned from an earlier event, there is no warning.
	//
	// While the ranks that a launcher has started meet, Log also gets warnings that say what this
	// rank waits for and why it has not come: after two seconds, and then at growing intervals. If
	// Log is nil, these warnings go to the standard error, a line each; slog.DiscardHandler
	// silences them.
	Log *slog.Logger

	// Latency counts how long operations take: see State.Latencies. Each operation then reads the
	// clock twice.
	Latency bool

	// Trace is called with every event of operations. If Trace is nil, the cost is one comparison
	// per event. One goroutine at a time calls Trace, in the middle of its work: Trace must be
	// quick, and must not call the communicator. Package perfetto writes traces to files.
	Trace func(Event)
}

// told records which events the observers have got.
type told struct {
	failed bool           // the failure has been reported
	log    sync.WaitGroup // log calls that still run
	last   chan struct{}  // closed when the last of these calls has ended; nil: there was none
}

// busy reports whether a call of logLater still runs or is pending.
func (t *told) busy() bool {
	if t.last == nil {
		return false
	}
	select {
	case <-t.last:
		return false
	default:
		return true
	}
}

// logLater calls f, which logs, after all earlier calls of logLater. It does not wait for f: the
// handler may be slow, and the caller holds the driver's lock.
func (c *Comm) logLater(f func()) {
	before, done := c.told.last, make(chan struct{})
	c.told.last = done
	c.told.log.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		f()
	})
}

// logJoin logs a new communicator. by is join, split, dup or shrink, which has taken the time took.
func (c *Comm) logJoin(by string, took time.Duration) {
	attrs := []slog.Attr{slog.String("by", by), slog.String("transport", transportName(c.drv.tr)), slog.Int("hosts", c.hosts()), slog.Duration("took", took)}
	if sealed := c.drv.tr.Caps().Sealed; sealed != "" {
		attrs = append(attrs, slog.String("sealed", sealed))
	}
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

// logFailure logs why the communicator has failed, and which ranks are lost.
func (c *Comm) logFailure(err error) {
	if c.cfg.Observe.Log == nil || errors.Is(err, ErrClosed) || errors.Is(err, errShrunk) {
		return
	}
	c.logLater(func() {
		for _, rank := range lostRanks(err) {
			c.log(slog.LevelWarn, "rank lost", slog.Int("lost", rank))
		}
		c.log(slog.LevelError, "communicator failed", slog.Any("error", err))
	})
}

// lostRanks returns the ranks that are lost according to err.
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

// logClose logs the end of the communicator, after all earlier logs have been written.
func (c *Comm) logClose(err error) {
	c.told.log.Wait()
	attrs := []slog.Attr{slog.Uint64("operations", c.Totals().Operations)}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	c.log(slog.LevelInfo, "communicator closed", attrs...)
}

// log logs an event of this communicator. The caller must not hold the driver's lock.
func (c *Comm) log(level slog.Level, what string, attrs ...slog.Attr) {
	if c.cfg.Observe.Log == nil {
		return
	}
	who := []slog.Attr{slog.Int("rank", c.rank), slog.Int("size", c.size), slog.Int("comm", int(c.number)), slog.Uint64("epoch", uint64(c.cfg.Epoch))}
	c.cfg.Observe.Log.LogAttrs(context.Background(), level, what, append(who, attrs...)...)
}

// hosts returns the number of hosts of the ranks, or 0 if it is not known.
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

// transportName returns the package name of a transport.
func transportName(tr any) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(fmt.Sprintf("%T", tr), "*"), ".")
	return name
}
