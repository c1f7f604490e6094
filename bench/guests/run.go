//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/schedgen/schedgen/bench/guests/internal/debian"
	"github.com/schedgen/schedgen/bench/guests/internal/ether"
)

// grace is how long the other commands have to end when one has failed: what
// they say then is often the reason.
const grace = 10 * time.Second

// run runs the command in all guests.
func run(ctx context.Context, o *options, out, errs io.Writer) (err error) {
	say := func(text string) { fmt.Fprintln(errs, "guests:", text) }
	emulator, err := findEmulator()
	if err != nil {
		return err
	}
	image, err := debian.Open(ctx, o.cache, o.kernel, say)
	if err != nil {
		return err
	}
	initrd, err := writeInitramfs(ctx, o, image)
	if err != nil {
		return fmt.Errorf("make the guests' file system: %w", err)
	}
	defer initrd.Close() // it has no name any more
	cpuinfo, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return err
	}
	m := machine{accel: accelerator(o.accel, cpuinfo), kernel: image.Kernel, options: o}
	if m.tscKHz, err = tscKHz(cpuinfo); err != nil {
		return err
	}
	results, err := openResults(o.out, o.guests)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, results.close()) }()
	h := newHosts(o, out, errs)
	defer func() { err = errors.Join(err, h.end()) }()
	began := time.Now()
	if err := h.start(emulator, m, initrd); err != nil {
		return err
	}
	if err := h.each(ctx, o.boot, "was not up", (*guest).boot); err != nil {
		return err
	}
	up := time.Now()
	err = h.commands(ctx, results)
	c := h.network.Counts()
	say(fmt.Sprintf("%d guests by %s, up after %.1f s, commands took %.1f s; frames: %d sent, %d lost, %d overflowed",
		o.guests, m.accel, up.Sub(began).Seconds(), time.Since(up).Seconds(), c.Sent, c.Lost, c.Overflowed))
	return err
}

// writeInitramfs returns a file with what guests boot from. It has no name, so
// it is gone with those who have it open.
func writeInitramfs(ctx context.Context, o *options, image *debian.Image) (*os.File, error) {
	f, err := os.CreateTemp("", "schedgen-guests-")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Remove(f.Name()), initramfs(ctx, f, o, image)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// hosts are all guests and what is between them.
type hosts struct {
	options    *options
	network    *ether.Switch
	guests     []*guest
	forwarding sync.WaitGroup
	failures   chan error // of forwarding
}

func newHosts(o *options, out, errs io.Writer) *hosts {
	h := &hosts{options: o, network: ether.New(ether.Config{Loss: o.loss, Seed: o.seed, Queue: queue})}
	h.failures = make(chan error, o.guests)
	mu := new(sync.Mutex)
	for i := range o.guests {
		prefix := guestName(i) + ": "
		g := &guest{number: i, ended: make(chan struct{}), console: &console{}}
		g.stdout, g.stderr = &lines{mu: mu, out: out, prefix: prefix}, &lines{mu: mu, out: errs, prefix: prefix}
		if o.console {
			g.console.show = &lines{mu: mu, out: errs, prefix: guestName(i) + " console: "}
		}
		h.guests = append(h.guests, g)
	}
	return h
}

// start starts all guests and the switch between them.
func (h *hosts) start(emulator string, m machine, initrd *os.File) error {
	started := h.guests
	h.guests = nil // end ends those that have been started
	for i, g := range started {
		m.guest = i
		if err := startGuest(emulator, m, initrd, g); err != nil {
			return err
		}
		h.guests = append(h.guests, g)
		forward := h.network.Plug(g.link)
		h.forwarding.Go(func() {
			if err := forward(); err != nil {
				h.failures <- fmt.Errorf("the link of guest%d: %w", i, err)
			}
		})
	}
	return nil
}

// end ends all guests and waits until nothing is left of them.
func (h *hosts) end() error {
	h.kill()
	for _, g := range h.guests {
		<-g.ended
		_ = g.port.Close() // nobody is at its other end
	}
	h.forwarding.Wait()
	close(h.failures)
	var all []error
	for err := range h.failures {
		all = append(all, err)
	}
	return errors.Join(all...)
}

func (h *hosts) kill() {
	for _, g := range h.guests {
		g.end()
	}
}

// each does something with all guests at once and waits for all. If it takes
// longer than bound, if ctx ends or if something else fails than a command,
// all guests are ended; if a command fails, after some time. late says what a guest that is
// not done has failed to do.
func (h *hosts) each(ctx context.Context, bound time.Duration, late string, do func(*guest) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, h.kill)()
	type outcome struct {
		guest int
		err   error
	}
	outcomes := make(chan outcome)
	pending := map[int]bool{}
	for i, g := range h.guests {
		pending[i] = true
		go func() { outcomes <- outcome{i, do(g)} }()
	}
	timer := time.NewTimer(bound)
	defer timer.Stop()
	var failures []error
	for len(pending) > 0 {
		select {
		case <-timer.C:
			cancel(fmt.Errorf("%s %s within %v", names(pending), late, bound))
			continue
		case end := <-outcomes:
			delete(pending, end.guest)
			if end.err == nil || ctx.Err() != nil {
				continue
			}
			failures = append(failures, end.err)
			if _, ok := errors.AsType[*commandError](end.err); !ok {
				cancel(end.err)
			} else if len(failures) == 1 {
				bound = grace
				timer.Reset(grace)
			}
		}
	}
	if len(failures) == 0 || ctx.Err() != nil && !slices.Contains(failures, context.Cause(ctx)) {
		failures = append(failures, context.Cause(ctx)) // nil while nothing has gone wrong
	}
	return errors.Join(failures...)
}

// names returns guests as one says them.
func names(guests map[int]bool) string {
	var all []string
	for i := range 64 {
		if guests[i] {
			all = append(all, guestName(i))
		}
	}
	return strings.Join(all, ", ")
}

// commands runs the command in all guests.
func (h *hosts) commands(ctx context.Context, results *results) error {
	for _, k := range h.options.kills {
		defer time.AfterFunc(k.after, h.guests[k.guest].kill).Stop()
	}
	err := h.each(ctx, h.options.timeout, "had not ended its command", func(g *guest) error {
		return g.command(h.options.startMessage(g.number), results)
	})
	for _, k := range h.options.kills {
		if h.guests[k.guest].become(done) != killed && err == nil {
			err = fmt.Errorf("--kill=%d@%v: its command had ended before", k.guest, k.after)
		}
	}
	return err
}

// startMessage tells a guest what to run.
func (o *options) startMessage(guest int) message {
	m := message{Kind: start, Env: []string{
		fmt.Sprintf("SCHEDGEN_RANK=%d", guest), fmt.Sprintf("SCHEDGEN_SIZE=%d", o.guests),
		"OUT=" + resultsDir, "HOME=/root", stageVar + "=",
	}}
	fill := strings.NewReplacer("{guest}", fmt.Sprint(guest), "{guests}", fmt.Sprint(o.guests))
	for _, a := range o.command {
		m.Args = append(m.Args, fill.Replace(a))
	}
	if len(o.programs()) > len(o.add) { // it is a file of the host
		m.Args[0] = guestProgram(o.command[0])
	}
	return m
}
