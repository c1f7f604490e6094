package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/schedgen/schedgen/cast/remote"
)

// castVisit is what a rehearsal has found on a host.
type castVisit struct {
	Name   string `json:"name"`
	Copy   bool   `json:"copy"`             // it would get a copy of this program
	Reason string `json:"reason,omitempty"` // why it would get nothing
}

// rehearse connects to the hosts and says what would be sent to them.
func (c *castCmd) rehearse(ctx context.Context, hosts []string, program *remote.Program, p *castPlan, std stdio) error {
	p.Hosts = make([]castVisit, len(hosts))
	gate := make(chan struct{}, maxOpening)
	var all sync.WaitGroup
	for i, host := range hosts {
		gate <- struct{}{}
		all.Go(func() {
			defer func() { <-gate }()
			p.Hosts[i] = visit(ctx, host, program, c.SSH)
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.tell(std, c.JSON); err != nil {
		return err
	}
	bad := 0
	for i := range p.Hosts {
		if p.Hosts[i].Reason != "" {
			bad++
		}
	}
	if bad > 0 {
		return failed(fmt.Errorf("%s of %d would get nothing", plural(int64(bad), "host", "hosts"), len(hosts)))
	}
	return nil
}

// visit connects to a host and leaves it again.
func visit(ctx context.Context, host string, program *remote.Program, ssh string) castVisit {
	v := castVisit{Name: host}
	s, err := remote.Open(ctx, host, program, remote.Config{SSH: ssh})
	if err == nil {
		v.Copy, err = s.Copies()
		_ = s.Close() // nothing runs there
	}
	if err != nil {
		v.Reason = err.Error()
	}
	return v
}

// words say what would happen there.
func (v *castVisit) words() string {
	switch {
	case v.Reason != "":
		return v.Reason
	case v.Copy:
		return "would get a copy of schedgen"
	}
	return "has this schedgen"
}
