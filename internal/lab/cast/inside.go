//go:build linux

package cast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/report"
)

// inside reads a measurement, makes it, and writes its outcome.
func inside(ctx context.Context, in io.Reader, out io.Writer) error {
	var j job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("read what to measure: %w", err)
	}
	if err := j.isolate(); err != nil {
		return err
	}
	if err := prioritize(); err != nil {
		return err
	}
	hosts, err := newNetwork(j.Trial.cell)
	if err != nil {
		return err
	}
	m := &measurement{job: j, hosts: hosts, place: place{j.Trial.cell, j.Dir, j.Source, j.Schedgen}}
	o, err := m.run(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(o)
}

// prioritize gives the session of this process the priority that --prefix has given to this process.
// Some systems schedule sessions as groups.
func prioritize() error {
	const highest = 20 // the system returns a nice value as its distance from here
	got, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return os.NewSyscallError("getpriority", err)
	}
	if got == highest {
		return nil
	}
	err = os.WriteFile("/proc/self/autogroup", fmt.Append(nil, highest-got), 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// measurement is a trial that is under way.
type measurement struct {
	job
	hosts     []*host
	place     place
	plan      *plan
	receivers []*process
	senders   []*process
}

// run makes the measurement. It returns errors of this program only.
func (m *measurement) run(ctx context.Context) (o *outcome, err error) {
	m.plan = contenderOf(m.Trial.Tool).plan(&m.place)
	if err := m.prepare(ctx); err != nil {
		return nil, err
	}
	files, err := watch(m.Trial.Hosts, m.place.hostDir)
	if err != nil {
		return nil, err
	}
	came := make(chan int, m.Trial.Hosts)
	deaf := make(chan error, 1)
	go func() { deaf <- files.listen(func(host int) { came <- host }) }()
	defer func() { err = errors.Join(err, files.close()) }()

	ctx, cancel := context.WithTimeoutCause(ctx, m.Budget, errLate)
	defer cancel()
	o = new(outcome)
	if err := m.startReceivers(ctx); err != nil {
		m.stop()
		o.Failed = m.explain(err)
		return o, nil
	}
	course := newCourse(m.Trial.cell)
	err = m.follow(ctx, course, came, deaf)
	m.stop()
	if err != nil {
		return nil, err
	}
	m.setOutcome(o, course)
	return o, nil
}

// prepare makes the directories of the hosts and the files of the tool.
func (m *measurement) prepare(ctx context.Context) error {
	for i := 1; i <= m.Trial.Hosts; i++ {
		if err := os.Mkdir(m.place.hostDir(i), 0o755); err != nil {
			return err
		}
	}
	for name, text := range m.plan.files {
		if err := os.WriteFile(filepath.Join(m.Dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, words := range m.plan.prepare {
		if err := runPreparation(ctx, words); err != nil {
			return err
		}
	}
	return m.warm()
}

// startReceivers starts the receivers and waits until they are ready.
func (m *measurement) startReceivers(ctx context.Context) error {
	for i, words := range m.plan.receivers {
		p, err := m.hosts[i+1].start(words, m.place.hostDir(i+1))
		if err != nil {
			return err
		}
		m.receivers = append(m.receivers, p)
	}
	if m.plan.ready.port == 0 {
		return nil
	}
	for i, p := range m.receivers {
		if err := p.await(ctx, m.plan.ready); err != nil {
			return fmt.Errorf("host %d: %w", i+1, err)
		}
	}
	return nil
}

// look is the interval at which the system's tables of sockets are read, because nothing signals a
// change.
const look = 5 * time.Millisecond

// await waits until the process has bound a socket.
func (p *process) await(ctx context.Context, s socket) error {
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for {
		if bound, err := s.bound(p.cmd.Process.Pid); bound || err != nil {
			return err
		}
		select {
		case <-ticks.C:
		case <-p.ended:
			return fmt.Errorf("its receiver has ended: %w", p.failure())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var errLate = errors.New("the time is over")

// explain returns one line that tells why a measurement failed.
func (m *measurement) explain(err error) string {
	if errors.Is(err, errLate) {
		return fmt.Sprintf("did not end after %g s", m.Budget.Seconds())
	}
	return report.OneLine(err)
}

// stop ends all processes and waits for them.
func (m *measurement) stop() {
	var wg sync.WaitGroup
	for _, p := range append(append([]*process{}, m.senders...), m.receivers...) {
		wg.Go(p.stop)
	}
	wg.Wait()
}
