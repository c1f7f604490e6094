package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/cast/remote"
	"github.com/schedgen/schedgen/runtime/lobby"
)

const (
	// maxOpening is how many connections are opened at a time. A server refuses some of those that have not logged in yet when they are
	// ten (MaxStartups), and a jump host is the server of all.
	maxOpening = 8
	// arriving bounds how long receivers that run take to come.
	arriving = 30 * time.Second
	// leaving bounds how long receivers take to end after the cast.
	leaving = 10 * time.Second
)

// errLate: a receiver has not come, or not ended, while the others have.
var errLate = errors.New("its receiver has not come in time")

// castCrew are receivers that are started by ssh.
type castCrew struct {
	start *castStart
	lines *castLines
	gate  chan struct{}           // holds one for each connection that is being opened
	stop  context.CancelCauseFunc // ends all, and the cast
	ended chan struct{}           // closed when all have ended

	mu    sync.Mutex
	want  *lobby.Count // of the round that is to begin
	hosts []*castHost  // in the order in which they were named
	here  int          // receivers that have come
	over  bool         // nobody is waited for any more
	late  *time.Timer  // runs when all that could be started have been

	served map[string]bool // who has all
}

// castStart is what receivers are started with.
type castStart struct {
	program *remote.Program
	ssh     string
	order   castOrder // without addresses and name
	at      castAddresses
	strict  bool
}

// castHost is a host of the crew, whose lock guards it.
type castHost struct {
	name  string
	state hostState
	seen  string // the sender's address, as the host sees it
	err   error  // why it has ended
}

type hostState int

const (
	hostWaits hostState = iota
	hostOpens
	hostCopies
	hostRuns
	hostEnded
)

// startCrew starts receivers on the hosts. All end with ctx, which stop ends.
func startCrew(ctx context.Context, stop context.CancelCauseFunc, names []string, start *castStart, lines *castLines) *castCrew {
	c := &castCrew{start: start, want: lobby.NewCount(len(names)), lines: lines, gate: make(chan struct{}, maxOpening), stop: stop, ended: make(chan struct{})}
	for _, name := range names {
		c.hosts = append(c.hosts, &castHost{name: name})
	}
	var all sync.WaitGroup
	for _, h := range c.hosts {
		all.Go(func() { c.leave(ctx, h, c.serve(ctx, h)) })
	}
	go func() {
		all.Wait()
		close(c.ended)
	}()
	return c
}

