package runtime

import (
	"context"

	"github.com/schedgen/schedgen/internal/core"
)

// A call that needs no waiting takes three times as long through the general path. So a rank tries
// to run each operation at once (quick.go of package core). It succeeds if no other call is inside
// and every line arrives within a few looks. Otherwise the operation starts on the general path.

// quickAlone is how often a rank with a core to itself looks for a line before it gives up.
// quickCrowded is how often it looks where other ranks need the core. For a flag of a barrier it
// then looks once, since the writer may have to run on this core first.
const (
	quickAlone   = 512
	quickCrowded = 64
	// quickPause is how many turns of an empty loop a rank with a core to itself makes between its
	// own write and its first look: some 25 ns, less than a line needs from another core. The other
	// rank is writing its line meanwhile. A look at this moment takes the line away from the writer,
	// which then waits until it has the line back: barriers of two took 200 ns in place of 150.
	quickPause = 100
	// quickYields is how often other ranks may run meanwhile, while this rank holds the driver's
	// lock: 32 ranks on two cores have run within 16 to 20 µs.
	quickYields = 8
)

// quick tries to run a whole operation at once, and reports whether it has. If waits is false, it looks
// once for each line. The operation needs no frames and no notes, but a rank must hear of failures: after
// every checkCalls operations, quick polls, and looks at the others' notes.
func (c *Comm) quick(ctx context.Context, by *plan, mem *core.Buffers, waits bool) bool {
	p, looks, yields, pause := by.Plan, quickAlone, 0, quickPause
	q := c.core.Quick(p, mem.Block)
	if q == nil || !c.idle() || ctx.Err() != nil {
		return false
	}
	if !waits {
		looks, pause = 1, 0
	} else if c.drv.wait.Crowded() {
		pause = 0
		if looks = quickCrowded; p.Chunks == 0 {
			looks = 1
		}
		if c.drv.calls == 0 { // no call of another communicator waits for the lock
			yields = quickYields
		}
	}
	since := c.since()
	q.Own(p, mem)
	if !c.through(q, looks, yields, pause) {
		if err := q.Broken(); err != nil {
			begun, _ := c.core.Seq()
			c.core.Fail(p.Name, begun+1, err)
		}
		q.Undo()
		return false
	}
	c.started++
	c.drv.behind.entered++
	c.core.Through(p, q, mem.Block)
	if since > 0 {
		c.took(by, mem.Block, since)
	}
	if c.started%checkCalls == 0 {
		c.window.lookAround()
		c.drv.poll()
	}
	return true
}

// through makes the steps of an operation, and reports whether it has made all.
func (c *Comm) through(q *core.Quick, looks, yields, pause int) bool {
	for i := range q.Steps {
		s := &q.Steps[i]
		if s.Rank >= 0 {
			c.core.Note(q)
			var dst []byte
			if s.Chunk {
				dst = q.Into(s)
			}
			if i > 0 && q.Steps[i-1].Writes() {
				for range pause {
				}
			}
			if !c.awaitLine(q, s, looks, yields, dst) {
				return false
			}
		}
		if !c.core.Write(q, s) {
			return false
		}
	}
	return true
}

// idle reports whether the quick path may run: no other call is inside.
func (c *Comm) idle() bool {
	return c.calls == 0 && len(c.open) == 0 && c.queue.first == nil && !c.closing && len(c.drv.parking.asleep) == 0
}

// awaitLine waits for the line of a step and copies its chunk, if there is one, to dst. After the
// first looks it lets other ranks run between looks.
func (c *Comm) awaitLine(q *core.Quick, s *core.Step, looks, yields int, dst []byte) bool {
	for ; ; yields-- {
		found, ok := c.window.pollLine(q, s, looks, dst)
		if found || yields == 0 {
			return ok
		}
		c.drv.wait.Yield()
		looks = 1
	}
}

// pollLine looks for the line of step s up to times times.
func (w *window) pollLine(q *core.Quick, s *core.Step, times int, dst []byte) (found, ok bool) {
	at := s.Line
	if s.Chunk {
		at = q.ChunkLine(s)
	}
	l := &w.lines[s.Rank][at]
	for range times {
		if l.Seq() == q.Flag.Seq {
			f := l.Flag()
			return true, f.Seq == q.Flag.Seq && f.Mark == q.Flag.Mark && (!s.Chunk || w.shelf.Collect(s.Rank, at, f, dst))
		}
	}
	return false, false
}
