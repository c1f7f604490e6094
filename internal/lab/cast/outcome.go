//go:build linux

package cast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// setOutcome sets the outcome when all processes have ended.
func (m *measurement) setOutcome(o *outcome, c *course) {
	m.addUsage(o)
	m.readReport(o)
	have := m.verified(c)
	for i := 1; i <= c.Hosts; i++ {
		switch {
		case i == c.victim():
		case have[i] != nil && o.Failed != "": // one host is named already
		case have[i] != nil:
			o.Failed = m.explain(fmt.Errorf("host %d: %w", i, have[i]))
		default:
			o.Healthy = max(o.Healthy, c.at[i].Seconds())
		}
	}
	if c.why != nil && (o.Failed != "" || c.Fault == faultNone) {
		o.Failed = m.explain(c.why)
	} else if c.senders != nil && (o.Failed != "" || c.Fault == faultNone) {
		o.Failed = m.explain(fmt.Errorf("sender: %w", c.senders))
	}
	if c.running == 0 && (c.victim() == 0 || c.Fault != faultSlow || have[c.victim()] == nil) {
		o.Ended = max(o.Healthy, c.ended.Seconds(), c.at[c.victim()].Seconds())
	}
}

// verified returns for each host the error of its copy of the file, or nil.
func (m *measurement) verified(c *course) []error {
	wrong := make([]error, c.Hosts+1)
	var wg sync.WaitGroup
	turns := make(chan struct{}, 2)
	for i := 1; i <= c.Hosts; i++ {
		switch {
		case c.at[i] > 0:
			wg.Go(func() {
				turns <- struct{}{}
				wrong[i] = check(filepath.Join(m.place.hostDir(i), fileName), m.Sum)
				<-turns
			})
		case c.lost[i] != nil:
			wrong[i] = c.lost[i]
		default:
			wrong[i] = errors.New("has not got the file")
		}
	}
	wg.Wait()
	return wrong
}

// addUsage adds up the use of processors, memory and links.
func (m *measurement) addUsage(o *outcome) {
	add := func(all []*process, cpu *float64, memory *int64) {
		for _, p := range all {
			seconds, most := p.usage()
			*cpu += seconds
			*memory = max(*memory, most)
		}
	}
	add(m.senders, &o.SenderCPU, &o.SenderMemory)
	add(m.receivers, &o.ReceiversCPU, &o.ReceiversMemory)
	for i := range m.hosts {
		// Without counters the report shows 0.
		from, to, err := carried(i)
		switch {
		case err != nil:
		case i == 0:
			o.Sent = from
		default:
			o.Received = max(o.Received, to)
		}
	}
}

// readReport reads what schedgen reports of its cast.
func (m *measurement) readReport(o *outcome) {
	var said struct {
		Transport string
		Seconds   float64
	}
	if len(m.senders) == 1 && json.Unmarshal([]byte(m.senders[0].out.String()), &said) == nil {
		o.Told, o.Way = said.Seconds, said.Transport
	}
}

// runPreparation runs a command of the preparation.
func runPreparation(ctx context.Context, words []string) error {
	if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, out)
	}
	return nil
}