// serve has a receiver run on a host, until that has ended.
func (c *castCrew) serve(ctx context.Context, h *castHost) error {
	s, err := c.open(ctx, h)
	if err != nil {
		return err
	}
	copies, err := s.Copies()
	if err == nil && copies {
		c.become(h, hostCopies)
	}
	if err := s.Run(ctx); err != nil {
		return err
	}
	order := c.start.order
	order.Name, order.From = h.name, c.start.at.list(s.Facts.Client)
	text, err := json.Marshal(order)
	c.become(h, hostRuns)
	if err == nil {
		_, err = s.Write(text)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	c.lines.copy(c.lines.out, h.name, s.Output)
	return s.Wait()
}

// open connects to a host when it is its turn.
func (c *castCrew) open(ctx context.Context, h *castHost) (*remote.Session, error) {
	select {
	case c.gate <- struct{}{}:
		defer func() { <-c.gate }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c.become(h, hostOpens)
	cfg := remote.Config{SSH: c.start.ssh}
	if c.start.order.Exec != "" {
		cfg.Said = func(line string) { c.lines.print(c.lines.err, h.name, line) }
	}
	s, err := remote.Open(ctx, h.name, c.start.program, cfg)
	if err == nil {
		c.mu.Lock()
		h.seen = s.Facts.Client
		c.mu.Unlock()
	}
	return s, err
}

// become says how far a host has come.
func (c *castCrew) become(h *castHost, state hostState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.state = state
	c.tell()
}

// leave says that a host's receiver has ended. It is not waited for any more.
func (c *castCrew) leave(ctx context.Context, h *castHost, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.state, h.err = hostEnded, cmp.Or(h.err, err)
	if c.over {
		c.settle()
		return
	}
	if h.err == nil {
		h.err = errors.New("its receiver has ended too soon")
	}
	c.want.Less()
	if ctx.Err() != nil {
		return
	}
	c.lines.print(c.lines.err, h.name, h.reason())
	c.tell()
	if c.start.strict {
		c.stop(fmt.Errorf("%s: %s", h.name, h.reason()))
	}
}

// come says how many receivers are here.
func (c *castCrew) come(here int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.here = here
	c.tell()
}

// tell shows how far the hosts have come. When nobody starts any more those that run have a while to come.
func (c *castCrew) tell() {
	var n [hostEnded + 1]int
	for _, h := range c.hosts {
		n[h.state]++
	}
	words := []string{fmt.Sprintf("%d of %d have come", c.here, len(c.hosts))}
	for _, part := range []struct {
		n    int
		text string
	}{{n[hostWaits] + n[hostOpens], "connect"}, {n[hostCopies], "get the program"}, {n[hostEnded], "failed"}} {
		if part.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	if c.over {
		return
	}
	c.lines.show(strings.Join(words, ", "))
	if c.late == nil && n[hostWaits]+n[hostOpens]+n[hostCopies] == 0 {
		c.late = time.AfterFunc(arriving, c.want.Stop)
	}
}

// close says that nobody is waited for any more: those that have come are served.
func (c *castCrew) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.late != nil {
		c.late.Stop()
	}
	c.lines.show("")
}

// guests are the crew as those for whom a sender waits.
func (c *castCrew) guests() *castGuests {
	places := map[string]int{}
	for i, h := range c.hosts {
		places[h.name] = i
	}
	order := func(a, b string) int { return cmp.Compare(places[a], places[b]) }
	return &castGuests{want: c.want, came: c.come, full: c.close, at: c.at, order: order, later: c.later, words: c.words, say: func(line string) { c.lines.say(c.lines.err, line) }}
}

// absent says what is known of a host whose receiver has not come, by its state.
var absent = [...]string{
	hostWaits:  "its turn to be connected to has not come",
	hostOpens:  "ssh has not connected",
	hostCopies: "it gets a copy of schedgen",
	hostRuns:   "its receiver runs and has not come",
}

// words says which hosts have not come, and why.
func (c *castCrew) words(here []string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var by [hostEnded][]string
	for _, h := range c.hosts {
		if h.state < hostEnded && !slices.Contains(here, h.name) {
			by[h.state] = append(by[h.state], h.name)
		}
	}
	words := fmt.Sprintf("%d of %s have come", len(here), plural(int64(len(c.hosts)), "host", "hosts"))
	for state, names := range by {
		if len(names) > 0 {
			words += fmt.Sprintf("; %s: %s", someOf(names), absent[state])
		}
	}
	return words
}

// later says for whom a later round waits, and who has all already.
func (c *castCrew) later(want *lobby.Count, served map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want, c.served = want, served
	c.settle()
}

// settle stops the waiting for a later round when nobody else can come.
func (c *castCrew) settle() {
	for _, h := range c.hosts {
		if h.state != hostEnded && !c.served[h.name] {
			return
		}
	}
	c.want.Stop()
}

// end waits until all receivers have ended. Who takes too long, or has not come, is ended.
func (c *castCrew) end() {
	c.close()
	late := time.NewTimer(leaving)
	defer late.Stop()
	select {
	case <-c.ended:
	case <-late.C:
	}
	c.mu.Lock()
	for _, h := range c.hosts {
		if h.state != hostEnded {
			h.err = errLate
		}
	}
	c.mu.Unlock()
	c.stop(nil)
	<-c.ended
}

// at returns the address of this host where all that run see it.
func (c *castCrew) at() (netip.AddrPort, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	listener := c.start.at.listener
	if !listener.Addr().IsUnspecified() {
		return listener, nil
	}
	var at netip.Addr
	for _, h := range c.hosts {
		if h.state != hostRuns {
			continue
		}
		a, direct := c.start.at.direct(h.seen)
		switch {
		case !direct:
			return listener, fmt.Errorf("%s does not see this host at an address of its own", h.name)
		case at.IsValid() && a != at:
			return listener, fmt.Errorf("the hosts see this one at several addresses, %v and %v", at, a)
		}
		at = a
	}
	if !at.IsValid() {
		return listener, errors.New("no receiver runs")
	}
	return netip.AddrPortFrom(at, listener.Port()), nil
}

// reason is why a host whose receiver has ended has nothing.
func (h *castHost) reason() string { return strings.TrimPrefix(h.err.Error(), "schedgen: ") }

// complete names all hosts in an outcome, in the order in which they were named.
func (c *castCrew) complete(o *castOutcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	came := map[string]castReceiver{}
	for _, r := range o.Receivers {
		came[r.Name] = r
	}
	o.Receivers = nil
	for _, h := range c.hosts {
		r, ok := came[h.name]
		if !ok {
			h.err = cmp.Or(h.err, errLate)
			r = castReceiver{h.name, cast.Outcome{Reason: h.reason()}}
		} else if !r.Done && h.err != nil && !strings.Contains(h.reason(), r.Reason) {
			r.Reason += " (" + h.reason() + ")"
		}
		o.Receivers = append(o.Receivers, r)
	}
}
