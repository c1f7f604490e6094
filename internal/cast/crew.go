package cast

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

	"github.com/schedgen/schedgen/internal/cast/remote"
	"github.com/schedgen/schedgen/internal/meet/lobby"
	"github.com/schedgen/schedgen/internal/words"
)

const (
	// maxOpening is the greatest number of connections that are opened at a time. An ssh server
	// refuses connections when ten have not logged in yet (MaxStartups), and one jump host may
	// serve all.
	maxOpening = 8
	// comeTime is the longest time that running receivers may take to come.
	comeTime = 30 * time.Second
	// endTime is the longest time that receivers may take to end after the cast.
	endTime = 10 * time.Second
)

// errLate is the error of a receiver that has not come, or has not ended, in time.
var errLate = errors.New("its receiver has not come in time")

// crew holds the receivers that are started by ssh, or called.
type crew struct {
	start  *launch
	events *events
	gate   chan struct{}           // holds an element for each connection that is being opened
	stop   context.CancelCauseFunc // ends all receivers and the cast
	ended  chan struct{}           // closed when all receivers have ended
	began  time.Time
	// spreads decide from where hosts get each program.
	spreads map[*remote.Program]*spread

	mu    sync.Mutex
	want  *lobby.Count // of the next round
	hosts []*crewHost  // in the order in which they were named
	here  int          // receivers that have come
	over  bool         // the cast waits for no more receivers
	late  *time.Timer  // runs once no more hosts are being started

	served map[string]bool // whether a host has everything, by name
}

// launch says how the crew starts receivers.
type launch struct {
	programs *remote.Programs
	ssh      remote.Config
	order    order // without the addresses and the name
	at       addresses
	strict   bool
	call     string // port of receivers that stand on their hosts; "" if ssh starts them
}

// crewHost is a host of the crew. The crew's lock guards it.
type crewHost struct {
	name  string
	state hostState
	seen  string // the sender's address, as the host sees it
	err   error  // why its receiver has ended
	stop  context.CancelCauseFunc
}

type hostState int

const (
	hostWaits hostState = iota
	hostOpens
	hostCopies
	hostRuns
	hostEnded
)

// startCrew starts receivers on the hosts. They end with ctx, which stop cancels.
func startCrew(ctx context.Context, stop context.CancelCauseFunc, names []string, start *launch, events *events) *crew {
	c := &crew{
		start: start, want: lobby.NewCount(len(names)), events: events, gate: make(chan struct{}, maxOpening), stop: stop,
		ended: make(chan struct{}), began: time.Now(), spreads: map[*remote.Program]*spread{},
	}
	for _, name := range names {
		c.hosts = append(c.hosts, &crewHost{name: name})
	}
	if start.programs != nil {
		for _, p := range start.programs.All {
			c.spreads[p] = newSpread()
		}
	}
	var all sync.WaitGroup
	for _, h := range c.hosts {
		var own context.Context
		own, h.stop = context.WithCancelCause(ctx)
		all.Go(func() {
			defer h.stop(nil)
			if start.call != "" {
				c.leave(ctx, h, c.call(own, h))
			} else {
				c.leave(ctx, h, c.serve(own, h))
			}
		})
	}
	go func() {
		all.Wait()
		close(c.ended)
	}()
	return c
}

// serve runs a receiver on a host until it ends.
func (c *crew) serve(ctx context.Context, h *crewHost) error {
	s, err := c.open(ctx, h)
	if err != nil {
		return err
	}
	program, copies, err := s.Program()
	switch {
	case err != nil:
		s.Close() // nothing runs there
	case !copies:
		c.events.detail(h.name, "the program is installed")
		if err = s.Run(ctx); err == nil {
			err = c.begin(h, s, nil)
		}
	default:
		c.become(h, hostCopies)
		defer c.spreads[program].withdraw(h.name)
		err = c.copy(ctx, h, s, c.spreads[program])
	}
	if err != nil {
		return err
	}
	c.events.copy(Output, h.name, s.Output)
	return s.Wait()
}

