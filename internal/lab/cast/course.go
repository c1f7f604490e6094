//go:build linux

package cast

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/internal/test/netns"
)

// course is the state of a measurement.
type course struct {
	cell
	at      []time.Duration // by host: when the file arrived; 0: not yet
	lost    map[int]error   // hosts whose receiver has failed
	running int             // number of running senders
	senders error           // error of the first sender that failed
	ended   time.Duration   // when the last sender ended
	why     error           // why the measurement was aborted
}

func newCourse(c cell) *course {
	return &course{cell: c, at: make([]time.Duration, c.Hosts+1), lost: map[int]error{}}
}

// isOver reports whether the measurement is over. It does not wait for a host that has failed or
// must fail.
func (c *course) isOver() bool { return c.running == 0 && len(c.lacking()) == 0 }

// lacking returns the hosts that should have the file, do not have it yet and may still get it.
func (c *course) lacking() (hosts []int) {
	for i := 1; i <= c.Hosts; i++ {
		doomed := i == c.victim() && c.Fault != faultSlow
		if c.at[i] == 0 && c.lost[i] == nil && !doomed {
			hosts = append(hosts, i)
		}
	}
	return hosts
}

// linger is the time in which a file must appear after the senders have ended, and receivers must
// end after all files have appeared.
const linger = 3 * time.Second

// end is the end of a process: of a sender, or of receiver i.
type end struct {
	sender bool
	i      int
	err    error
}

// follow starts the senders and records events until the measurement or its time is over.
func (m *measurement) follow(ctx context.Context, c *course, came <-chan int, deaf <-chan error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ends := make(chan end, len(m.plan.senders)+len(m.receivers))
	for i, p := range m.receivers {
		go func() { <-p.ended; ends <- end{false, i + 1, p.failure()} }()
	}
	began := time.Now()
	for i, words := range m.plan.senders {
		p, err := m.hosts[0].start(words, m.Dir)
		if err != nil {
			return err
		}
		m.senders = append(m.senders, p)
		go func() { <-p.ended; ends <- end{true, i, p.failure()} }()
	}
	c.running = len(m.senders)
	struck := make(chan error, 1)
	go func() { struck <- m.strike(ctx) }()
	var late <-chan time.Time
	for !c.isOver() {
		select {
		case host := <-came:
			c.at[host] = time.Since(began)
		case e := <-ends:
			c.recordEnd(e, time.Since(began))
			if c.running == 0 && late == nil {
				late = time.After(linger)
			}
		case <-late:
			return nil
		case <-ctx.Done():
			c.why = context.Cause(ctx)
			return nil
		case err := <-deaf:
			return err
		case err := <-struck:
			if err != nil {
				return err
			}
			struck = nil
		}
	}
	m.awaitReceivers()
	return nil
}

// recordEnd records the end of a process.
func (c *course) recordEnd(e end, now time.Duration) {
	if !e.sender {
		if e.err != nil {
			c.lost[e.i] = e.err
		}
		return
	}
	c.ended = now
	if c.running--; e.err != nil && c.senders == nil {
		c.senders = e.err
	}
}

// awaitReceivers waits briefly for receivers that end by themselves, so that their use of
// processors is known.
func (m *measurement) awaitReceivers() {
	if m.plan.stays {
		return
	}
	timer := time.After(linger)
	for _, p := range m.receivers {
		select {
		case <-p.ended:
		case <-timer:
			return
		}
	}
}

// strike kills the victim, or cuts its link, when it has half of the file.
func (m *measurement) strike(ctx context.Context) error {
	c := m.Trial.cell
	if c.Fault != faultDies && c.Fault != faultCut {
		return nil
	}
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
		_, to, err := carried(c.victim())
		if err != nil {
			return err
		}
		if to >= int64(c.Bytes)/2 {
			break
		}
	}
	if c.Fault == faultCut {
		return netns.Execute([]string{fmt.Sprintf("ip link set %s down", netns.Port(c.victim()))})
	}
	processes, err := processesIn(m.hosts[c.victim()].thread)
	for _, p := range processes {
		_ = p.Kill() // one that has just ended is no error
	}
	if err == nil && len(processes) == 0 {
		err = errors.New("the host that should die runs nothing")
	}
	return err
}
