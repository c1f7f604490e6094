package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/status"
)

// member is this process as a member of its group, and the lines that it prints.
type member struct {
	flags   *groupFlags
	std     terminal.Stdio
	group   *group.Group
	page    *status.Server // nil without --status
	began   time.Time
	joined  chan struct{} // closed when group is set
	roster  roster
	changes chan group.Change // changes to print
	told    chan struct{}     // closed when all changes are printed

	mu  sync.Mutex // held to print
	err error      // why a line could not be printed
}

// slack is the number of views that may wait to be printed.
const slack = 64

func newMember(f *groupFlags, std terminal.Stdio) *member {
	m := &member{flags: f, std: std, began: time.Now(), joined: make(chan struct{}), changes: make(chan group.Change, slack), told: make(chan struct{})}
	go func() {
		defer close(m.told)
		for c := range m.changes {
			m.print(&viewLine{c.View.Epoch, labels(c.View.Members), labels(c.Came), labels(c.Left), labels(c.Lost)})
		}
	}()
	return m
}

// report is the [status.Source] of this member alone.
func (m *member) report(context.Context) []status.Report {
	select {
	case <-m.joined:
	default:
		return []status.Report{{Note: fmt.Sprintf("has been joining for %.1f s", time.Since(m.began).Seconds())}}
	}
	states := m.group.States()
	if len(states) == 0 {
		return []status.Report{{Note: "the members of the next view have not met"}}
	}
	return []status.Report{{Process: states[0].Process, States: states}}
}

// changed is the group's hook for changes of the membership.
func (m *member) changed(c group.Change) {
	m.roster.note(c)
	m.changes <- c
}

// line is a line that a member prints: as text, or as a JSON object.
type line interface{ text() string }

// print prints a line.
func (m *member) print(l line) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return
	}
	if m.flags.JSON {
		m.err = terminal.WriteJSON(m.std.Out, l, "")
		return
	}
	_, m.err = fmt.Fprintln(m.std.Out, l.text())
}

// printed returns the error of the first line that could not be printed.
func (m *member) printed() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// gather waits until the group has the number of members of --members.
func (m *member) gather(ctx context.Context) error {
	for v := m.group.View(); len(v.Members) < m.flags.Members; {
		var err error
		if v, err = m.group.Await(ctx, v.Epoch); err != nil {
			return fmt.Errorf("wait for %d members: %w", m.flags.Members, err)
		}
	}
	return nil
}

// rest waits until the next message or broadcast is due.
func (m *member) rest(ctx context.Context) error {
	if err := m.printed(); err != nil || m.flags.Every == 0 {
		return err
	}
	select {
	case <-time.After(m.flags.Every):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leaveTime is the longest time that leaving in good order may take.
const leaveTime = 15 * time.Second

// leave leaves the group, even if ctx has ended, unless the membership has ended already. worked is
// the error of the work. leave returns it, except after an interrupt, together with the error of
// leaving.
func (m *member) leave(ctx context.Context, worked error) error {
	if ended := m.group.Err(); ended != nil {
		return cmp.Or(worked, ended)
	}
	if ctx.Err() != nil {
		worked = nil
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), leaveTime, &lateError{fmt.Sprintf("not done after %v", leaveTime)})
	defer cancel()
	return errors.Join(worked, m.group.Leave(ctx))
}

// close releases everything. It returns when all views have been printed.
func (m *member) close() error {
	var err error
	if m.page != nil {
		err = m.page.Close()
	}
	if m.group != nil {
		err = errors.Join(err, m.group.Close())
	}
	close(m.changes) // a closed group calls its hook no more
	<-m.told
	return err
}

// finish ends the membership after the work and prints the summary. It returns an error if the work
// or leaving failed, or if data were wrong.
func (m *member) finish(ctx context.Context, worked error, summary func() summary) error {
	err := m.leave(ctx, worked)
	err = errors.Join(err, m.close())
	s := summary()
	c := s.common()
	c.end(m, err)
	m.print(s)
	switch {
	case m.printed() != nil:
		return m.printed()
	case c.Wrong > 0:
		return terminal.Negative(fmt.Sprintf("wrong data, %d times; first %s", c.Wrong, c.First))
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(m.std.Err, "schedgen:", err) // after an interrupt, run prints only "interrupted"
		return err
	case err != nil:
		return terminal.Failed(err)
	}
	return ctx.Err()
}