// copy brings a copy of the program to a host. The host runs it, and passes it on to others.
func (c *crew) copy(ctx context.Context, h *crewHost, s *remote.Session, spread *spread) error {
	seeds, err := spread.obtain(ctx, s)
	if err != nil {
		s.Close() // nothing runs there
		return err
	}
	if seeds {
		defer spread.seed()
	}
	began, from := time.Now(), "another host"
	if !s.Fetched() {
		from = "here"
	}
	if err := s.Run(ctx); err != nil {
		return err
	}
	if !s.Fetched() {
		spread.copied(time.Since(began))
	}
	c.events.detail(h.name, "it has got the program from "+from)
	return c.begin(h, s, spread)
}

// begin sends a running receiver its order. With a spread, the receiver also passes on the program.
func (c *crew) begin(h *crewHost, s *remote.Session, spread *spread) error {
	order := c.start.order
	order.Name, order.From, order.Share = h.name, c.start.at.list(s.Facts.Client), spread != nil
	text, err := json.Marshal(order)
	c.become(h, hostRuns)
	if err == nil {
		_, err = s.Write(text)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	if spread != nil {
		if at, ok := s.Shares(); ok {
			spread.offer(h.name, at)
		}
	}
	return nil
}

// open waits for the host's turn and connects to it.
func (c *crew) open(ctx context.Context, h *crewHost) (*remote.Session, error) {
	if err := c.enter(ctx, h); err != nil {
		return nil, err
	}
	defer c.exit()
	cfg := c.start.ssh
	cfg.Said = func(line string) { c.events.emit(Event{Kind: c.said(), Host: h.name, Text: line}) }
	s, err := remote.Open(ctx, h.name, c.start.programs, cfg)
	if err == nil {
		c.mu.Lock()
		h.seen = s.Facts.Client
		c.mu.Unlock()
	}
	return s, err
}

// said returns the event kind of lines that hosts print to their standard error. Without a command,
// the lines are those of ssh and of the receiver, and the last ones also come back in errors.
func (c *crew) said() EventKind {
	if c.start.order.Exec != "" || c.start.order.Then != "" {
		return ErrorOutput
	}
	return Detail
}

// enter waits until it is the host's turn to be connected to.
func (c *crew) enter(ctx context.Context, h *crewHost) error {
	select {
	case c.gate <- struct{}{}:
		c.become(h, hostOpens)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *crew) exit() { <-c.gate }

// become sets the state of a host.
func (c *crew) become(h *crewHost, state hostState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.state = state
	c.showStatus()
}

// leave notes that a host's receiver has ended with err. The sender no longer waits for it.
func (c *crew) leave(ctx context.Context, h *crewHost, err error) {
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
	c.events.detail(h.name, c.reason(h)) // the result says it
	c.showStatus()
	if c.start.strict {
		c.stop(fmt.Errorf("%s: %s", h.name, c.reason(h)))
	}
}

// come notes how many receivers have come.
func (c *crew) come(here int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.here = here
	c.showStatus()
}

// showStatus reports how many hosts are ready. When no more hosts are being started, the running
// receivers have comeTime to connect.
func (c *crew) showStatus() {
	var n [hostEnded + 1]int
	for _, h := range c.hosts {
		n[h.state]++
	}
	parts := []string{fmt.Sprintf("%d of %d have come", c.here, len(c.hosts))}
	for _, part := range []struct {
		n    int
		text string
	}{{n[hostWaits] + n[hostOpens], "connect"}, {n[hostCopies], "get the program"}, {n[hostEnded], "failed"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	if c.over {
		return
	}
	c.events.status(strings.Join(parts, ", "))
	if c.late == nil && n[hostWaits]+n[hostOpens]+n[hostCopies] == 0 {
		c.late = time.AfterFunc(comeTime, c.want.Stop)
	}
}

// close ends the wait for receivers. The cast serves the hosts that have arrived.
func (c *crew) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.late != nil {
		c.late.Stop()
	}
	c.events.status("")
}

// awaited describes the crew for a sender.
func (c *crew) awaited() *awaited {
	places := map[string]int{}
	for i, h := range c.hosts {
		places[h.name] = i
	}
	order := func(a, b string) int { return cmp.Compare(places[a], places[b]) }
	return &awaited{
		want: c.want, total: len(c.hosts), at: c.at, order: order,
		came: c.come, full: c.close, awaitRound: c.awaitRound, describe: c.describe,
	}
}

// absent says, by the state of a host, why its receiver has not come.
var absent = [...]string{
	hostWaits:  "it waits for its turn to connect",
	hostOpens:  "ssh has not connected",
	hostCopies: "it gets a copy of the program",
	hostRuns:   "its receiver runs but has not come",
}

// describe names the hosts that have not come, and says why.
func (c *crew) describe(here []string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var by [hostEnded][]string
	for _, h := range c.hosts {
		if h.state < hostEnded && !slices.Contains(here, h.name) {
			by[h.state] = append(by[h.state], h.name)
		}
	}
	text := fmt.Sprintf("%d of %s have come", len(here), words.Count(int64(len(c.hosts)), "host", "hosts"))
	for state, names := range by {
		if len(names) > 0 {
			text += fmt.Sprintf("; %s: %s", words.Some(names), absent[state])
		}
	}
	return text
}

// awaitRound sets the count of hosts for which the next round waits, and the hosts that have
// everything. It stops the wait at once if nobody else can come.
func (c *crew) awaitRound(want *lobby.Count, served map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want, c.served = want, served
	c.settle()
}

// settle stops the wait for a later round if nobody else can come.
func (c *crew) settle() {
	for _, h := range c.hosts {
		if h.state != hostEnded && !c.served[h.name] {
			return
		}
	}
	c.want.Stop()
}

// awaitEnd waits until all receivers have ended. It stops receivers that take longer than endTime.
// A receiver that is in done and runs a command after the cast may take any time.
func (c *crew) awaitEnd(done map[string]bool) {
	c.close()
	late := time.NewTimer(endTime)
	defer late.Stop()
	select {
	case <-c.ended:
	case <-late.C:
	}
	c.mu.Lock()
	for _, h := range c.hosts {
		if h.state != hostEnded && (c.start.order.Then == "" || !done[h.name]) {
			h.err = errLate
			h.stop(errLate)
		}
	}
	c.mu.Unlock()
	<-c.ended
	c.stop(nil)
}

// setup returns what was needed to start the receivers. began is when the first round began.
func (c *crew) setup(began time.Time) *Setup {
	t := &Setup{Seconds: began.Sub(c.began).Seconds()}
	for p, s := range c.spreads {
		s.mu.Lock()
		t.Sent, t.Passed = t.Sent+s.sent, t.Passed+s.passed
		if s.sent > 0 {
			if n, err := p.CopyBytes(); err == nil { // it was compressed to be sent
				t.Bytes = max(t.Bytes, n)
			}
		}
		s.mu.Unlock()
	}
	return t
}

// at returns this host's address as all running receivers see it. It returns an error if they see
// different ones.
func (c *crew) at() (netip.AddrPort, error) {
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
			return listener, fmt.Errorf("%s sees this host at an address that is not its own", h.name)
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

// reason returns the text of h.err, which must not be nil, without the name of the program.
func (c *crew) reason(h *crewHost) string {
	text := h.err.Error()
	if c.start.programs != nil {
		text = strings.TrimPrefix(text, c.start.programs.All[0].Name+": ")
	}
	return text
}

// complete lists all hosts in a result, in the order in which the user named them.
func (c *crew) complete(r *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	came := map[string]Receiver{}
	for _, each := range r.Receivers {
		came[each.Name] = each
	}
	r.Receivers = nil
	for _, h := range c.hosts {
		each, ok := came[h.name]
		switch {
		case !ok:
			h.err = cmp.Or(h.err, errLate)
			each = Receiver{Name: h.name, Outcome: Outcome{Reason: c.reason(h)}}
		case h.err == nil:
		case each.Done && c.start.order.Then != "":
			each.Command = c.reason(h)
		case !each.Done && each.Reason != errInterrupted.Error() && !strings.Contains(c.reason(h), each.Reason):
			each.Reason += " (" + c.reason(h) + ")"
		}
		r.Receivers = append(r.Receivers, each)
	}
}
